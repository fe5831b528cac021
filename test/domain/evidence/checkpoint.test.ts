import { describe, expect, test } from "bun:test";
import { beginNextLog, createLogWriter, startLogBuilding } from "../../../src/domain/evidence/checkpoint.ts";
import {
  decryptCheckpointKey,
  ensureFirstLog,
  findPredecessorLine,
  logOriginOf,
  makePredecessorLine,
  readCheckpointHead,
  requireCheckpointHead,
} from "../../../src/domain/evidence/log.ts";
import { startRepeating } from "../../../src/domain/serial.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { until } from "../../harness/eventually.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { catchError } from "../../harness/rejection.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import { withStores } from "../../harness/store.ts";
import { aNode, notesIn } from "./audited-register.ts";

type World = ReturnType<typeof aNode> & {
  attestAll(...numbers: number[]): Promise<unknown>;
  /** Stores attestations, and signs a checkpoint over them. */
  sign(...numbers: number[]): ReturnType<World["writer"]["checkpoint"]>;
  run(sql: string, ...args: string[]): Promise<unknown>;
};

async function withLog(run: (world: World) => Promise<void>) {
  await withStores(async ({ driver }) => {
    const node = aNode(driver);
    await ensureFirstLog(node.dependencies);
    const attestAll = (...numbers: number[]) =>
      attest(
        driver,
        numbers.map((n) => anAttestation(n)),
      );
    await run({
      ...node,
      attestAll,
      sign: (...numbers) => attestAll(...numbers).then(node.writer.checkpoint),
      run: (sql, ...args) => driver.batch([{ sql, args }]),
    });
  });
}

describe("signing", () => {
  test("a tree that has not grown gets no second checkpoint, and an empty tree gets no checkpoint", () =>
    withLog(async ({ driver, writer, sign }) => {
      expect(await writer.checkpoint()).toBeNull();
      const signed = await sign(1);
      expect(await writer.checkpoint()).toEqual(signed);
      expect(await notesIn(driver)).toHaveLength(1);
    }));

  test("the time of a checkpoint is never earlier than the previous checkpoint's, even if the clock goes back", () =>
    withLog(async ({ clock, sign }) => {
      const first = await sign(1);
      clock.add(-3_600_000);
      expect((await sign(2))?.signedAt).toBe(first?.signedAt ?? 0);
    }));

  test("the time of the next checkpoint depends on the last checkpoint's signed note, not on the column signed_at", () =>
    withLog(async ({ clock, run, sign }) => {
      await sign(1);
      await run("UPDATE log_checkpoints SET signed_at = 9999999999000");
      expect((await sign(2))?.signedAt).toBe(clock.now());
    }));

  test("the first checkpoint covers thousands of attestations that were committed before the log began", () =>
    withLog(async ({ writer, attestAll }) => {
      for (let from = 0; from < 1_100; from += 100)
        await attestAll(...Array.from({ length: 100 }, (_, at) => from + at));
      expect((await writer.checkpoint())?.size).toBe(1_100);
    }));

  test("the first of two checkpoints with the same predecessor is stored, and the second is not", () =>
    withLog(async ({ driver, store, dependencies, attestAll, sign }) => {
      await sign(1);
      await attestAll(2);
      const other = createLogWriter({ ...dependencies, pinned: aPinnedCheckpoint() });
      // The other process signs after this process has read, and before it stores.
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
      expect(await notesIn(driver)).toHaveLength(2);
      expect(pinned.note).toBe((await notesIn(driver)).at(-1) ?? "");
    }));
});

test("missing tree hashes that can be computed from the attestations do not count as a loss", () =>
  withLog(async ({ writer, run, sign }) => {
    const signed = await sign(1, 2, 3);
    await run("DELETE FROM log_tiles");
    expect(await writer.checkpoint()).toEqual(signed);
  }));

describe("reconciling", () => {
  test("a later checkpoint that the same process pins while it reads the log does not count as a loss", () =>
    withLog(async ({ driver, pinned, dependencies, store, attestAll, sign }) => {
      const node = aNode(driver);
      await sign(1);
      await attestAll(2);
      await node.writer.checkpoint();
      let reads = 0;
      const newest = async () => {
        const found = await store.newest();
        if (++reads === 1) {
          await sign(3);
        }
        return found;
      };
      await createLogWriter({ ...dependencies, store: { ...store, newest } }).reconcile();
      expect([reads, requireCheckpointHead(pinned.note ?? "").size]).toEqual([1, 3]);
    }));

  test("a node pins no forged checkpoint, and no tree that does not extend the pinned one", () =>
    withLog(async ({ store, writer, pinned, attestAll, run, sign }) => {
      await sign(1);
      const kept = pinned.note;
      const put = (note: string) =>
        run("INSERT OR REPLACE INTO log_checkpoints (log, size, signed_at, note) VALUES (1, 2, 0, ?)", note);
      await put("none");
      expect(await catchError(writer.reconcile())).toMatchObject({ code: "STORE_CORRUPT" });
      const [log] = await store.logs();
      if (log === undefined) throw new Error("there is no log");
      await attestAll(2);
      await writer.append();
      const forged = { origin: log.origin, size: 2, root: new Uint8Array(32) };
      await put(await signCheckpoint(forged, 1, decryptCheckpointKey(log, secrets)));
      expect(await catchError(writer.reconcile())).toMatchObject({ code: "LOG_BEHIND" });
      expect(pinned.note).toBe(kept);
    }));

  test("a node without a pinned checkpoint reports that it trusts the database", () =>
    withLog(async ({ dependencies, sign }) => {
      await sign(1);
      let reports = 0;
      const fresh = createLogWriter({
        ...dependencies,
        pinned: aPinnedCheckpoint(),
        onUnpinned: () => reports++,
      });
      await fresh.reconcile();
      expect(reports).toBe(1);
    }));
});

describe("a new log", () => {
  test("a new log names the last known checkpoint, and signs the same tree with a new key", () =>
    withLog(async ({ store, writer, dependencies, pinned, sign }) => {
      const last = await sign(1, 2);
      const log = await beginNextLog(dependencies, "a test");
      expect(log).toMatchObject({
        number: 2,
        origin: "verify.example.org/log/2",
        previous: last?.note,
        firstSize: 2,
      });
      const first = await writer.checkpoint();
      expect(findPredecessorLine(requireCheckpointHead(first?.note ?? ""))).toBe(
        makePredecessorLine(last?.note ?? ""),
      );
      expect(requireCheckpointHead(first?.note ?? "").root).toEqual(
        requireCheckpointHead(last?.note ?? "").root,
      );
      expect(readCheckpointHead(pinned.note)?.origin).toBe("verify.example.org/log/2");
      expect((await store.logs()).map(({ sealed }) => sealed === null)).toEqual([true, false]);
    }));

  test("a new log begins with the leaves of the largest stored checkpoint that the rows still fit", () =>
    withLog(async ({ writer, dependencies, attestAll, run, sign }) => {
      await sign(1, 2);
      await sign(3, 4);
      await run("DELETE FROM attestations WHERE id > 3");
      await attestAll(5);
      expect(await beginNextLog(dependencies, "a test")).toMatchObject({ firstSize: 2 });
      expect((await writer.checkpoint())?.size).toBe(4);
    }));

  test("two processes that begin a new log at the same time make two successive logs", () =>
    withLog(async ({ store, dependencies, sign }) => {
      await sign(1);
      await Promise.all([beginNextLog(dependencies, "one"), beginNextLog(dependencies, "two")]);
      expect((await store.logs()).map(({ number }) => number)).toEqual([1, 2, 3]);
    }));
});

test("the origin of the first log follows the issuer until the log has an entry", () =>
  withLog(async ({ store, dependencies, sign }) => {
    await ensureFirstLog({ ...dependencies, issuer: "https://other.example/path" });
    expect((await store.logs()).map(({ origin }) => origin)).toEqual(["other.example/path/log"]);
    await sign(1);
    await ensureFirstLog(dependencies);
    expect((await store.logs()).map(({ origin }) => origin)).toEqual(["other.example/path/log"]);
  }));

test("the origin of a log has no scheme, no space and no plus sign", () => {
  expect(logOriginOf("https://verify.example/a+b/", 1)).toBe("verify.example/a%2Bb/log");
  expect(logOriginOf("https://verify.example:8443", 3)).toBe("verify.example:8443/log/3");
});

test("a running service appends leaves and signs checkpoints, and signs the remaining leaves when it stops", () =>
  withLog(async ({ driver, store, writer, clock, attestAll }) => {
    const onError = (error: unknown) => {
      throw error;
    };
    const stopBuilding = startLogBuilding({ writer, store, clock, onError });
    const other = aNode(driver);
    const stopFollowing = startRepeating(other.writer.reconcile, { everyMs: 5, onError });
    await attestAll(1);
    await until(async () => (await store.newest())?.size === 1);
    await until(() => readCheckpointHead(other.pinned.note)?.size === 1);
    await attestAll(2);
    await Promise.all([stopBuilding(), stopFollowing()]);
    expect((await store.newest())?.size).toBe(2);
  }));
