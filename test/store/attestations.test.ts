import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createAttestationStore } from "../../src/store/attestations.ts";
import { createCommits } from "../../src/store/driver/commits.ts";
import type { Driver, Statement } from "../../src/store/driver/driver.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createQuotaStore } from "../../src/store/quota.ts";
import { driverKinds } from "../harness/drivers.ts";
import { rejection } from "../harness/rejection.ts";
import { anAnsweredCall, anAttestation, aSigningKey } from "../harness/samples.ts";

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

    function stores() {
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
        attestations: createAttestationStore(watched, commit),
        quota: createQuotaStore(watched, commit),
      };
    }
    const usedOf = async (partnerId: string) =>
      Object.fromEntries(
        (await stores().quota.windows())
          .filter((one) => one.partnerId === partnerId)
          .map((one) => [one.kind, one.used]),
      );

    test("of one partner cost one charge of each window, and every call is counted", async () => {
      const { attestations, quota } = stores();
      const calls = Array.from({ length: 20 }, (_, n) => anAttestation(n, { partnerId: "sums" }));
      const stored = await Promise.all<boolean>([
        ...calls.map((one) => attestations.record(anAnsweredCall([one]))),
        quota.charge([{ partnerId: "sums", kind: "minute", startsAt: 600_000, used: 2 }]).then(() => true),
      ]);
      expect(stored).toEqual(new Array(21).fill(true));
      expect(batches.length).toBe(1);
      expect(batches[0]?.filter((one) => "sql" in one && one.sql.includes("quota_windows")).length).toBe(3);
      expect(await usedOf("sums")).toEqual({ minute: 22, day: 20 });
      for (const one of calls) expect(await attestations.find(one.verificationId)).toEqual(one);
    });

    test("signed by a key that is not active are refused alone, and leave and cost nothing", async () => {
      const { attestations } = stores();
      const old = anAttestation(100, { partnerId: "old", kid: "B" });
      const good = anAttestation(101, { partnerId: "good" });
      const idempotency = {
        id: new Uint8Array(32).fill(9),
        fingerprint: new Uint8Array(32),
        createdAt: 1,
        headers: {},
        body: "{}",
      };
      const stored = await Promise.all([
        attestations.record(anAnsweredCall([old], { kid: "B", idempotency })),
        attestations.record(anAnsweredCall([good])),
      ]);
      expect(stored).toEqual([false, true]);
      expect(batches.length).toBe(1);
      expect(await attestations.find(old.verificationId)).toBeNull();
      expect(await attestations.find(good.verificationId)).toEqual(good);
      expect([await usedOf("old"), await usedOf("good")]).toEqual([{}, { minute: 1, day: 1 }]);
      expect(await driver.query("SELECT 1 FROM idempotency WHERE id = ?", [idempotency.id])).toEqual([]);
    });

    test("one whose idempotency key was used meanwhile fails alone and costs nothing", async () => {
      const { attestations } = stores();
      const idempotency = {
        id: new Uint8Array(32).fill(7),
        fingerprint: new Uint8Array(32),
        createdAt: 1,
        headers: {},
        body: "{}",
      };
      const record = (n: number, partnerId: string) =>
        attestations.record(anAnsweredCall([anAttestation(n, { partnerId })], { idempotency }));
      expect(await record(200, "first")).toBe(true);
      const [second, other] = await Promise.all([
        rejection(record(201, "second")),
        attestations.record(anAnsweredCall([anAttestation(202, { partnerId: "other" })])),
      ]);
      expect(second).toMatchObject({ code: "STORE_CONSTRAINT" });
      expect(other).toBe(true);
      expect([await usedOf("first"), await usedOf("second")]).toEqual([{ minute: 1, day: 1 }, {}]);
      expect(await attestations.find(anAttestation(201).verificationId)).toBeNull();
    });
  });
}
