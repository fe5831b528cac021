import { describe, expect, test } from "bun:test";
import type { Attestation } from "../../src/domain/attestations.ts";
import {
  beginRetention,
  openMark,
  readMark,
  retentionSetting,
  retentionSettings,
  sealMark,
} from "../../src/domain/evidence/retention-mark.ts";
import { pruneAttestations, startMaintenance } from "../../src/domain/pruning.ts";
import { describeKeptLog, keptLog, mayBePruned, parseRetention } from "../../src/domain/retention.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { createAttestationMaintenance } from "../../src/store/evidence/attestation-maintenance.ts";
import type { PinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { attest, putIntoLog } from "../harness/evidence.ts";
import { fillRing } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { anAttestation, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const dayMs = 86_400_000;
const firstAt = 1_700_000_000_000;
const rows = 450;

/** Attestation `n` with a JWS that says what its row does. */
function attested(n: number, kid: string): Attestation {
  const one = anAttestation(n, { kid });
  const { verificationId: sub, partnerId: aud, issuedAt: iat, status, eligible } = one;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = part({ iss: "https://verify.example", aud, sub, iat, result: { status, eligible } });
  return { ...one, jws: `${part({ alg: "RS256", kid })}.${claims}.signature` };
}

type World = TestStores & { readonly head: PinnedCheckpoint };
const retaining = ({ maintenance, settings, evidence }: TestStores) => {
  return { maintenance, settings, secrets, evidence };
};
const pruning = (world: World) => ({ ...retaining(world), head: world.head });
/** When 420 of the attestations have become ninety days old. */
const clock = { now: () => firstAt + 90 * dayMs + 420_000 };
const prune = (world: World, options: Partial<Parameters<typeof pruneAttestations>[1]> = {}) =>
  pruneAttestations(pruning(world), { clock, ...options });
const isNew = { isOld: false, now: firstAt };
const keepFor90Days = ({ settings }: TestStores) => settings.write(retentionSettings("90d", secrets));

/** A log with one attestation a second, all of it signed for. */
function withLog(
  act: (world: World, maintenance: ReturnType<typeof createAttestationMaintenance>) => Promise<void>,
) {
  return withStores(async (world) => {
    const { active } = await fillRing(world.keys, 0);
    const { kid } = active;
    await attest(
      world.driver,
      Array.from({ length: rows }, (_, n) => attested(n, kid)),
    );
    const head = await putIntoLog(world.driver);
    const maintenance = createAttestationMaintenance(world.driver);
    await beginRetention(retaining(world), { now: firstAt });
    await act({ ...world, head }, maintenance);
  });
}

describe("how long attestations are kept", () => {
  test("is said in days or years, and a year is never counted short", () => {
    expect(parseRetention("forever")).toBeNull();
    expect(parseRetention("90d")).toBe(90 * dayMs);
    expect(parseRetention("4y")).toBeGreaterThanOrEqual((4 * 365 + 1) * dayMs);
  });

  test.each(["", "0d", "89d", "24h", "7", "y", "-1y", "1.5y", "7Y", "never"])("is not %p", (given) => {
    expect(() => parseRetention(given)).toThrow(
      "--keep-attestations (TVS_KEEP_ATTESTATIONS) must be forever",
    );
  });

  test("is for ever unless somebody said otherwise", () =>
    withLog(async (world) => {
      const { attestations } = world;
      expect(await prune(world, { clock: { now: () => firstAt + 99_999 * dayMs } })).toBe(0);
      expect(await attestations.find(anAttestation(0).verificationId)).not.toBeNull();
      expect(await keptLog(retaining(world), isNew)).toEqual({ from: null, retention: "forever" });
    }));
});

/** An id of version 7 as it is made at a time. */
function idMadeAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}

describe("what is too old", () => {
  test("is deleted, all of it and nothing else, and is never said to be unknown", () =>
    withLog(async (world) => {
      const { attestations } = world;
      await keepFor90Days(world);
      expect(await prune(world)).toBe(420);
      const [gone, oldest] = [anAttestation(419).verificationId, anAttestation(420).verificationId];
      expect(await attestations.find(gone)).toBeNull();
      expect(await attestations.find(oldest)).not.toBeNull();
      const kept = await keptLog(retaining(world), isNew);
      expect(describeKeptLog(kept)).toBe(
        "attestations from before 2023-11-14T22:20:20.000Z have been deleted (they are kept for 90d)",
      );
      expect(mayBePruned(kept, gone)).toBe(true);
      // The time in an id runs ahead of `issued_at`: in a batch by moments, after a clock was set back by hours.
      const [near, later] = [kept.from ?? 0, (kept.from ?? 0) + dayMs].map((at) => idMadeAt(at + 1));
      expect([near, later].map((id) => mayBePruned(kept, id as string))).toEqual([true, false]);
      // The service gives ids of version 7 only: of another one it can still say that it never was.
      expect(mayBePruned(kept, "00000000-0000-4000-8000-000000000000")).toBe(false);
    }));

  test("and was not deleted before somebody stopped it is deleted the next time", () =>
    withLog(async (world, maintenance) => {
      await keepFor90Days(world);
      let looks = 0;
      const isStopped = () => looks++ > 0;
      const first = await prune(world, { isStopped });
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThan(420);
      expect(await prune(world)).toBe(420 - first);
      expect((await maintenance.kept()).pruned).toBe(420);
    }));
});

describe("what the database alone says", () => {
  test("makes nothing old: the time that is signed does", () =>
    withLog(async (world, maintenance) => {
      await keepFor90Days(world);
      await world.driver.batch([{ sql: "UPDATE attestations SET issued_at = 1 WHERE id > 440", args: [] }]);
      expect(await prune(world)).toBe(420);
      const left = await world.rows("SELECT min(id) AS id FROM attestations");
      expect(left).toEqual([{ id: 421 }]);
      const mark = await readMark({ maintenance, secrets }, isNew);
      const from = Math.floor(firstAt / 1000) + 420;
      expect(mark).toEqual({ begun: 1, through: 420, from, unsealedFrom: null, begins: { 1: 1 } });
    }));

  test("lets nothing be deleted from the first on that is not as the log has it, and says so", () =>
    withLog(async (world) => {
      await keepFor90Days(world);
      const change = (jws: string) =>
        world.driver.batch([{ sql: "UPDATE attestations SET jws = ? WHERE id = 10", args: [jws] }]);
      const signed = (await world.attestations.find(anAttestation(9).verificationId))?.jws ?? "";
      await change("another");
      const held: number[] = [];
      const onHeld = (id: number) => held.push(id);
      expect(await prune(world, { onHeld })).toBe(9);
      expect(await prune(world, { onHeld })).toBe(0);
      expect(held).toEqual([10, 10]);
      // Whoever has what was signed, in a backup or as the partner that was answered, lets it go on.
      await change(signed);
      expect(await prune(world, { onHeld })).toBe(411);
      expect(held).toEqual([10, 10]);
    }));

  test("shortens no retention, and a mark that is not ours lets nothing be deleted", () =>
    withLog(async (world, maintenance) => {
      const { settings } = world;
      await settings.write({ [retentionSetting]: "90d" });
      const refused = rejection(prune(world));
      expect(await refused).toMatchObject({ code: "STORE_CORRUPT" });
      const [tag] = await world.rows("SELECT value FROM settings WHERE name = 'keep_attestations_mac'");
      expect(tag).toBeUndefined();
      await keepFor90Days(world);
      const { mark } = await maintenance.kept();
      const changed = (mark ?? "").replace('"through":0', '"through":9');
      await maintenance.setMark(mark, changed);
      expect(await readMark({ maintenance, secrets }, isNew)).toBeNull();
      expect(await rejection(prune(world))).toMatchObject({ code: "STORE_CORRUPT" });
      await beginRetention(retaining(world), { now: clock.now(), renew: true });
      expect(await prune(world)).toBe(420);
    }));

  test("is no mark under another master key", () => {
    const mark = { begun: 1, through: 5, from: 7, unsealedFrom: null };
    const sealed = sealMark(mark, secrets);
    expect(openMark(sealed, secrets)).toEqual(mark);
    expect(openMark(sealed, deriveSecrets(newMasterKey()))).toBeNull();
    for (const other of ["", ".", sealed.slice(1), `${sealed}A`]) expect(openMark(other, secrets)).toBeNull();
  });
});

test("a running service builds and deletes by itself, says how much, and stops when it is told to", () =>
  withLog(async (world) => {
    await keepFor90Days(world);
    const told = Promise.withResolvers<number>();
    const stop = startMaintenance({
      ...{ ...pruning(world), clock, onPruned: told.resolve },
      ...{ onHeld: told.reject, onError: told.reject },
    });
    expect(await told.promise).toBe(420);
    await stop();
  }));
