import { describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { createLogWriter } from "../../../src/domain/evidence/checkpoint.ts";
import { ensureLog } from "../../../src/domain/evidence/log.ts";
import {
  mayBePruned,
  parseRetention,
  pruneAttestations,
  readRetentionState,
  retentionSettings,
  signRetentionNote,
  startRetention,
  verifyRetentionNote,
} from "../../../src/domain/evidence/retention.ts";
import { until } from "../../harness/eventually.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { readKey } from "../../harness/keys.ts";
import { catchError } from "../../harness/rejection.ts";
import { secrets } from "../../harness/samples.ts";
import { type TestStores, withStoresAt } from "../../harness/store.ts";
import { aSignedAttestation, type Signer } from "./audited-register.ts";

const signer: Signer = { kid: "active", privateKey: createPrivateKey(readKey("active")) };
const startAt = Date.parse("2026-05-01T09:00:00Z");
const dayMs = 86_400_000;

type World = TestStores & {
  readonly pinned: ReturnType<typeof aPinnedCheckpoint>;
  readonly retaining: Parameters<typeof pruneAttestations>[0];
  sign(): Promise<unknown>;
  /** Deletes what is too old. @returns how many attestations */
  prune(): Promise<number>;
  /** Moves the clock to when the first `count` attestations have become ninety days old. */
  age(count: number): void;
  ids(): Promise<number[]>;
};

/** Makes a log of `count` attestations, issued a second after each other and kept for ninety days. */
function withAged(count: number, run: (world: World) => Promise<void>): Promise<void> {
  return withStoresAt("2026-05-01T09:00:00Z", async (stores) => {
    const { driver, evidence, settings, clock } = stores;
    const pinned = aPinnedCheckpoint();
    await ensureLog({ store: evidence, secrets, issuer: "https://verify.example", clock });
    await settings.write(retentionSettings("90d", secrets));
    for (let n = 0; n < count; n += 100)
      await attest(
        driver,
        Array.from({ length: Math.min(100, count - n) }, (_, at) => aSignedAttestation(n + at + 1, signer)),
      );
    const writer = createLogWriter({ store: evidence, pinned, secrets, clock });
    const retaining = { evidence, settings, secrets, pinned, clock };
    await run({
      ...{ ...stores, pinned, retaining },
      sign: () => writer.checkpoint(),
      prune: async () => (await pruneAttestations(retaining)).deleted,
      age: (old) => clock.set(new Date(startAt + (old + 1) * 1000 + 90 * dayMs).toISOString()),
      ids: async () =>
        (await driver.query("SELECT id FROM attestations ORDER BY id")).map(({ id }) => Number(id)),
    });
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
    withAged(700, async ({ sign, prune, age, ids, evidence }) => {
      await sign();
      age(600);
      expect(await prune()).toBe(600);
      expect((await ids())[0]).toBe(601);
      expect(await prune()).toBe(0);
      expect(await evidence.size()).toBe(700);
    }));

  test("retention stores a signed note of how far it deleted, which no other text can replace", () =>
    withAged(50, async ({ sign, prune, age, evidence, pinned }) => {
      await sign();
      age(20);
      await prune();
      const [log] = await evidence.logs();
      if (log === undefined) throw new Error("there is no log");
      const note = (await evidence.retention()) ?? "";
      expect(await verifyRetentionNote(note, log)).toEqual({
        position: 20,
        issuedBefore: startAt / 1000 + 21,
      });
      const moved = note.replace("\n20\n", "\n21\n");
      for (const other of [moved, pinned.note ?? "", "", note.replaceAll("verify.example", "other.example")])
        expect(await verifyRetentionNote(other, log)).toBeNull();
      // The first line tells a retention note from a checkpoint, which the same key signs.
      const signed = await signRetentionNote({ position: 1, issuedBefore: 2 }, log, secrets);
      expect(await verifyRetentionNote(signed, log)).toEqual({ position: 1, issuedBefore: 2 });
    }));

  test("retention deletes nothing until the log has a pinned checkpoint", () =>
    withAged(5, async ({ retaining, sign, prune, age }) => {
      age(3);
      expect(await prune()).toBe(0);
      await sign();
      const unpinned = { ...retaining, pinned: aPinnedCheckpoint() };
      expect(await pruneAttestations(unpinned)).toMatchObject({ deleted: 0 });
      expect(await prune()).toBe(3);
    }));

  test.each([
    ["is not what was logged", "UPDATE attestations SET jws = ?1 WHERE id = 3", 2, 3],
    ["was removed", "DELETE FROM attestations WHERE id = 3 AND ?1 IS NOT NULL", 2, 3],
    ["has another leaf", "UPDATE log_tiles SET hashes = zeroblob(320) WHERE ?1 IS NOT NULL", 0, 1],
  ])("retention stops at an attestation that %s", (_what, change, deleted, held) =>
    withAged(10, async ({ retaining, sign, age, driver, ids }) => {
      await sign();
      const { jws } = aSignedAttestation(1, signer);
      await driver.batch([{ sql: change, args: [jws] }]);
      age(8);
      expect(await pruneAttestations(retaining)).toEqual({ deleted, held });
      expect((await ids()).length).toBeGreaterThan(6);
    }),
  );

  test("retention decides by an attestation's signed time, not by its column", () =>
    withAged(10, async ({ sign, prune, age, driver }) => {
      await sign();
      await driver.batch([{ sql: "UPDATE attestations SET issued_at = 0", args: [] }]);
      age(2);
      expect(await prune()).toBe(2);
    }));

  test("retention deletes nothing because of a setting or a note that this service did not write", () =>
    withAged(10, async ({ sign, prune, age, settings, driver, evidence }) => {
      await sign();
      age(8);
      await settings.write({ keep_attestations: "100d" });
      expect(await catchError(prune())).toMatchObject({ code: "STORE_CORRUPT" });
      await settings.write(retentionSettings("90d", secrets));
      await driver.batch([{ sql: "INSERT INTO log_retention (id, note) VALUES (1, 'none')", args: [] }]);
      expect(await catchError(prune())).toMatchObject({ code: "STORE_CORRUPT" });
      await driver.batch([{ sql: "DELETE FROM log_retention", args: [] }]);
      expect(await prune()).toBe(8);
      expect((await evidence.retention())?.split("\n")[2]).toBe("8");
    }));

  test("two processes that apply retention at the same time delete each old attestation once", () =>
    withAged(300, async ({ sign, prune, age, ids }) => {
      await sign();
      age(290);
      await Promise.all([prune(), prune()]);
      await prune();
      expect((await ids())[0]).toBe(291);
    }));
});

test("an id may be that of a deleted attestation only after a retention note names a later time", () =>
  withAged(5, async ({ retaining, sign, prune, age }) => {
    const { verificationId } = aSignedAttestation(1, signer);
    expect(mayBePruned(await readRetentionState(retaining), verificationId)).toBe(false);
    await sign();
    age(3);
    await prune();
    const kept = await readRetentionState(retaining);
    expect(kept).toEqual({ from: startAt + 4_000, retention: "90d" });
    expect(mayBePruned(kept, verificationId)).toBe(true);
  }));

test("a running service deletes old attestations until it stops, and reports their number and where it cannot go on", () =>
  withAged(10, async ({ retaining, sign, age, driver }) => {
    await sign();
    await driver.batch([{ sql: "DELETE FROM attestations WHERE id = 5", args: [] }]);
    age(8);
    const reports: unknown[] = [];
    const stop = startRetention({
      ...retaining,
      onPruned: (count) => reports.push({ count }),
      onHeld: (held) => reports.push({ held }),
      onError: (error) => reports.push(error),
    });
    await until(() => reports.length === 2);
    await stop();
    expect(reports).toEqual([{ held: 5 }, { count: 4 }]);
  }));
