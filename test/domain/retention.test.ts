import { describe, expect, test } from "bun:test";
import {
  describeKeptLog,
  keptLog,
  mayBePruned,
  parseRetention,
  pruneAttestations,
  retentionSetting,
  startMaintenance,
} from "../../src/domain/retention.ts";
import { createAttestationMaintenance } from "../../src/store/attestation-index.ts";
import { attest, putIntoLog } from "../harness/evidence.ts";
import { fillRing } from "../harness/keys.ts";
import { anAttestation } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const dayMs = 86_400_000;
const firstAt = 1_700_000_000_000;
const rows = 450;

/** A log with one attestation a second, all of it built upon. */
function withLog(
  act: (world: TestStores, maintenance: ReturnType<typeof createAttestationMaintenance>) => Promise<void>,
) {
  return withStores(async (world) => {
    const { active } = await fillRing(world.keys, 0);
    const { kid } = active;
    const log = Array.from({ length: rows }, (_, n) => anAttestation(n, { kid }));
    await attest(world.driver, log);
    await putIntoLog(world.driver);
    const maintenance = createAttestationMaintenance(world.driver);
    while (await maintenance.build());
    await act(world, maintenance);
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
    withLog(async ({ settings, attestations }, maintenance) => {
      const clock = { now: () => firstAt + 99_999 * dayMs };
      expect(await pruneAttestations({ maintenance, settings }, { clock })).toBe(0);
      expect(await attestations.find(anAttestation(0).verificationId)).not.toBeNull();
      expect(await keptLog(maintenance, settings)).toEqual({ from: null, pruned: 0, retention: "forever" });
    }));
});

/** An id of version 7 as it is made at a time. */
function idMadeAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}

describe("what is too old", () => {
  test("is deleted, all of it and nothing else, and is never said to be unknown", () =>
    withLog(async ({ settings, attestations }, maintenance) => {
      await settings.write({ [retentionSetting]: "90d" });
      const clock = { now: () => firstAt + 90 * dayMs + 420_000 };
      expect(await pruneAttestations({ maintenance, settings }, { clock })).toBe(420);
      const [gone, oldest] = [anAttestation(419).verificationId, anAttestation(420).verificationId];
      expect(await attestations.find(gone)).toBeNull();
      expect(await attestations.find(oldest)).not.toBeNull();
      const kept = await keptLog(maintenance, settings);
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
    withLog(async ({ settings }, maintenance) => {
      await settings.write({ [retentionSetting]: "90d" });
      const clock = { now: () => firstAt + 90 * dayMs + 420_000 };
      let looks = 0;
      while (await maintenance.noteVerified());
      const isStopped = () => looks++ > 1;
      const first = await pruneAttestations({ maintenance, settings }, { clock, isStopped });
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThan(420);
      expect(await pruneAttestations({ maintenance, settings }, { clock })).toBe(420 - first);
      expect((await maintenance.kept()).pruned).toBe(420);
    }));
});

describe("a running service", () => {
  test("builds and deletes by itself, says how much, and stops when it is told to", () =>
    withLog(async ({ settings }, maintenance) => {
      await settings.write({ [retentionSetting]: "90d" });
      const clock = { now: () => firstAt + 90 * dayMs + 420_000 };
      const told = Promise.withResolvers<number>();
      const onError = (error: unknown) => told.reject(error);
      const stop = startMaintenance({ maintenance, settings, clock, onPruned: told.resolve, onError });
      expect(await told.promise).toBe(420);
      await stop();
    }));

  test("reports a failure and tries again", () =>
    withLog(async ({ settings }, maintenance) => {
      const failed = Promise.withResolvers<unknown>();
      const mended = Promise.withResolvers<void>();
      let builds = 0;
      const failing = {
        ...maintenance,
        async build() {
          if (builds++ === 0) throw new Error("the disk is full");
          mended.resolve();
          return false;
        },
      };
      const clock = { now: () => firstAt };
      const stop = startMaintenance({
        maintenance: failing,
        settings,
        clock,
        onPruned: () => {},
        onError: failed.resolve,
      });
      expect(String(await failed.promise)).toBe("Error: the disk is full");
      await mended.promise;
      await stop();
    }));
});
