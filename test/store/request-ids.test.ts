import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createCommits } from "../../src/store/driver/commits.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { createAttestationStore } from "../../src/store/evidence/attestations.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { driverKinds } from "../harness/drivers.ts";
import { attest } from "../harness/evidence.ts";
import { anAttestation, aSigningKey } from "../harness/samples.ts";

const batchId = requestId(500, "a");
const singleId = requestId(500, "b");
const slowId = requestId(520, "c");
const farId = requestId(520, "d");

/** A request id that arrived so many seconds after the first attestation's time. */
function requestId(seconds: number, last: string): string {
  const hex = ((1_700_000_000 + seconds) * 1000).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8abc-00000000000${last}`;
}

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`attestations by their request, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.create>>;
    let driver: Driver;
    const store = () => createAttestationStore(driver, createCommits(driver));
    const ofRequest = async (id: string) => (await store().ofRequest(id)).map(({ reference }) => reference);

    beforeAll(async () => {
      database = await kind.create();
      driver = await database.open();
      await migrate(driver, 0);
      await createKeyStore(driver).create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
      const rows = (from: number, count: number, request: string) =>
        Array.from({ length: count }, (_, n) =>
          anAttestation(from + n, { requestId: request, issuedAt: 1_700_000_501 }),
        );
      await attest(driver, rows(1_000, 100, batchId));
      await attest(driver, rows(2_000, 1, singleId));
      await attest(driver, [anAttestation(3_000, { requestId: slowId, issuedAt: 1_700_000_570 })]);
      await attest(driver, [anAttestation(4_000, { requestId: farId, issuedAt: 1_700_086_400 })]);
    });
    afterAll(async () => {
      await driver.close();
      await database.destroy();
    });

    test("a batch's are all found, in their order, and nobody else's", async () => {
      const expected = Array.from({ length: 100 }, (_, n) => `regNo:A/B/C/${1_000 + n}`);
      expect(await ofRequest(batchId)).toEqual(expected);
      expect(await ofRequest(singleId)).toEqual(["regNo:A/B/C/2000"]);
    });

    test("a call that took long is found, and none is looked for at another time than its own", async () => {
      expect(await ofRequest(slowId)).toEqual(["regNo:A/B/C/3000"]);
      expect(await ofRequest(farId)).toEqual([]);
    });

    test("what is no request id, or nobody's, finds nothing", async () => {
      for (const id of ["", "request", requestId(500, "e"), batchId.replace("-7", "-4")])
        expect(await ofRequest(id)).toEqual([]);
    });
  });
}
