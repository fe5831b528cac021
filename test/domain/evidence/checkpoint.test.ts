import { expect, mock, spyOn, test } from "bun:test";
import {
  beginNextLog,
  createLogWriter,
  startLogBuilding,
  startReconciling,
} from "../../../src/domain/evidence/checkpoint.ts";
import {
  decryptCheckpointKey,
  ensureLog,
  findPredecessorLine,
  makePredecessorLine,
  originOf,
  readHead,
  requireHead,
} from "../../../src/domain/evidence/log.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { until } from "../../harness/eventually.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { catchError } from "../../harness/rejection.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import { withStores } from "../../harness/store.ts";
import { aNode, notesIn } from "./audited-register.ts";

type World = ReturnType<typeof aNode> & {
  attestAll(...numbers: number[]): Promise<unknown>;
  run(sql: string, ...args: string[]): Promise<unknown>;
};

function withLog(run: (world: World) => Promise<void>): Promise<void> {
  return withStores(async ({ driver }) => {
    const node = aNode(driver);
    await ensureLog(node.dependencies);
    await run({
      ...node,
      attestAll: (...numbers) =>
        attest(
          driver,
          Array.from(numbers, (n) => anAttestation(n)),
        ),
      run: (sql, ...args) => driver.batch([{ sql, args }]),
    });
  });
}

const predecessorIn = (checkpoint: { note: string } | null) =>
  findPredecessorLine(requireHead(checkpoint?.note ?? ""));

test("a checkpoint covers every attestation that was committed before it, and names the previous checkpoint", () =>
  withLog(async ({ writer, pinned, attestAll }) => {
    await attestAll(1, 2);
    const first = await writer.checkpoint();
    await attestAll(3);
    const second = await writer.checkpoint();
    expect([first?.size, second?.size]).toEqual([2, 3]);
    expect(predecessorIn(first)).toBe(makePredecessorLine(null));
    expect(predecessorIn(second)).toBe(makePredecessorLine(first?.note ?? ""));
    expect(pinned.note).toBe(second?.note ?? "");
  }));

test("one tree gets one checkpoint, and an empty tree gets none", () =>
  withLog(async ({ driver, writer, attestAll }) => {
    expect(await writer.checkpoint()).toBeNull();
    await attestAll(1);
    const signed = await writer.checkpoint();
    expect(await writer.checkpoint()).toEqual(signed);
    expect(await notesIn(driver)).toHaveLength(1);
  }));

test("the time of a checkpoint is never earlier than the previous one's signed time, whatever clock and column say", () =>
  withLog(async ({ writer, clock, attestAll, run }) => {
    const sign = async (n: number) => {
      await attestAll(n);
      return (await writer.checkpoint())?.signedAt;
    };
    const first = clock.now();
    expect(await sign(1)).toBe(first);
    clock.add(-3_600_000);
    expect(await sign(2)).toBe(first);
    await run("UPDATE log_checkpoints SET signed_at = 9999999999000");
    expect(await sign(3)).toBe(first);
    clock.add(3_601_000);
    expect(await sign(4)).toBe(clock.now());
  }));

test("the first checkpoint covers thousands of attestations that were committed before the log began", () =>
  withLog(async ({ writer, attestAll }) => {
    for (let from = 0; from < 1_100; from += 100)
      await attestAll(...Array.from({ length: 100 }, (_, at) => from + at));
    expect((await writer.checkpoint())?.size).toBe(1_100);
  }));

test("one of two checkpoints with the same predecessor is stored, the first", () =>
  withLog(async ({ driver, store, writer, dependencies, attestAll }) => {
    await attestAll(1);
    await writer.checkpoint();
    await attestAll(2);
    const other = createLogWriter({ ...dependencies, pinned: aPinnedCheckpoint() });
    // The other process signs after this process has read, and before it stores.
    let second: unknown = null;
    const late = { ...store };
    spyOn(late, "addCheckpoint").mockImplementationOnce(async (...args) => {
      second = await other.checkpoint();
      return store.addCheckpoint(...args);
    });
    const pinned = aPinnedCheckpoint();
    const own = createLogWriter({ ...dependencies, store: late, pinned });
    expect(await own.checkpoint()).toEqual(second as never);
    expect(await notesIn(driver)).toHaveLength(2);
    expect(pinned.note).toBe((await notesIn(driver)).at(-1) ?? "");
  }));

test("missing tree hashes that can be computed from the attestations do not count as a loss", () =>
  withLog(async ({ writer, attestAll, run }) => {
    await attestAll(1, 2, 3);
    const signed = await writer.checkpoint();
    await run("DELETE FROM log_tiles");
    expect(await writer.checkpoint()).toEqual(signed);
  }));

test("a later checkpoint that the same process pins while it reads the log does not count as a loss", () =>
  withLog(async ({ driver, writer, pinned, dependencies, store, attestAll }) => {
    const node = aNode(driver);
    await attestAll(1);
    await writer.checkpoint();
    await attestAll(2);
    await node.writer.checkpoint();
    const newest = mock(async () => {
      const found = await store.newest();
      await attestAll(3);
      await writer.checkpoint();
      return found;
    });
    await createLogWriter({ ...dependencies, store: { ...store, newest } }).reconcile();
    expect([newest.mock.calls.length, requireHead(pinned.note ?? "").size]).toEqual([1, 3]);
  }));

test("a node pins no forged checkpoint, and no tree that does not extend the pinned one", () =>
  withLog(async ({ store, writer, pinned, attestAll, run }) => {
    await attestAll(1);
    await writer.checkpoint();
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
  withLog(async ({ writer, dependencies, attestAll }) => {
    await attestAll(1);
    await writer.checkpoint();
    const onUnpinned = mock();
    await createLogWriter({ ...dependencies, pinned: aPinnedCheckpoint(), onUnpinned }).reconcile();
    expect(onUnpinned).toHaveBeenCalledTimes(1);
  }));

test("a new log names the last known checkpoint, and signs the same tree with a new key", () =>
  withLog(async ({ store, writer, dependencies, pinned, attestAll }) => {
    await attestAll(1, 2);
    const last = await writer.checkpoint();
    const origin = "verify.example.org/log/2";
    const log = await beginNextLog(dependencies, "a test");
    expect(log).toMatchObject({ number: 2, origin, previous: last?.note, firstSize: 2 });
    const first = await writer.checkpoint();
    expect(predecessorIn(first)).toBe(makePredecessorLine(last?.note ?? ""));
    expect(requireHead(first?.note ?? "").root).toEqual(requireHead(last?.note ?? "").root);
    expect(readHead(pinned.note)?.origin).toBe(origin);
    expect((await store.logs()).map(({ sealed }) => sealed === null)).toEqual([true, false]);
  }));

test("a new log begins with the largest stored checkpoint that the rows still fit", () =>
  withLog(async ({ writer, dependencies, attestAll, run }) => {
    await attestAll(1, 2);
    await writer.checkpoint();
    await attestAll(3, 4);
    await writer.checkpoint();
    await run("DELETE FROM attestations WHERE id > 3");
    await attestAll(5);
    expect(await beginNextLog(dependencies, "a test")).toMatchObject({ firstSize: 2 });
    expect((await writer.checkpoint())?.size).toBe(4);
  }));

test("two processes that begin a new log at the same time begin one after the other", () =>
  withLog(async ({ store, writer, dependencies, attestAll }) => {
    await attestAll(1);
    await writer.checkpoint();
    await Promise.all([beginNextLog(dependencies, "one"), beginNextLog(dependencies, "two")]);
    expect((await store.logs()).map(({ number }) => number)).toEqual([1, 2, 3]);
  }));

test("the origin of the first log follows the issuer until the log has an entry", () =>
  withLog(async ({ store, writer, dependencies, attestAll }) => {
    const origins = async () => (await store.logs()).map(({ origin }) => origin);
    await ensureLog({ ...dependencies, issuer: "https://other.example/path" });
    expect(await origins()).toEqual(["other.example/path/log"]);
    await attestAll(1);
    await writer.checkpoint();
    await ensureLog(dependencies);
    expect(await origins()).toEqual(["other.example/path/log"]);
  }));

test("the origin of a log has no scheme, no space and no plus sign", () => {
  expect(originOf("https://verify.example/a+b/", 1)).toBe("verify.example/a%2Bb/log");
  expect(originOf("https://verify.example:8443", 3)).toBe("verify.example:8443/log/3");
});

test("a running service appends to the log, signs and reconciles until it stops, and then signs the remaining entries", () =>
  withLog(async ({ driver, store, writer, clock, attestAll }) => {
    const onError = (error: unknown) => expect(error).toBeUndefined();
    const stopBuilding = startLogBuilding({ writer, store, clock, onError });
    const other = aNode(driver);
    const stopFollowing = startReconciling({ writer: other.writer, clock, onError });
    await attestAll(1);
    await until(async () => (await store.newest())?.size === 1);
    await until(() => readHead(other.pinned.note)?.size === 1);
    await attestAll(2);
    await Promise.all([stopBuilding(), stopFollowing()]);
    expect((await store.newest())?.size).toBe(2);
  }));
