import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createCommits } from "../../../src/store/driver/commits.ts";
import type { Driver, Statement } from "../../../src/store/driver/driver.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { createAttestationStore } from "../../../src/store/evidence/attestations.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { createQuotaStore } from "../../../src/store/quota.ts";
import { createSettingsStore } from "../../../src/store/settings.ts";
import { driverKinds } from "../../harness/drivers.ts";
import { anAnsweredCall } from "../../harness/evidence.ts";
import { anAttestation, aSigningKey } from "../../harness/samples.ts";

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`answered calls, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.create>>;
    let driver: Driver;
    let batches: (readonly Statement[])[] = [];

    beforeAll(async () => {
      database = await kind.create();
      driver = await database.open();
      await migrate(driver, 0);
      await createKeyStore(driver).create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
    });
    afterAll(async () => {
      await driver.close();
      await database.destroy();
    });

    async function stores() {
      batches = [];
      const watched: Driver = {
        ...driver,
        batch: (statements) => {
          batches.push(statements);
          return driver.batch(statements);
        },
      };
      const commit = createCommits(watched);
      return {
        revision: await createSettingsStore(driver).revision(),
        attestations: createAttestationStore(watched, commit),
        quota: createQuotaStore(watched, commit),
      };
    }
    const usedOf = async (partnerId: string) =>
      Object.fromEntries(
        (await createQuotaStore(driver, createCommits(driver)).windows())
          .filter((one) => one.partnerId === partnerId)
          .map((one) => [one.kind, one.used]),
      );

    const idempotencyRecord = (id: number) => ({
      id: new Uint8Array(32).fill(id),
      fingerprint: new Uint8Array(32),
      createdAt: 1,
      headers: {},
      body: "{}",
    });

    test("of one partner are each charged, see each other's charge, and are read for once", async () => {
      const { attestations, quota, revision } = await stores();
      const calls = Array.from({ length: 20 }, (_, n) => anAttestation(n, { partnerId: "sums" }));
      const starts = { minute: 600_000, day: 0 };
      const limits = { minute: 17, day: 17 };
      const charge = { partnerId: "sums", starts, calls: 1, limits };
      const used = await Promise.all([
        quota.chargeMinute({ ...charge, limits: { minute: 3, day: 0 } }, revision),
        ...calls.map((one) => attestations.record(anAnsweredCall([one], { revision, charge }))),
        quota.chargeMinute(charge, revision),
      ]);
      expect(batches.length).toBe(1);
      const stored = calls.slice(0, 15);
      const told = [...stored.map(() => ({ minute: 17, day: 15 })), ...new Array(5).fill(null)];
      expect(used.slice(1, -1)).toEqual(told);
      expect([used[0], used.at(-1)]).toEqual([
        { minute: 1, day: 0 },
        { minute: 2, day: 0 },
      ]);
      expect(await usedOf("sums")).toEqual({ minute: 17, day: 15 });
      for (const one of stored) expect(await attestations.find(one.verificationId)).toEqual(one);
    });

    test("that were judged by an older revision are refused alone, and leave and cost nothing", async () => {
      const { attestations, revision } = await stores();
      const old = anAttestation(100, { partnerId: "old" });
      const good = anAttestation(101, { partnerId: "good" });
      const idempotency = idempotencyRecord(9);
      const used = await Promise.all([
        attestations.record(anAnsweredCall([old], { revision: revision - 1, idempotency })),
        attestations.record(anAnsweredCall([good], { revision })),
      ]);
      expect(used).toEqual([null, { minute: 1, day: 1 }]);
      expect(batches.length).toBe(1);
      expect(await attestations.find(old.verificationId)).toBeNull();
      expect(await attestations.find(good.verificationId)).toEqual(good);
      expect([await usedOf("old"), await usedOf("good")]).toEqual([{}, { minute: 1, day: 1 }]);
      expect(await driver.query("SELECT 1 FROM idempotency WHERE id = ?", [idempotency.id])).toEqual([]);
    });

    test("one whose idempotency key was used meanwhile is refused alone and costs nothing", async () => {
      const { attestations, revision } = await stores();
      const idempotency = idempotencyRecord(7);
      const record = (n: number, partnerId: string) =>
        attestations.record(anAnsweredCall([anAttestation(n, { partnerId })], { revision, idempotency }));
      const other = anAnsweredCall([anAttestation(202, { partnerId: "other" })], { revision });
      const used = await Promise.all([
        record(200, "first"),
        record(201, "second"),
        attestations.record(other),
      ]);
      expect(used).toEqual([{ minute: 1, day: 1 }, null, { minute: 1, day: 1 }]);
      expect([await usedOf("first"), await usedOf("second")]).toEqual([{ minute: 1, day: 1 }, {}]);
      expect(await attestations.find(anAttestation(201).verificationId)).toBeNull();
    });
  });
}
