import { beforeAll, expect, test } from "bun:test";
import { createCommits } from "../../../src/store/driver/commits.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { createAttestationMaintenance } from "../../../src/store/evidence/attestation-maintenance.ts";
import { createAttestationStore } from "../../../src/store/evidence/attestations.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { createStatusStore } from "../../../src/store/status.ts";
import { describeDrivers } from "../../harness/drivers.ts";
import { attest, deleteOldest, putIntoLog } from "../../harness/evidence.ts";
import { anAttestation, aSigningKey } from "../../harness/samples.ts";

/** The log: 600 seconds, in which one teacher, one NIN and one partner are rare. */
const logRows = 600;
const rareRows = [3, 305, logRows - 2];
const rareTeacher = 900_001;
const nin = new Uint8Array(16).fill(5);
/** Rows of the common partner that asked with a key of its own. */
const leakedRows = [4, 299, 307, logRows - 1];
/** While that key could be used. */
const leaked = {
  partnerId: "agency",
  credential: "leaked",
  since: 1_700_000_000_000,
  until: (1_700_000_000 + logRows) * 1000,
};

function rowOf(n: number) {
  const rare = rareRows.includes(n);
  return anAttestation(n, {
    teacherId: rare ? rareTeacher : n % 50,
    partnerId: rare ? "rare" : "agency",
    ninIndex: rare ? nin : null,
    credential: leakedRows.includes(n) ? "leaked" : "key",
  });
}
const timeOf = (n: number) => rowOf(n).issuedAt * 1000;
const idsOf = (rows: readonly number[]) => rows.map((n) => rowOf(n).verificationId);

async function writeLog(driver: Driver): Promise<void> {
  await createKeyStore(driver).create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
  for (let from = 0; from < logRows; from += 100)
    await attest(
      driver,
      Array.from({ length: 100 }, (_, i) => rowOf(from + i)),
    );
}

describeDrivers("the evidence log", (_kind, database) => {
  const attestations = () => createAttestationStore(database.driver(), createCommits(database.driver()));
  beforeAll(() => writeLog(database.driver()));

  const searches: [string, () => Promise<{ verificationId: string }[]>, readonly number[]][] = [
    ["a teacher", () => attestations().ofSubject({ teacherId: rareTeacher, ninIndex: null }), rareRows],
    ["a NIN", () => attestations().ofSubject({ teacherId: null, ninIndex: nin }), rareRows],
    ["both", () => attestations().ofSubject({ teacherId: rareTeacher, ninIndex: nin }), rareRows],
    ["nobody", () => attestations().ofSubject({ teacherId: 900_002, ninIndex: new Uint8Array(16) }), []],
    ["a partner's newest", () => attestations().list({ partnerId: "rare", limit: 2 }), [598, 305]],
    ["a partner's since", () => attestations().list({ partnerId: "rare", since: timeOf(4), limit: 9 }), [598, 305]],
    ["a key's", () => attestations().list({ ...leaked, limit: 9 }), leakedRows.toReversed()],
    ["a key's of a teacher", () => attestations().list({ ...leaked, teacherId: 4, limit: 9 }), [4]],
    ["a key's until", () => attestations().list({ ...leaked, until: timeOf(5), limit: 9 }), [4]],
    ["all", () => attestations().list({ since: timeOf(597), limit: 2 }), [599, 598]],
  ]; // biome-ignore format: a search in one line
  test.each(searches)("finds by what an attestation is about and by its time: %s", async (_, found, rows) => {
    expect((await found()).map(({ verificationId }) => verificationId)).toEqual(idsOf(rows));
  });

  test("counts what a key was answered, and who was told of a teacher", async () => {
    const store = attestations();
    expect(await store.countOfTeacher(7)).toBe(12);
    expect(await store.usesOf(leaked, 1_000)).toEqual({ count: 4, firstAt: timeOf(4), isAll: true });
    expect(await store.usesOf(leaked, 301)).toEqual({ count: 2, firstAt: timeOf(4), isAll: false });
    // Two minutes before that time are looked at too, because clocks of nodes differ.
    const late = await store.usesOf({ ...leaked, since: timeOf(400) }, 1_000);
    expect(late).toEqual({ count: 3, firstAt: timeOf(299), isAll: true });
    expect(await store.toldValid(rareTeacher, timeOf(4))).toEqual([
      { partnerId: "rare", times: 2, lastAt: timeOf(598) },
    ]);
  });
});

describeDrivers("an evidence log", (_kind, database) => {
  const attestations = () => createAttestationStore(database.driver(), createCommits(database.driver()));
  const maintenance = () => createAttestationMaintenance(database.driver());
  const number = async (sql: string) => Number((await database.driver().query(sql))[0]?.n);
  beforeAll(() => writeLog(database.driver()));

  // One log is shortened through it all, so these are steps of one test.
  test("is shortened from its old end only, and forgets nobody who verified", async () => {
    const [store, boundary] = [attestations(), timeOf(400)];
    expect(await deleteOldest(database.driver(), boundary, 150)).toBe(0);
    await putIntoLog(database.driver());
    const steps: number[] = [];
    for (let count = -1; count !== 0; steps.push(count))
      count = await deleteOldest(database.driver(), boundary, 150);
    expect(steps).toEqual([150, 150, 100, 0]);
    expect(await maintenance().kept()).toEqual({ from: boundary, pruned: 400, mark: "a mark" });
    expect((await createStatusStore(database.driver()).attestations([0])).total).toBe(logRows - 400);
    expect(await store.find(rowOf(399).verificationId)).toBeNull();
    const left = await store.ofSubject({ teacherId: rareTeacher, ninIndex: null });
    expect(left.map(({ verificationId }) => verificationId)).toEqual(idsOf([598]));
    // An earlier boundary, after a clock was set back, takes nothing back of what was said.
    expect(await deleteOldest(database.driver(), boundary - 5_000, 150)).toBe(0);
    expect((await maintenance().kept()).from).toBe(boundary);

    await attest(database.driver(), [anAttestation(700, { partnerId: "late", teacherId: rareTeacher })]);
    // The newest one is never deleted, because the numbers go on after it.
    while ((await deleteOldest(database.driver(), 4_000_000_000_000, 5_000)) > 0);
    await putIntoLog(database.driver());
    while ((await deleteOldest(database.driver(), 4_000_000_000_000, 5_000)) > 0);
    expect(await number("SELECT min(id) AS n FROM attestations")).toBe(logRows + 1);
    await attest(database.driver(), [anAttestation(701, { teacherId: 77 })]);
    expect(await number("SELECT max(id) AS n FROM attestations")).toBe(logRows + 2);
    const verifiers = [4, rareTeacher, 77, 900_002].map((id) => maintenance().verifiedBy(id));
    expect(await Promise.all(verifiers)).toEqual([["agency"], ["late", "rare"], ["agency"], []]);
  });
});
