import { describe, expect, test } from "bun:test";
import { createStores } from "../../../cli/open.ts";
import {
  beginNextLog,
  createLogWriter,
  startBuilding,
  startFollowing,
} from "../../../src/domain/evidence/checkpoint.ts";
import {
  checkpointKeyOf,
  ensureLog,
  headIn,
  linkOf,
  linkTo,
  originOf,
  treeHeadOf,
} from "../../../src/domain/evidence/log.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { aClock } from "../../harness/clock.ts";
import { until } from "../../harness/eventually.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { rejection } from "../../harness/rejection.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import { withStores } from "../../harness/store.ts";

const issuer = "https://verify.example";

/** A log over a database, with a pinned checkpoint of its own, as one node has it. */
function aNode(driver: Driver, pinned = aPinnedCheckpoint()) {
  const { evidence: store } = createStores(driver);
  const clock = aClock("2026-03-10T12:00:00Z");
  const dependencies = { store, pinned, secrets, clock, issuer };
  return { ...dependencies, dependencies, writer: createLogWriter(dependencies) };
}

async function withLog(act: (node: ReturnType<typeof aNode> & { driver: Driver }) => Promise<void>) {
  await withStores(async ({ driver }) => {
    const node = aNode(driver);
    await ensureLog(node);
    await act({ ...node, driver });
  });
}

const attestTo = (driver: Driver, ...numbers: number[]) =>
  attest(
    driver,
    numbers.map((n) => anAttestation(n)),
  );
const notes = async (driver: Driver) =>
  (await driver.query("SELECT note FROM log_checkpoints ORDER BY size, log")).map(({ note }) => String(note));

describe("a checkpoint", () => {
  test("covers every attestation that was committed before, and names the one before it", () =>
    withLog(async ({ driver, writer, pinned }) => {
      await attestTo(driver, 1, 2);
      const first = await writer.checkpoint();
      await attestTo(driver, 3);
      const second = await writer.checkpoint();
      expect([first?.size, second?.size]).toEqual([2, 3]);
      expect(linkOf(treeHeadOf(first?.note ?? ""))).toBe(linkTo(null));
      expect(linkOf(treeHeadOf(second?.note ?? ""))).toBe(linkTo(first?.note ?? ""));
      expect(pinned.note).toBe(second?.note ?? "");
    }));

  test("is signed once for the same tree, and not at all for an empty one", () =>
    withLog(async ({ driver, writer }) => {
      expect(await writer.checkpoint()).toBeNull();
      await attestTo(driver, 1);
      const signed = await writer.checkpoint();
      expect(await writer.checkpoint()).toEqual(signed);
      expect(await notes(driver)).toHaveLength(1);
    }));

  test("has a time that never goes back, also where the clock was set back", () =>
    withLog(async ({ driver, writer, clock }) => {
      await attestTo(driver, 1);
      const first = await writer.checkpoint();
      clock.add(-3_600_000);
      await attestTo(driver, 2);
      expect((await writer.checkpoint())?.signedAt).toBe(first?.signedAt ?? 0);
    }));

  test("has no time that only a column of the database says", () =>
    withLog(async ({ driver, writer, clock }) => {
      await attestTo(driver, 1);
      await writer.checkpoint();
      await driver.query("UPDATE log_checkpoints SET signed_at = 9999999999000");
      await attestTo(driver, 2);
      expect((await writer.checkpoint())?.signedAt).toBe(clock.now());
    }));

  test("covers thousands of attestations that were committed before the log began", () =>
    withLog(async ({ driver, writer }) => {
      for (let from = 0; from < 1_100; from += 100)
        await attestTo(driver, ...Array.from({ length: 100 }, (_, at) => from + at));
      expect((await writer.checkpoint())?.size).toBe(1_100);
    }));

  test("is not stored beside another one that names the same predecessor", () =>
    withLog(async ({ driver, store, writer, dependencies }) => {
      await attestTo(driver, 1);
      await writer.checkpoint();
      await attestTo(driver, 2);
      const other = createLogWriter({ ...dependencies, pinned: aPinnedCheckpoint() });
      // The other process signs between this one's reading and its storing.
      let [isFirst, second] = [true, null as unknown];
      const late = {
        ...store,
        async addCheckpoint(...args: Parameters<typeof store.addCheckpoint>) {
          if (isFirst) second = await other.checkpoint();
          isFirst = false;
          return store.addCheckpoint(...args);
        },
      };
      const pinned = aPinnedCheckpoint();
      expect(await createLogWriter({ ...dependencies, store: late, pinned }).checkpoint()).toEqual(
        second as never,
      );
      expect(await notes(driver)).toHaveLength(2);
      expect(pinned.note).toBe((await notes(driver)).at(-1) ?? "");
    }));
});

describe("a database that has lost what was signed for", () => {
  test.each([
    ["lacks the newest attestations", "DELETE FROM attestations WHERE id = 3", "newest 1 attestations"],
    [
      "has another newest attestation",
      "UPDATE attestations SET jws = 'x' WHERE id = 3",
      "newest entry is another",
    ],
    [
      "has other hashes",
      "UPDATE log_tiles SET hashes = CAST(zeroblob(64) || substr(hashes, 65) AS BLOB)",
      "are others",
    ],
  ])("is not signed upon where it %s", (_what, change, says) =>
    withLog(async ({ driver, writer }) => {
      await attestTo(driver, 1, 2, 3);
      await writer.checkpoint();
      await driver.batch([{ sql: change, args: [] }]);
      const message = expect.stringContaining(says);
      expect(await rejection(writer.checkpoint())).toMatchObject({ code: "LOG_BEHIND", message });
    }),
  );

  test("is not one whose hashes can be made again of its attestations", () =>
    withLog(async ({ driver, writer }) => {
      await attestTo(driver, 1, 2, 3);
      const signed = await writer.checkpoint();
      await driver.batch([{ sql: "DELETE FROM log_tiles", args: [] }]);
      expect(await writer.checkpoint()).toEqual(signed);
    }));

  test("is noticed by a node that only follows", () =>
    withLog(async ({ driver, writer }) => {
      await attestTo(driver, 1, 2);
      await writer.checkpoint();
      await writer.reconcile();
      await driver.batch([{ sql: "DELETE FROM attestations WHERE id = 2", args: [] }]);
      expect(await rejection(writer.reconcile())).toMatchObject({ code: "LOG_BEHIND" });
    }));
});

describe("a node that follows", () => {
  test("pins what another one has signed", () =>
    withLog(async ({ driver, writer }) => {
      const other = aNode(driver);
      await attestTo(driver, 1);
      await writer.checkpoint();
      await other.writer.reconcile();
      await attestTo(driver, 2);
      const signed = await writer.checkpoint();
      await other.writer.reconcile();
      expect(other.pinned.note).toBe(signed?.note ?? "");
    }));

  test("a later checkpoint that this process pins while it reads is no loss", () =>
    withLog(async ({ driver, writer, pinned, dependencies, store }) => {
      const node = aNode(driver);
      await attestTo(driver, 1);
      await writer.checkpoint();
      await attestTo(driver, 2);
      await node.writer.checkpoint();
      let reads = 0;
      const newest = async () => {
        const found = await store.newest();
        if (++reads === 1) {
          await attestTo(driver, 3);
          await writer.checkpoint();
        }
        return found;
      };
      await createLogWriter({ ...dependencies, store: { ...store, newest } }).reconcile();
      expect([reads, treeHeadOf(pinned.note ?? "").size]).toEqual([1, 3]);
    }));

  test("pins nothing that the log has not signed, and no tree that did not grow out of the pinned one", () =>
    withLog(async ({ driver, store, writer, pinned }) => {
      await attestTo(driver, 1);
      await writer.checkpoint();
      const kept = pinned.note;
      const put = (note: string) =>
        driver.batch([
          {
            sql: "INSERT OR REPLACE INTO log_checkpoints (log, size, signed_at, note) VALUES (1, 2, 0, ?)",
            args: [note],
          },
        ]);
      await put("none");
      expect(await rejection(writer.reconcile())).toMatchObject({ code: "STORE_CORRUPT" });
      const [log] = await store.logs();
      if (log === undefined) throw new Error("there is no log");
      await attestTo(driver, 2);
      await writer.append();
      const forged = { origin: log.origin, size: 2, root: new Uint8Array(32) };
      await put(await signCheckpoint(forged, 1, checkpointKeyOf(log, secrets)));
      expect(await rejection(writer.reconcile())).toMatchObject({ code: "LOG_BEHIND" });
      expect(pinned.note).toBe(kept);
    }));

  test("goes over to a new log that names the pinned checkpoint", () =>
    withLog(async ({ driver, writer, dependencies }) => {
      const other = aNode(driver);
      await attestTo(driver, 1);
      await writer.checkpoint();
      await other.writer.reconcile();
      await beginNextLog(dependencies, "a test");
      await other.writer.reconcile();
      const signed = await writer.checkpoint();
      await other.writer.reconcile();
      expect(other.pinned.note).toBe(signed?.note ?? "");
      expect(treeHeadOf(other.pinned.note ?? "").origin).toBe("verify.example/log/2");
    }));

  test("says when it believes the database because nothing was pinned", () =>
    withLog(async ({ driver, writer, dependencies }) => {
      await attestTo(driver, 1);
      await writer.checkpoint();
      let told = 0;
      const fresh = createLogWriter({
        ...dependencies,
        pinned: aPinnedCheckpoint(),
        onUnpinned: () => told++,
      });
      await fresh.reconcile();
      expect(told).toBe(1);
    }));
});

describe("a new log", () => {
  test("names the last known checkpoint, and signs for the same tree under a new key", () =>
    withLog(async ({ driver, store, writer, dependencies, pinned }) => {
      await attestTo(driver, 1, 2);
      const last = await writer.checkpoint();
      const log = await beginNextLog(dependencies, "a test");
      expect(log).toMatchObject({
        number: 2,
        origin: "verify.example/log/2",
        previous: last?.note,
        firstSize: 2,
      });
      const first = await writer.checkpoint();
      expect(linkOf(treeHeadOf(first?.note ?? ""))).toBe(linkTo(last?.note ?? ""));
      expect(treeHeadOf(first?.note ?? "").root).toEqual(treeHeadOf(last?.note ?? "").root);
      expect(headIn(pinned.note)?.origin).toBe("verify.example/log/2");
      expect((await store.logs()).map(({ sealed }) => sealed === null)).toEqual([true, false]);
    }));

  test("begins with the largest kept checkpoint that the rows still fit", () =>
    withLog(async ({ driver, writer, dependencies }) => {
      await attestTo(driver, 1, 2);
      await writer.checkpoint();
      await attestTo(driver, 3, 4);
      await writer.checkpoint();
      await driver.batch([{ sql: "DELETE FROM attestations WHERE id > 3", args: [] }]);
      await attestTo(driver, 5);
      expect(await beginNextLog(dependencies, "a test")).toMatchObject({ firstSize: 2 });
      expect((await writer.checkpoint())?.size).toBe(4);
    }));

  test("is begun by one of two that begin it together", () =>
    withLog(async ({ driver, store, writer, dependencies }) => {
      await attestTo(driver, 1);
      await writer.checkpoint();
      await Promise.all([beginNextLog(dependencies, "one"), beginNextLog(dependencies, "two")]);
      expect((await store.logs()).map(({ number }) => number)).toEqual([1, 2, 3]);
    }));
});

test("the first log follows the issuer's name until it has a leaf", () =>
  withLog(async ({ driver, store, writer, dependencies }) => {
    await ensureLog({ ...dependencies, issuer: "https://other.example/path" });
    expect((await store.logs()).map(({ origin }) => origin)).toEqual(["other.example/path/log"]);
    await attestTo(driver, 1);
    await writer.checkpoint();
    await ensureLog(dependencies);
    expect((await store.logs()).map(({ origin }) => origin)).toEqual(["other.example/path/log"]);
  }));

test("an origin has no scheme, no space and no plus", () => {
  expect(originOf("https://verify.example/a+b/", 1)).toBe("verify.example/a%2Bb/log");
  expect(originOf("https://verify.example:8443", 3)).toBe("verify.example:8443/log/3");
});

test("a running service builds, signs and follows until it is stopped, and signs for what is left", () =>
  withLog(async ({ driver, store, writer, clock }) => {
    const onError = (error: unknown) => {
      throw error;
    };
    const stopBuilding = startBuilding({ writer, store, clock, onError });
    const other = aNode(driver);
    const stopFollowing = startFollowing({ writer: other.writer, clock, onError });
    await attestTo(driver, 1);
    await until(async () => (await store.newest())?.size === 1);
    await until(() => headIn(other.pinned.note)?.size === 1);
    await attestTo(driver, 2);
    await Promise.all([stopBuilding(), stopFollowing()]);
    expect((await store.newest())?.size).toBe(2);
  }));
