import { describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { createLogWriter } from "../../../src/domain/evidence/checkpoint.ts";
import { ensureLog } from "../../../src/domain/evidence/log.ts";
import {
  keptLog,
  mayBePruned,
  openRetention,
  parseRetention,
  pruneAttestations,
  retentionSettings,
  signRetention,
  startRetention,
} from "../../../src/domain/evidence/retention.ts";
import { until } from "../../harness/eventually.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { readKey } from "../../harness/keys.ts";
import { rejection } from "../../harness/rejection.ts";
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
  /** Moves the clock to when the first `count` attestations have become ninety days old. */
  age(count: number): void;
  ids(): Promise<number[]>;
};

/** A log of so many attestations, a second apart from each other, kept for ninety days. */
function withAged(count: number, act: (world: World) => Promise<void>): Promise<void> {
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
    await act({
      ...stores,
      pinned,
      retaining: { evidence, settings, secrets, pinned, clock },
      sign: () => writer.checkpoint(),
      age: (old) => clock.set(new Date(startAt + (old + 1) * 1000 + 90 * dayMs).toISOString()),
      ids: async () =>
        (await driver.query("SELECT id FROM attestations ORDER BY id")).map(({ id }) => Number(id)),
    });
  });
}

test("a retention is said in days or years, and a year is never counted short", () => {
  expect([parseRetention("forever"), parseRetention("90d"), parseRetention("1y")]).toEqual([
    null,
    90 * dayMs,
    366 * dayMs,
  ]);
  for (const text of ["89d", "0y", "1", "1w", "-1y", "1.5y", "", "100000d"])
    expect(() => parseRetention(text)).toThrow("--keep-attestations");
});

describe("what is older than the retention", () => {
  test("is deleted over several tiles, and nothing else", () =>
    withAged(700, async ({ retaining, sign, age, ids, evidence }) => {
      await sign();
      age(600);
      expect(await pruneAttestations(retaining)).toBe(600);
      expect((await ids())[0]).toBe(601);
      expect(await pruneAttestations(retaining)).toBe(0);
      expect(await evidence.size()).toBe(700);
    }));

  test("is named by a note that the log has signed", () =>
    withAged(50, async ({ retaining, sign, age, evidence }) => {
      await sign();
      age(20);
      await pruneAttestations(retaining);
      const [log] = await evidence.logs();
      const note = (await evidence.retention()) ?? "";
      expect(log && (await openRetention(note, log))).toEqual({
        position: 20,
        issuedBefore: startAt / 1000 + 21,
      });
      const changed = note.replace("\n20\n", "\n21\n");
      expect(log && (await openRetention(changed, log))).toBeNull();
    }));

  test("stays while the newest attestation is among it", () =>
    withAged(5, async ({ retaining, sign, age, ids }) => {
      await sign();
      age(5);
      expect(await pruneAttestations(retaining)).toBe(4);
      expect(await ids()).toEqual([5]);
    }));

  test("waits for a checkpoint that is pinned", () =>
    withAged(5, async ({ retaining, sign, age }) => {
      age(3);
      expect(await pruneAttestations(retaining)).toBe(0);
      await sign();
      expect(await pruneAttestations({ ...retaining, pinned: aPinnedCheckpoint() })).toBe(0);
      expect(await pruneAttestations(retaining)).toBe(3);
    }));

  test.each([
    ["is not what was logged", "UPDATE attestations SET jws = ?1 WHERE id = 3"],
    ["was removed", "DELETE FROM attestations WHERE id = 3 AND ?1 IS NOT NULL"],
    ["has another leaf", "UPDATE log_tiles SET hashes = zeroblob(320) WHERE ?1 IS NOT NULL"],
  ])("is not deleted from an attestation on that %s", (_what, change) =>
    withAged(10, async ({ retaining, sign, age, driver, ids }) => {
      await sign();
      const { jws } = aSignedAttestation(1, signer);
      await driver.batch([{ sql: change, args: [jws] }]);
      age(8);
      const held: number[] = [];
      const deleted = await pruneAttestations(retaining, { onHeld: (id) => held.push(id) });
      expect([deleted, held]).toEqual(change.includes("log_tiles") ? [0, [1]] : [2, [3]]);
      expect((await ids()).length).toBeGreaterThan(6);
    }),
  );

  test("goes by the time that is signed, whatever a column says", () =>
    withAged(10, async ({ retaining, sign, age, driver }) => {
      await sign();
      await driver.batch([{ sql: "UPDATE attestations SET issued_at = 0", args: [] }]);
      age(2);
      expect(await pruneAttestations(retaining)).toBe(2);
    }));

  test("is not deleted by a setting or behind a note that this service did not write", () =>
    withAged(10, async ({ retaining, sign, age, settings, driver, evidence }) => {
      await sign();
      age(8);
      await settings.write({ keep_attestations: "100d" });
      expect(await rejection(pruneAttestations(retaining))).toMatchObject({ code: "STORE_CORRUPT" });
      await settings.write(retentionSettings("90d", secrets));
      await driver.batch([{ sql: "INSERT INTO log_retention (id, note) VALUES (1, 'none')", args: [] }]);
      expect(await rejection(pruneAttestations(retaining))).toMatchObject({ code: "STORE_CORRUPT" });
      await driver.batch([{ sql: "DELETE FROM log_retention", args: [] }]);
      expect(await pruneAttestations(retaining)).toBe(8);
      expect((await evidence.retention())?.split("\n")[2]).toBe("8");
    }));

  test("is deleted once by two that do so together", () =>
    withAged(300, async ({ retaining, sign, age, ids }) => {
      await sign();
      age(290);
      await Promise.all([pruneAttestations(retaining), pruneAttestations(retaining)]);
      await pruneAttestations(retaining);
      expect((await ids())[0]).toBe(291);
    }));
});

test("what may have been deleted is known by the note, and nothing before there is one", () =>
  withAged(5, async ({ retaining, sign, age }) => {
    const { verificationId } = aSignedAttestation(1, signer);
    expect(mayBePruned(await keptLog(retaining), verificationId)).toBe(false);
    await sign();
    age(3);
    await pruneAttestations(retaining);
    const kept = await keptLog(retaining);
    expect(kept).toEqual({ from: startAt + 4_000, retention: "90d" });
    expect(mayBePruned(kept, verificationId)).toBe(true);
  }));

test("a retention note of another log, or of another kind of text, says nothing", () =>
  withAged(1, async ({ evidence, sign, pinned }) => {
    await sign();
    const [log] = await evidence.logs();
    if (log === undefined) throw new Error("there is no log");
    const note = await signRetention({ position: 1, issuedBefore: 2 }, log, secrets);
    expect(await openRetention(note, log)).toEqual({ position: 1, issuedBefore: 2 });
    for (const other of [pinned.note ?? "", "", note.replaceAll("verify.example", "other.example")])
      expect(await openRetention(other, log)).toBeNull();
  }));

test("a running service deletes until it is stopped, and says how much and where it has to stop", () =>
  withAged(10, async ({ retaining, sign, age, driver }) => {
    await sign();
    await driver.batch([{ sql: "DELETE FROM attestations WHERE id = 5", args: [] }]);
    age(8);
    const said: unknown[] = [];
    const stop = startRetention({
      ...retaining,
      onPruned: (count) => said.push({ count }),
      onHeld: (held) => said.push({ held }),
      onError: (error) => said.push(error),
    });
    await until(() => said.length === 2);
    await stop();
    expect(said).toEqual([{ held: 5 }, { count: 4 }]);
  }));
