import { beforeAll, expect, test } from "bun:test";
import { createStores } from "../../../cli/open.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { describeDrivers } from "../../harness/drivers.ts";
import { anAnsweredCall, attest } from "../../harness/evidence.ts";
import { anAttestation, aSigningKey } from "../../harness/samples.ts";

describeDrivers("answered calls", (_kind, database) => {
  let driver: Driver;
  let transactions = 0;

  beforeAll(async () => {
    driver = database.driver();
    await database.stores().keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
  });

  function stores() {
    transactions = 0;
    const write: Driver["write"] = (work, waitMs) => {
      transactions++;
      return driver.write(work, waitMs);
    };
    return createStores({ ...driver, write });
  }
  const usedOf = async (partnerId: string) => {
    const windows = await database.stores().quotaStore.windows();
    const own = windows.filter((one) => one.partnerId === partnerId);
    return Object.fromEntries(own.map(({ kind, used }) => [kind, used]));
  };

  test("each call of a partner in one transaction is charged, and sees the charges of the earlier calls", async () => {
    const { attestations, quotaStore, settings } = stores();
    const revision = await settings.revision();
    const calls = Array.from({ length: 20 }, (_, n) => anAttestation(n, { partnerId: "sums" }));
    const [starts, limits] = [
      { minute: 600_000, day: 0 },
      { minute: 17, day: 17 },
    ];
    const charge = { partnerId: "sums", starts, calls: 1, limits };
    const used = await Promise.all([
      quotaStore.chargeMinute(charge, revision),
      ...calls.map((one) => attestations.record(anAnsweredCall([one], { revision, charge }))),
      quotaStore.chargeMinute(charge, revision),
    ]);
    expect(transactions).toBe(1);
    const stored = calls.slice(0, 16);
    const full = { minute: 17, day: 16 };
    const none = new Array<null>(5).fill(null);
    expect<unknown[]>(used).toEqual([full, ...stored.map(() => full), ...none]);
    expect(await usedOf("sums")).toEqual(full);
    for (const one of stored) expect(await attestations.find(one.verificationId)).toEqual(one);
  });

  test("a call authenticated under an older revision is refused and costs nothing, and the other calls of the same transaction succeed", async () => {
    const { attestations, settings } = stores();
    const revision = await settings.revision();
    const [old, good] = [anAttestation(100, { partnerId: "old" }), anAttestation(101, { partnerId: "good" })];
    const id = new Uint8Array(32).fill(9);
    const idempotency = { id, fingerprint: new Uint8Array(32), createdAt: 1, headers: {}, body: "{}" };
    const used = await Promise.all([
      attestations.record(anAnsweredCall([old], { revision: revision - 1, idempotency })),
      attestations.record(anAnsweredCall([good], { revision })),
    ]);
    expect(used).toEqual([null, { minute: 1, day: 1 }]);
    expect(transactions).toBe(1);
    expect(await attestations.find(old.verificationId)).toBeNull();
    expect(await attestations.find(good.verificationId)).toEqual(good);
    expect([await usedOf("old"), await usedOf("good")]).toEqual([{}, { minute: 1, day: 1 }]);
    expect(await driver.query("SELECT 1 FROM idempotency WHERE id = ?", [id])).toEqual([]);
  });
});

const batchId = requestId(500, "a");
const singleId = requestId(500, "b");
const slowId = requestId(520, "c");
const farId = requestId(520, "d");

/** Makes a request id with a time that is `seconds` after the first attestation. */
function requestId(seconds: number, last: string): string {
  const hex = ((1_700_000_000 + seconds) * 1000).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8abc-00000000000${last}`;
}

describeDrivers("attestations by their request", (_kind, database) => {
  let driver: Driver;
  const ofRequest = async (id: string) =>
    (await database.stores().attestations.ofRequest(id)).map(({ reference }) => reference);

  beforeAll(async () => {
    driver = database.driver();
    await database.stores().keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
    const rows = (from: number, count: number, request: string) =>
      Array.from({ length: count }, (_, n) =>
        anAttestation(from + n, { requestId: request, issuedAt: 1_700_000_501 }),
      );
    await attest(driver, rows(1_000, 100, batchId));
    await attest(driver, rows(2_000, 1, singleId));
    await attest(driver, [anAttestation(3_000, { requestId: slowId, issuedAt: 1_700_000_570 })]);
    await attest(driver, [anAttestation(4_000, { requestId: farId, issuedAt: 1_700_086_400 })]);
  });

  test("a request id finds all attestations of its batch in order, and no others", async () => {
    const expected = Array.from({ length: 100 }, (_, n) => `regNo:A/B/C/${1_000 + n}`);
    expect(await ofRequest(batchId)).toEqual(expected);
    expect(await ofRequest(singleId)).toEqual(["regNo:A/B/C/2000"]);
  });

  test("a request id finds a call with a slow answer, but no call at a time far from the id's time", async () => {
    expect(await ofRequest(slowId)).toEqual(["regNo:A/B/C/3000"]);
    expect(await ofRequest(farId)).toEqual([]);
  });

  test("a malformed or unknown request id finds no attestation", async () => {
    for (const id of ["", "request", requestId(500, "e"), batchId.replace("-7", "-4")])
      expect(await ofRequest(id)).toEqual([]);
  });
});
