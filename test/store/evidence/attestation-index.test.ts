import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createCommits } from "../../../src/store/driver/commits.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { createAttestationMaintenance, segmentRows } from "../../../src/store/evidence/attestation-index.ts";
import { createAttestationStore } from "../../../src/store/evidence/attestations.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { createPartnerStore } from "../../../src/store/partners.ts";
import { createStatusStore } from "../../../src/store/status.ts";
import { createTeacherStore } from "../../../src/store/teachers.ts";
import { createWebhookStore } from "../../../src/store/webhooks.ts";
import { driverKinds } from "../../harness/drivers.ts";
import { attest, deleteOldest, putIntoLog } from "../../harness/evidence.ts";
import { anApiKey, anAttestation, aPartner, aSigningKey, aTeacherWrite } from "../../harness/samples.ts";

const rareTeacher = 900_001;
const nin = new Uint8Array(16).fill(5);
/** The log: two segments and some, in which one teacher, one NIN and one partner are rare. */
const logRows = segmentRows * 2 + 700;
const rareRows = [3, segmentRows + 5, logRows - 2];

/** Rows of the common partner that asked with a key of its own, in each segment and behind them. */
const leakedRows = [4, segmentRows - 1, segmentRows + 7, logRows - 1];
/** While that key could be used, with rows around it that could not have been. */
const leaked = {
  partnerId: "agency",
  credential: "leaked",
  since: 1_700_000_000_000,
  until: (1_700_000_000 + logRows) * 1000,
};

function rowOf(n: number) {
  const rare = rareRows.includes(n);
  return anAttestation(n, {
    teacherId: rare ? rareTeacher : n % 500,
    partnerId: rare ? "rare" : "agency",
    ninIndex: rare ? nin : null,
    credential: leakedRows.includes(n) ? "leaked" : "key",
  });
}

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`maintenance of the log, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.create>>;
    let driver: Driver;
    const attestations = () => createAttestationStore(driver, createCommits(driver));
    const maintenance = () => createAttestationMaintenance(driver);
    const number = async (sql: string) => Number((await driver.query(sql))[0]?.n);

    beforeAll(async () => {
      database = await kind.create();
      driver = await database.open();
      await migrate(driver, 0);
      await createKeyStore(driver).create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
      for (let from = 0; from < logRows; from += 500) {
        const rows = Array.from({ length: Math.min(500, logRows - from) }, (_, i) => rowOf(from + i));
        await attest(driver, rows);
      }
    });
    afterAll(async () => {
      await driver.close();
      await database.destroy();
    });

    /** All that is asked of the log by whom it speaks of. */
    async function answers() {
      const store = attestations();
      const ids = async (found: Promise<{ verificationId: string }[]>) =>
        (await found).map(({ verificationId }) => verificationId);
      return {
        teacher: await ids(store.ofSubject({ teacherId: rareTeacher, ninIndex: null })),
        nin: await ids(store.ofSubject({ teacherId: null, ninIndex: nin })),
        nobody: await ids(store.ofSubject({ teacherId: 900_002, ninIndex: new Uint8Array(16) })),
        common: await store.countOfTeacher(7),
        told: await store.toldValid(rareTeacher, rowOf(4).issuedAt * 1000),
        newest: await ids(store.list({ partnerId: "rare", limit: 2 })),
        leaked: await ids(store.list({ ...leaked, limit: 9 })),
        leakedEarly: await ids(store.list({ ...leaked, until: rowOf(500).issuedAt * 1000, limit: 9 })),
        uses: await store.usesOf(leaked, 1_000_000),
        usesLooked: await store.usesOf(leaked, segmentRows + 1),
        usesLate: await store.usesOf({ ...leaked, since: rowOf(segmentRows).issuedAt * 1000 }, 1_000_000),
        since: await ids(store.list({ partnerId: "rare", since: rowOf(4).issuedAt * 1000, limit: 9 })),
      };
    }
    const rare = rareRows.map((n) => rowOf(n).verificationId);

    /** What was built behind the log answers as the log itself does. */
    async function answersFromWhatWasBuilt(): Promise<void> {
      const before = await answers();
      expect(before).toMatchObject({ teacher: rare, nin: rare, nobody: [], newest: rare.slice(1).reverse() });
      const idsOf = (rows: number[]) => rows.map((n) => rowOf(n).verificationId);
      expect(before.leaked).toEqual(idsOf(leakedRows.toReversed()));
      expect(before.leakedEarly).toEqual(idsOf([4]));
      const first = rowOf(4).issuedAt * 1000;
      expect(before.uses).toEqual({ count: 4, firstAt: first, isAll: true });
      expect(before.usesLooked).toEqual({ count: 2, firstAt: first, isAll: false });
      // Two minutes before that time are looked at too, because clocks of nodes differ.
      expect(before.usesLate).toEqual({
        count: 3,
        firstAt: rowOf(segmentRows - 1).issuedAt * 1000,
        isAll: true,
      });
      expect(before.told).toEqual([
        { partnerId: "rare", times: 2, lastAt: rowOf(rareRows[2] as number).issuedAt * 1000 },
      ]);
      while (await maintenance().build());
      expect(await number("SELECT count(*) AS n FROM attestation_stretches")).toBe(2);
      // Nobody wants to know yet who verified whom.
      expect(await number("SELECT verified_through AS n FROM attestation_upkeep")).toBe(0);
      expect(await answers()).toEqual(before);
      expect(await maintenance().build()).toBe(false);
    }

    /** Only who verified a teacher is told of it, whether that is built upon yet or not. */
    async function tellsWhoVerified(): Promise<void> {
      const teachers = createTeacherStore(driver);
      const webhooks = createWebhookStore(driver);
      await teachers.apply([aTeacherWrite("V/1/B/1"), aTeacherWrite("V/1/B/2")]);
      const [early, late] = [
        await teachers.findStored({ by: "regNo", value: "V/1/B/1" }),
        await teachers.findStored({ by: "regNo", value: "V/1/B/2" }),
      ];
      if (early === null || late === null) throw new Error("not stored");
      for (const partnerId of ["early", "late", "never"]) {
        await createPartnerStore(driver).add(aPartner(partnerId), anApiKey(partnerId, `${partnerId}-key`));
        const secret = new Uint8Array([1]);
        const url = "https://hooks.example/";
        await webhooks.set({ partnerId, url, events: null, teachers: "verified", secret, at: 1 });
      }
      const verify = (n: number, partnerId: string, teacherId: number) =>
        attest(driver, [anAttestation(n, { partnerId, teacherId })]);
      await verify(20_000, "early", early.id);
      while (await maintenance().build());
      await verify(20_001, "late", late.id);
      const change = async (regNo: string, stored: { id: number; version: number }) => {
        const replaces = { id: stored.id, version: stored.version };
        expect(await teachers.apply([{ ...aTeacherWrite(regNo), replaces }])).toEqual([true]);
      };
      await change("V/1/B/1", early);
      await change("V/1/B/2", late);
      const told = async (partnerId: string) => {
        const sql = `SELECT DISTINCT teacher_id AS id FROM deliveries JOIN events ON events.id = event
          WHERE partner_id = ?`;
        return (await driver.query(sql, [partnerId])).map(({ id }) => Number(id));
      };
      expect(await told("early")).toEqual([early.id]);
      expect(await told("late")).toEqual([late.id]);
      expect([await maintenance().verifiedBy(early.id), await maintenance().verifiedBy(late.id)]).toEqual([
        ["agency", "early"],
        ["agency"],
      ]);
      while (await maintenance().build());
      expect(await maintenance().verifiedBy(late.id)).toEqual(["agency", "late"]);
      expect(await told("never")).toEqual([]);
    }

    /** The oldest are deleted in steps, it is remembered, and the rest still answers. */
    async function deletesTheOldest(): Promise<void> {
      const total = await number("SELECT count(*) AS n FROM attestations");
      const boundary = rowOf(segmentRows + 100).issuedAt * 1000;
      expect(await deleteOldest(driver, boundary, 1_500)).toBe(0);
      await putIntoLog(driver);
      const steps: number[] = [];
      for (let count = -1; count !== 0; steps.push(count))
        count = await deleteOldest(driver, boundary, 1_500);
      expect(steps).toEqual([1_500, 1_500, 1_196, 0]);
      expect(await maintenance().kept()).toEqual({
        from: boundary,
        pruned: segmentRows + 100,
        mark: "a mark",
      });
      expect(await number("SELECT count(*) AS n FROM attestations")).toBe(total - segmentRows - 100);
      expect(await number("SELECT count(*) AS n FROM attestation_stretches")).toBe(1);
      expect(await attestations().find(rowOf(segmentRows + 99).verificationId)).toBeNull();
      expect((await answers()).teacher).toEqual([rare[2] as string]);
      expect(await maintenance().verifiedBy(4)).toEqual(["agency"]);
      expect(await maintenance().verifiedBy(900_002)).toEqual([]);
      expect((await createStatusStore(driver).attestations([0])).total).toBe(total - segmentRows - 100);
      // An earlier boundary, after a clock was set back, takes nothing back of what was said.
      expect(await deleteOldest(driver, boundary - 5_000, 1_500)).toBe(0);
      expect((await maintenance().kept()).from).toBe(boundary);
    }

    /** The newest one is never deleted, because the numbers go on after it. */
    async function keepsTheNewest(): Promise<void> {
      while (await maintenance().build());
      const newest = await number("SELECT max(id) AS n FROM attestations");
      while ((await deleteOldest(driver, 4_000_000_000_000, 5_000)) > 0);
      expect(await number("SELECT min(id) AS n FROM attestations")).toBe(newest);
      await attest(driver, [anAttestation(30_000, { teacherId: 77 })]);
      expect(await number("SELECT max(id) AS n FROM attestations")).toBe(newest + 1);
      expect(await attestations().countOfTeacher(77)).toBe(1);
    }

    // One log lives through it all, so these are steps of one test.
    test("is built upon, tells who verified, and is shortened from its old end only", async () => {
      await answersFromWhatWasBuilt();
      await tellsWhoVerified();
      await deletesTheOldest();
      await keepsTheNewest();
    });
  });
}
