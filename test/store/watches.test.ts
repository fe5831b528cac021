import { expect, test } from "bun:test";
import { ConflictError } from "../../src/domain/configuration.ts";
import { partnerEventRetentionMs, prunePartnerEvents } from "../../src/domain/event-filter.ts";
import { bind } from "../../src/store/driver/driver.ts";
import { createWatchStore } from "../../src/store/watches.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { catchError } from "../harness/rejection.ts";
import { anApiKey, aPartner } from "../harness/samples.ts";

describeDrivers("a partner's watches and events", (_kind, database) => {
  const numbers = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => `R/A/B/${from + n}`);

  test("a watch list applies each change as a whole or not at all, up to its limit, even with two writers", async () => {
    const [driver, other] = [database.driver(), await database.another()];
    const stores = [createWatchStore(driver), createWatchStore(other)] as const;
    try {
      const { partners } = database.stores();
      for (const id of ["a", "b"])
        await partners.add({ ...aPartner(id), watchLimit: 100 }, anApiKey(id, `key-${id}`));
      const [one] = stores;
      const all = async (id: string) => one.page(id, { after: "", limit: 500 });
      const change = (id: string, add: string[], remove: string[] = []) => one.change(id, { add, remove });

      expect(await change("b", numbers(0, 3))).toBe(3);
      expect(await one.watchersOf("R/A/B/1")).toEqual(["b"]);
      const adds = Array.from({ length: 40 }, (_, n) => ({ add: numbers(n * 3, 3), remove: [] }));
      const answers = await Promise.all(adds.map((add, n) => (stores[n % 2] ?? one).change("a", add)));
      expect(answers.filter((watched) => watched !== null)).toHaveLength(33);
      expect(answers.filter((watched) => watched === null)).toHaveLength(7);
      const kept = await all("a");
      expect(kept).toHaveLength(99);
      // All numbers of a call are stored, or none.
      const stored = adds.flatMap(({ add }, n) => (answers[n] === null ? [] : add));
      expect(kept.sort()).toEqual(stored.sort());

      const [first = "", second = ""] = kept;
      const rows: [string[], string[], number | null][] = [
        [["X/1/1/1", "X/1/1/2"], [], null],
        [["X/1/1/1", "X/1/1/2"], [first, "NOT/IN/IT/1"], 100],
        [["X/1/1/1"], [], 100],
        [["X/1/1/3"], ["NOT/IN/IT/1"], null],
        [[], [second], 99],
      ];
      for (const [add, remove, watched] of rows) expect(await change("a", add, remove)).toBe(watched);
      // If the limit is below the list's length, numbers can only be removed.
      await partners.update({ partnerId: "a", watchLimit: 5 });
      expect(await change("a", ["X/1/1/3"], ["X/1/1/2"])).toBeNull();
      expect(await change("a", [], ["X/1/1/2"])).toBe(98);
      expect(await all("a")).toHaveLength(98);
      expect(await all("b")).toEqual(numbers(0, 3));
    } finally {
      await other.close();
    }
  });

  test("a change of a watch list is refused if the partner's credential or terms changed since authentication", async () => {
    const { watches, webhooks, partners, settings } = database.stores();
    await partners.add(aPartner("own"), anApiKey("own", "key-own"));
    const before = await settings.revision();
    const change = { add: ["R/A/B/1"], remove: [] };
    expect(await watches.change("own", change, before)).toBe(1);
    expect(await webhooks.retry("none", 1, { partnerId: "own", revision: before })).toBe("not known");
    await partners.revokeKey("key-own", 1);
    const late = { add: ["R/A/B/2"], remove: ["R/A/B/1"] };
    expect(await catchError(watches.change("own", late, before))).toBeInstanceOf(ConflictError);
    const retried = webhooks.retry("none", 1, { partnerId: "own", revision: before });
    expect(await catchError(retried)).toBeInstanceOf(ConflictError);
    expect(await watches.page("own", { after: "", limit: 9 })).toEqual(["R/A/B/1"]);
  });

  test("an event that partners fetch is deleted after thirty days, except the newest of a partner's old events", async () => {
    const driver = database.driver();
    const { partners, partnerEvents } = database.stores();
    const now = 100 * 86_400_000;
    const limit = now - partnerEventRetentionMs;
    // `late` has an old event after a new event; both stay, without a gap. `busy` has more events than one step deletes.
    const rows: Record<string, number[]> = {
      quiet: [1, 2, 3],
      fresh: [limit, limit + 1],
      late: [1, limit, 2, limit + 5],
      busy: [...Array.from({ length: 1_200 }, () => 1), limit + 1, limit + 2],
    };
    for (const [id, times] of Object.entries(rows)) {
      await partners.add(aPartner(id), anApiKey(id, `key-${id}`));
      const insert = "INSERT INTO partner_events SELECT ?, 1000 + key, value FROM json_each(?)";
      await driver.batch([bind(insert, [id, JSON.stringify(times)])]);
    }
    await prunePartnerEvents(partnerEvents, { now: () => now });
    const sql = "SELECT event - 1000 AS position FROM partner_events WHERE partner_id = ? ORDER BY event";
    const left: Record<string, number[]> = {};
    for (const id of Object.keys(rows))
      left[id] = (await driver.query(sql, [id])).map(({ position }) => Number(position));
    expect(left).toEqual({ quiet: [2], fresh: [0, 1], late: [0, 1, 2, 3], busy: [1_199, 1_200, 1_201] });
    expect(await partnerEvents.prunable(limit)).toEqual([]);
  });
});
