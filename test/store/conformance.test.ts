import { beforeAll, expect, test } from "bun:test";
import type { Stores } from "../../cli/open.ts";
import type { WindowStarts } from "../../src/domain/quota-windows.ts";
import { indexesPerList } from "../../src/domain/status-list/lists.ts";
import type { UniqueKey } from "../../src/domain/teachers/teachers.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createRegisterFigures } from "../../src/store/register-figures.ts";
import { skipTeacherIds } from "../../src/store/status-lists.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { storeQuotaUse } from "../harness/evidence.ts";
import { anApiKey, aPartner, aSigningKey, aTeacherWrite } from "../harness/samples.ts";

/** Tests the stores over every driver. */
describeDrivers("stores", (_kind, opened) => {
  let driver: Driver;
  let stores: Stores;

  beforeAll(() => {
    driver = opened.driver();
    stores = opened.stores();
  });

  test("new teachers after a restore get ids above all earlier ids, even if the clock went back", async () => {
    const { teachers, statusLists: lists } = stores;
    const status = createRegisterFigures(driver);
    const come = async (regNo: string) => {
      const known = await lists.read();
      await teachers.apply([aTeacherWrite(regNo)]);
      const read = await lists.read();
      return read.lists.length === known.lists.length ? null : read.lists.at(-1);
    };
    const move = (at: number) => driver.batch([skipTeacherIds(at)]);
    await come("S/T/A/1");
    const count = await status.teachers();
    expect(await come("S/T/A/3")).toBeNull();
    await move(1_800_000_000_999);
    const first = 1_800_000_000 * indexesPerList + 1;
    expect(await come("S/T/A/4")).toEqual([1_800_000_000, first]);
    expect(await come("S/T/A/5")).toBeNull();
    // These are a second restore in the same second, and a restore after the clock was set back.
    for (const [at, list] of [
      [1_800_000_000_999, 1_800_000_001],
      [1_700_000_000_000, 1_800_000_002],
    ] as const) {
      await move(at);
      expect(await come(`S/T/A/${list}`)).toEqual([list, list * indexesPerList + 1]);
    }
    expect(await status.teachers()).toBe(count + 5);
    const counts = await status.licenses("2026-03-01", 1);
    expect(counts.VALID + counts.EXPIRED + counts.NOT_FOUND + counts.REVOKED).toBe(count + 5);
  });

  test("a new register begins with a random revision", async () => {
    const { settings, keys } = stores;
    // Deletes the keys of earlier tests, because a register begins with its first keys.
    await driver.batch([{ sql: "DELETE FROM signing_keys", args: [] }]);
    const before = await settings.revision();
    await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
    const begun = await settings.revision();
    expect(begun - before).toBeGreaterThan(2);
    await keys.create(aSigningKey("X", "active"), aSigningKey("Y", "pending"));
    expect(await settings.revision()).toBe(begun);
  });

  test("each charge is added to the quota window of its time, and old windows are deleted", async () => {
    const { quotaStore: quota } = stores;
    const charge = (startsAt: number, used: number) =>
      storeQuotaUse(driver, { partnerId: "q", kind: "minute", startsAt, used });
    const used = async (starts?: WindowStarts) => {
      const own = (await quota.windows(starts)).filter((one) => one.partnerId === "q");
      return Object.fromEntries(own.map((one) => [one.startsAt, one.used]));
    };
    const revision = await stores.settings.revision();
    const pay = (startsAt: number, most = 4, partnerId = "q") => {
      const starts = { minute: startsAt, day: 0 };
      return quota.chargeMinute({ partnerId, starts, calls: 1, limits: { minute: most, day: 0 } }, revision);
    };
    await charge(600_000, 2);
    await charge(660_000, 1);
    await charge(60_000, 4);
    expect(await pay(600_000)).toEqual({ minute: 3, day: 0 });
    expect(await pay(600_000)).toEqual({ minute: 4, day: 0 });
    expect([await pay(600_000), await pay(60_000)]).toEqual([null, null]);
    expect(await used()).toEqual({ 60000: 4, 600000: 4, 660000: 1 });
    expect(await used({ minute: 660_000, day: 0 })).toEqual({ 660000: 1 });
    await quota.prune({ minute: 600_000, day: 0 });
    expect(await used()).toEqual({ 600000: 4, 660000: 1 });
    // Charges that share a commit are decided one by one.
    await storeQuotaUse(driver, { partnerId: "q1", kind: "day", startsAt: 0, used: 9 });
    const [first, second] = [pay(660_000, 2), pay(660_000, 2)];
    const together = [first, second, pay(160_000, 1), pay(60_000, 1, "q1"), pay(600_000, 2)];
    const paid = [{ minute: 2, day: 0 }, null, { minute: 1, day: 0 }, { minute: 1, day: 9 }, null];
    expect(await Promise.all(together)).toEqual(paid);
    expect(await quota.used("q1", { minute: 60_000, day: 0 })).toEqual({ minute: 1, day: 9 });
    expect(await quota.used("q1", { minute: 0, day: 1 })).toEqual({ minute: 0, day: 0 });
    expect(await used()).toEqual({ 160000: 1, 600000: 4, 660000: 2 });
  });

  test("a change of a teacher, its history and its events are stored together or not at all", async () => {
    const { teachers } = stores;
    const write = aTeacherWrite("A/1/B/1");
    expect(await teachers.apply([write])).toEqual([true]);
    expect(await teachers.apply([write])).toEqual([false]);
    const stored = await teachers.findStored({ by: "regNo", value: "A/1/B/1" });
    expect(stored?.version).toBe(1);
    const id = stored?.id ?? 0;
    const types = (await teachers.events(id)).map(({ eventType }) => eventType);
    expect(types).toEqual(["license.verified", "certificate.verified"]);
    const stale = { ...aTeacherWrite("A/1/B/1"), replaces: { id, version: 7 } };
    expect(await teachers.apply([stale])).toEqual([false]);
    expect((await teachers.history(id)).length).toBe(1);
    expect((await teachers.events(id)).length).toBe(2);
  });

  test("findEach finds the same teachers as single lookups", async () => {
    const { teachers } = stores;
    const ninIndex = new Uint8Array(16).map((_, i) => i * 16);
    await teachers.apply([
      aTeacherWrite("D/1/B/1", { tId: Number.MAX_SAFE_INTEGER, ninIndex }),
      aTeacherWrite('D/"1/\\/2', { tId: 0, profile: { qualifications: ["B.Ed."] } as never }),
    ]);
    const keys: UniqueKey[] = [
      { by: "tId", value: 0 },
      { by: "regNo", value: 'D/"1/\\/2' },
      { by: "regNo", value: "D/1/B/9" },
      { by: "nin", value: ninIndex },
      { by: "nin", value: new Uint8Array(16) },
      { by: "tId", value: Number.MAX_SAFE_INTEGER },
      { by: "tId", value: Number.MAX_SAFE_INTEGER - 1 },
      { by: "regNo", value: "D/1/B/1" },
      { by: "regNo", value: "D/1/B/1" },
    ];
    const each = await Promise.all(keys.map((key) => teachers.find(key)));
    const most = Number.MAX_SAFE_INTEGER;
    expect(each.map((teacher) => teacher?.tId ?? null)).toEqual([
      0,
      0,
      null,
      most,
      null,
      most,
      null,
      most,
      most,
    ]);
    expect(await teachers.findEach(keys)).toEqual(each);
    expect(await teachers.findEach([])).toEqual([]);
  });

  test("a sender that lost a lease cannot finish the delivery, and releaseAll makes no retry due earlier", async () => {
    const { webhooks, outbox } = stores;
    await stores.partners.add(aPartner("taken"), anApiKey("taken", "taken-key"));
    const url = "https://hooks.example/";
    await webhooks.set({ partnerId: "taken", url, secret: new Uint8Array([1]), at: 1 });
    await stores.teachers.apply([aTeacherWrite("W/2/B/1"), aTeacherWrite("W/2/B/2")]);
    const leaseFrom = (limit: number, token: string, now: number) =>
      outbox.lease([{ partnerId: "taken", limit, except: [] }], { token, now, until: now + 60_000 });
    const [first, second, third] = await leaseFrom(3, "dead", 1_000);
    if (first === undefined || second === undefined || third === undefined) throw new Error("no lease");
    const response = { status: 500, error: "BAD_STATUS", isGone: false };
    const end = { url, at: 1_000, finishedAt: 1_001, durationMs: 1, ...response };
    await outbox.finish({ ...end, delivery: first, next: { dueAt: 90_000 } });
    await outbox.finish({ ...end, delivery: second, next: { dueAt: 1_500 } });
    expect((await leaseFrom(1, "dead", 2_000)).map(({ id }) => id)).toEqual([second.id]);

    await outbox.releaseAll(3_000);
    expect(await outbox.finish({ ...end, delivery: third, next: "delivered" })).toBe(false);
    const taken = await leaseFrom(10, "killed", 3_000);
    expect(taken.sort((one, other) => one.id - other.id).map(({ id, attempts }) => [id, attempts])).toEqual([
      [second.id, 1],
      [third.id, 0],
      [third.id + 1, 0],
    ]);
    // A lease ends at its time, even if its holder is dead.
    expect(await leaseFrom(10, "early", 62_999)).toEqual([]);
    expect(await leaseFrom(10, "later", 63_000)).toHaveLength(3);
    expect(await webhooks.remove("taken")).toBe(true);
    expect(await webhooks.markDead("taken", 4_000)).toBe(4);
  });
});
