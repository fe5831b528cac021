import { beforeAll, expect, test } from "bun:test";
import { isAnnouncementDue } from "../../src/domain/sweep.ts";
import type { TeacherWrite } from "../../src/domain/teachers/store.ts";
import type { StoredTeacher, TeacherContent } from "../../src/domain/teachers/teachers.ts";
import { contentFields, licenseStatusOn, teacherFields } from "../../src/domain/teachers/teachers.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createImportStore } from "../../src/store/imports.ts";
import { createRegisterFigures } from "../../src/store/register-figures.ts";
import * as columns from "../../src/store/teacher-columns.ts";
import type { TeacherStore } from "../../src/store/teachers.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { sharedFolder } from "../harness/folder.ts";
import { beginImport, commitChunk } from "../harness/imports.ts";
import { seededNumbers } from "../harness/random.ts";
import { aTeacherWrite } from "../harness/samples.ts";

/** Makes a record in which no two fields of one type have the same value, so that swapped fields are noticed. */
function distinct(regNo: string, n: number): TeacherContent {
  return {
    regNo,
    tId: 1000 + n,
    name: `name ${n}`,
    ninIndex: new Uint8Array(16).fill(n),
    ninVerified: n % 2 === 0,
    emailIndex: new Uint8Array(16).fill(n + 1),
    phoneIndex: new Uint8Array(16).fill(n + 2),
    state: `state ${n}`,
    category: `category ${n}`,
    source: "legacy",
    active: n % 2 === 1,
    hidden: n % 3 === 1,
    certificateStatus: "CLAIMED",
    certificateIssueDate: `2001-01-0${n}`,
    licenseIssueDate: `2002-02-0${n}`,
    licenseExpiryDate: `2003-03-0${n}`,
    licenseRevokedOn: `2004-04-0${n}`,
    licenseRevokedReason: `reason ${n}`,
    licenseRevokedBy: "extract",
    photoUrl: `https://photos.example.org/${n}.jpg`,
    profile: { qualifications: [{ title: `title ${n}`, institution: null, year: 2000 + n }], employment: [] },
  };
}

/** Makes a record whose optional fields are all null. */
function bare(regNo: string): TeacherContent {
  const content: Record<string, unknown> = { ...distinct(regNo, 1), ninVerified: false };
  for (const field of contentFields) if (teacherFields[field].nullable) content[field] = null;
  return content as TeacherContent;
}

const writeOf = (content: TeacherContent) => ({
  ...aTeacherWrite(content.regNo, content),
  announcedStatus: "EXPIRED" as const,
  at: 1_800_000_000_123,
});

function lookedUp(stored: StoredTeacher): Record<string, unknown> {
  const fields = Object.entries(stored).filter(([field]) => teacherFields[field as "id"].inLookups);
  return Object.fromEntries(fields);
}

describeDrivers("a teacher's columns", (_kind, database) => {
  let driver: Driver;
  let teachers: TeacherStore;
  const folder = sharedFolder();

  beforeAll(async () => {
    driver = database.driver();
    ({ teachers } = database.stores());
  });

  async function expectEverywhere(content: TeacherContent, version: number): Promise<StoredTeacher> {
    const stored = await teachers.findStored({ by: "regNo", value: content.regNo });
    if (stored === null) throw new TypeError("the record was not written");
    const { id } = stored;
    const own = { id, version, announcedStatus: "EXPIRED" as const, updatedAt: 1_800_000_000_123 };
    expect(stored).toEqual({ ...content, ...own });
    expect(await teachers.findMany([content.regNo])).toEqual([stored]);
    const row = { ...lookedUp(stored), updatedAt: stored.updatedAt } as never;
    expect(await teachers.rows([content.regNo])).toEqual([row]);
    // Lookups do not find a hidden teacher; findOwners does.
    const found = lookedUp(stored) as never;
    const shown = content.hidden ? (null as never) : found;
    const key = { by: "regNo", value: content.regNo } as const;
    expect(await teachers.find(key)).toEqual(shown);
    const two = [{ by: "tId", value: 1 } as const, key];
    expect(await teachers.findEach(two)).toEqual([null, shown]);
    expect(await teachers.findOwners(two)).toEqual([null, found]);
    for (const by of ["email", "phone", "nin"] as const) {
      const value = content[`${by}Index`];
      if (value !== null) expect(await teachers.find({ by, value })).toEqual(shown);
    }
    return stored;
  }

  test("each field of a teacher's record is stored, and every reader reads it", async () => {
    const writes = [writeOf(distinct("C/1/1/1", 1)), writeOf(bare("C/1/1/2"))];
    expect(await teachers.apply(writes)).toEqual([true, true]);
    const { id } = await expectEverywhere(distinct("C/1/1/1", 1), 1);
    await expectEverywhere(bare("C/1/1/2"), 1);
    await teachers.apply([{ ...writeOf(distinct("C/1/1/1", 4)), replaces: { id, version: 1 } }]);
    await expectEverywhere(distinct("C/1/1/1", 4), 2);
  });

  test("an import stores the same record, whether it writes all fields or changes them one by one", async () => {
    const imports = createImportStore(driver, folder);
    const first = await beginImport(imports);
    const applied = { ...first, applied: 1, inserted: 1 };
    await commitChunk(imports, first, [{ ...writeOf(bare("C/2/1/0")), changed: null }], applied);
    const nothing = { rows: 1, rejected: 0, warnings: 0, codes: [], fields: [], rejections: [] };
    await imports.finish(applied, { ...nothing, at: 1 });
    let run = await beginImport(imports);
    const commit = async (write: TeacherWrite) => {
      const next = { ...run, applied: run.applied + 1 };
      await commitChunk(imports, run, [write], next);
      run = next;
    };
    let content = distinct("C/2/1/1", 5);
    await commit({ ...writeOf(content), changed: null });
    const { id } = await expectEverywhere(content, 1);
    const after = distinct("C/2/1/1", 8);
    let version = 1;
    for (const field of contentFields) {
      if (field === "regNo") continue;
      content = { ...content, [field]: after[field] };
      await commit({ ...writeOf(content), replaces: { id, version }, changed: [field] });
      version++;
      await expectEverywhere(content, version);
    }
    expect(content).toEqual(after);
  });

  test("the SQL rules about licences agree with the domain's on every date", async () => {
    const pick = seededNumbers(7);
    const dates = ["2026-03-09", "2026-03-10", "2026-03-11"] as const;
    const date = () => (pick(4) === 0 ? null : (dates[pick(3)] ?? null));
    const statuses = ["VALID", "EXPIRED", "NOT_FOUND", "REVOKED"] as const;
    const writes = Array.from({ length: 400 }, (_, n) => ({
      ...aTeacherWrite(`D/1/1/${n}`, {
        active: pick(4) !== 0,
        hidden: pick(4) === 0,
        licenseIssueDate: date(),
        licenseExpiryDate: date(),
        licenseRevokedOn: pick(3) === 0 ? date() : null,
        certificateStatus: pick(2) === 0 ? "VERIFIED" : "CLAIMED",
      }),
      announcedStatus: statuses[pick(4)] ?? "VALID",
    }));
    await teachers.apply(writes);
    const stored = await driver.query("SELECT reg_no FROM teachers");
    const all = await teachers.findMany(stored.map((row) => String(row.reg_no)));
    for (const today of dates) {
      const sql = `SELECT reg_no, ${columns.licenseStatusSql("?1")} AS status FROM teachers`;
      const found = new Map((await driver.query(sql, [today])).map((row) => [row.reg_no, row.status]));
      for (const teacher of all) expect(found.get(teacher.regNo)).toBe(licenseStatusOn(teacher, today));
      const due = all.filter((teacher) => isAnnouncementDue(teacher, today)).map(({ regNo }) => regNo);
      const listed = (await teachers.dueByCalendar(today, 1000)).map(({ regNo }) => regNo);
      expect(listed.sort()).toEqual(due.sort());
      expect(await teachers.countDue(today)).toBe(due.length);
      const count = (is: (teacher: StoredTeacher) => boolean) => all.filter(is).length;
      expect(await teachers.countHoldings(today)).toEqual({
        validLicenses: count((teacher) => licenseStatusOn(teacher, today) === "VALID"),
        verifiedCertificates: count(
          ({ certificateStatus, hidden }) => certificateStatus === "VERIFIED" && !hidden,
        ),
        revocations: count(({ licenseRevokedOn }) => licenseRevokedOn !== null),
      });
      const byStatus = await createRegisterFigures(driver).licenses(today, 1);
      for (const status of statuses)
        expect(byStatus[status]).toBe(count((teacher) => licenseStatusOn(teacher, today) === status));
      expect(byStatus.inactive).toBe(count(({ active, hidden }) => !active || hidden));
    }
  });
});
