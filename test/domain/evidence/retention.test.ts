import { describe, expect, test } from "bun:test";
import { ensureFirstLog } from "../../../src/domain/evidence/log.ts";
import {
  isPossiblyDeleted,
  makeRetentionSettings,
  parseRetention,
  pruneAttestations,
  readRetentionState,
  signRetentionNote,
  startAttestationPruning,
  verifyRetentionNote,
} from "../../../src/domain/evidence/retention.ts";
import { until } from "../../harness/eventually.ts";
import { aPinnedCheckpoint } from "../../harness/evidence.ts";
import { catchError } from "../../harness/rejection.ts";
import { secrets } from "../../harness/samples.ts";
import { withStores } from "../../harness/store.ts";
import { aNode, aSignedAttestation, attestTo, startAt } from "./audited-register.ts";

const dayMs = 86_400_000;

type World = ReturnType<typeof aNode> & {
  /** Deletes the attestations that are too old. @returns how many */
  prune(): Promise<number>;
  ids(): Promise<number[]>;
};

/** Makes a log of `count` attestations, which are issued one second apart and kept for ninety days. */
function withUnsigned(count: number, run: (world: World) => Promise<void>): Promise<void> {
  return withStores(async ({ driver, rows, settings }) => {
    const node = aNode(driver);
    await ensureFirstLog(node.dependencies);
    await settings.write(makeRetentionSettings("90d", secrets));
    for (let n = 0; n < count; n += 100) await attestTo(driver, n + 1, Math.min(100, count - n));
    await run({
      ...node,
      prune: async () => (await pruneAttestations(node.retaining)).deleted,
      ids: async () => (await rows("SELECT id FROM attestations ORDER BY id")).map(({ id }) => Number(id)),
    });
  });
}

function withAged(count: number, run: (world: World) => Promise<void>): Promise<void> {
  return withUnsigned(count, async (world) => {
    await world.writer.checkpoint();
    await run(world);
  });
}

test("a retention period is given in days or years, and a year is 366 days", () => {
  const read = ["forever", "90d", "1y"].map(parseRetention);
  expect(read).toEqual([null, 90 * dayMs, 366 * dayMs]);
  for (const text of ["89d", "0y", "1", "1w", "-1y", "1.5y", "", "100000d"])
    expect(() => parseRetention(text)).toThrow("--keep-attestations");
});

describe("attestations older than the retention period", () => {
  test("retention deletes all old attestations across several tiles, and keeps their leaf hashes", () =>
    withAged(700, async ({ prune, age, ids, store }) => {
      age(600);
      expect(await prune()).toBe(600);
      expect((await ids())[0]).toBe(601);
      expect(await prune()).toBe(0);
      expect(await store.size()).toBe(700);
    }));

  test("retention stores a signed note with the position up to which it deleted, and no other text passes as this note", () =>
    withAged(50, async ({ prune, age, store, pinned }) => {
      age(20);
      await prune();
      const [log] = await store.logs();
      if (log === undefined) throw new Error("there is no log");
      const note = (await store.retention()) ?? "";
      expect(await verifyRetentionNote(note, log)).toEqual({
        position: 20,
        issuedBefore: startAt / 1000 + 21,
      });
      const moved = note.replace("\n20\n", "\n21\n");
      for (const other of [moved, pinned.note ?? "", "", note.replaceAll("verify.example", "other.example")])
        expect(await verifyRetentionNote(other, log)).toBeNull();
      // Their first lines distinguish a retention note from a checkpoint. The same key signs both.
      const signed = await signRetentionNote({ position: 1, issuedBefore: 2 }, log, secrets);
      expect(await verifyRetentionNote(signed, log)).toEqual({ position: 1, issuedBefore: 2 });
    }));

  test("retention deletes nothing until the log has a pinned checkpoint", () =>
    withUnsigned(5, async ({ retaining, writer, prune, age }) => {
      age(3);
      expect(await prune()).toBe(0);
      await writer.checkpoint();
      const unpinned = { ...retaining, pinned: aPinnedCheckpoint() };
      expect(await pruneAttestations(unpinned)).toMatchObject({ deleted: 0 });
      expect(await prune()).toBe(3);
    }));

  test.each([
    ["is not what was logged", "UPDATE attestations SET jws = ?1 WHERE id = 3", 2, 3],
    ["was removed", "DELETE FROM attestations WHERE id = 3 AND ?1 IS NOT NULL", 2, 3],
    ["has another leaf", "UPDATE log_tiles SET hashes = zeroblob(320) WHERE ?1 IS NOT NULL", 0, 1],
  ])("retention stops at an attestation that %s", (_what, change, deleted, held) =>
    withAged(10, async ({ retaining, age, driver, ids }) => {
      const { jws } = aSignedAttestation(1);
      await driver.batch([{ sql: change, args: [jws] }]);
      age(8);
      expect(await pruneAttestations(retaining)).toEqual({ deleted, held });
      expect((await ids()).length).toBeGreaterThan(6);
    }),
  );

  test("retention decides by the time that an attestation's JWS signs, not by the column issued_at", () =>
    withAged(10, async ({ prune, age, driver }) => {
      await driver.batch([{ sql: "UPDATE attestations SET issued_at = 0", args: [] }]);
      age(2);
      expect(await prune()).toBe(2);
    }));

  test("retention deletes nothing if the retention setting has no valid MAC, or the log did not sign the retention note", () =>
    withAged(10, async ({ prune, age, stores: { settings }, driver, store }) => {
      age(8);
      await settings.write({ keep_attestations: "100d" });
      expect(await catchError(prune())).toMatchObject({ code: "STORE_CORRUPT" });
      await settings.write(makeRetentionSettings("90d", secrets));
      await driver.batch([{ sql: "INSERT INTO log_retention (id, note) VALUES (1, 'none')", args: [] }]);
      expect(await catchError(prune())).toMatchObject({ code: "STORE_CORRUPT" });
      await driver.batch([{ sql: "DELETE FROM log_retention", args: [] }]);
      expect(await prune()).toBe(8);
      expect((await store.retention())?.split("\n")[2]).toBe("8");
    }));

  test("two processes that apply retention at the same time delete each old attestation once", () =>
    withAged(300, async ({ prune, age, ids }) => {
      age(290);
      await Promise.all([prune(), prune()]);
      await prune();
      expect((await ids())[0]).toBe(291);
    }));
});

test("an unknown id counts as possibly deleted only if the retention note names a time after the id's time", () =>
  withAged(5, async ({ retaining, prune, age }) => {
    const { verificationId } = aSignedAttestation(1);
    expect(isPossiblyDeleted(await readRetentionState(retaining), verificationId)).toBe(false);
    age(3);
    await prune();
    const kept = await readRetentionState(retaining);
    expect(kept).toEqual({ from: startAt + 4_000, retention: "90d" });
    expect(isPossiblyDeleted(kept, verificationId)).toBe(true);
  }));

test("a running service deletes old attestations, and reports the number of deleted rows and the id at which deletion stops", () =>
  withAged(10, async ({ retaining, age, driver }) => {
    await driver.batch([{ sql: "DELETE FROM attestations WHERE id = 5", args: [] }]);
    age(8);
    const reports: unknown[] = [];
    const stop = startAttestationPruning({
      ...retaining,
      onPruned: (count) => reports.push({ count }),
      onHeld: (held) => reports.push({ held }),
      onError: (error) => reports.push(error),
    });
    await until(() => reports.length === 2);
    await stop();
    expect(reports).toEqual([{ held: 5 }, { count: 4 }]);
  }));
