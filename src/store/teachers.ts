import { Buffer } from "node:buffer";
import type { TeacherStore, TeacherWrite } from "../domain/teacher-store.ts";
import type { StoredTeacher, Teacher, TeacherKey, UniqueKey } from "../domain/teachers.ts";
import type { CertificateStatus, EventType, LicenseStatus, Source } from "../partner/contract.ts";
import type { Driver, Row, Statement, Value } from "./driver/driver.ts";
import { bytes, bytesOrNull, flag, integer, integerOrNull, text, textOrNull } from "./driver/rows.ts";
import { insertEvent } from "./events.ts";
import { historyEntry, historyStatement } from "./teacher-history.ts";

// biome-ignore format: a table of names reads better in rows
/** The columns that a write sets, in the order of {@link contentValues}. */
export const contentColumns = [
  "reg_no", "t_id", "name", "nin_index", "nin_verified", "email_index", "phone_index", "state", "category",
  "source", "active", "certificate_status", "certificate_issue_date", "license_issue_date",
  "license_expiry_date", "license_revoked_on", "license_revoked_reason", "license_revoked_by", "photo_url",
  "profile", "announced_status", "updated_at",
] as const;

const columns = `id, version, ${contentColumns.join(", ")}`;

const keyColumns: Readonly<Record<TeacherKey["by"], string>> = {
  regNo: "reg_no",
  tId: "t_id",
  nin: "nin_index",
  email: "email_index",
  phone: "phone_index",
};

const insertTeacher = `INSERT INTO teachers (${contentColumns.join(", ")}, version)
  VALUES (${contentColumns.map(() => "?").join(", ")}, 1) ON CONFLICT DO NOTHING RETURNING id`;

const updateTeacher = `UPDATE OR IGNORE teachers SET ${contentColumns.map((column) => `${column} = ?`).join(", ")},
  version = version + 1 WHERE id = ? AND version = ? RETURNING id`;

/**
 * A teacher as one JSON text: each further column that comes out of the native driver costs as much as reading the
 * row did. The order is that of {@link PackedTeacher}.
 */
const packedTeacher = `json_array(teachers.id, reg_no, t_id, name, nin_verified, state, category, source, active,
  certificate_status, certificate_issue_date, license_issue_date, license_expiry_date, license_revoked_on,
  license_revoked_reason, photo_url, profile, announced_status)`;

/** Two rows are enough to see that a contact belongs to several teachers, and then it names none. */
const lookups = Object.fromEntries(
  Object.entries(keyColumns).map(([by, column]) => [
    by,
    `SELECT ${packedTeacher} AS teacher FROM teachers WHERE ${column} = ? LIMIT 2`,
  ]),
) as Readonly<Record<TeacherKey["by"], string>>;

const uniqueKinds = ["regNo", "tId", "nin"] as const;

/** Many look-ups in one: of `[place, value]` pairs, those that name a teacher, as `[place, teacher]`. */
function eachOf(by: UniqueKey["by"]): string {
  const value = by === "nin" ? "unhex(asked.value ->> 1)" : "asked.value ->> 1";
  return `SELECT json_group_array(json_array(asked.value ->> 0, ${packedTeacher})) AS teachers
    FROM json_each(?) AS asked CROSS JOIN teachers ON ${keyColumns[by]} = ${value}`;
}

const lookupsOfMany = { regNo: eachOf("regNo"), tId: eachOf("tId"), nin: eachOf("nin") };

/** What the calendar has changed by a day since partners were told: licences that ended, licences that began. */
const expiredBy = "announced_status = 'VALID' AND license_expiry_date < ?";
const startedBy = `announced_status = 'NOT_FOUND' AND active = 1 AND license_issue_date IS NOT NULL
  AND license_issue_date <= ? AND license_revoked_on IS NULL AND license_expiry_date IS NOT NULL`;

/** The register: reads of one teacher by a key, and changes with their history and events. */
export function createTeacherStore(driver: Driver): TeacherStore {
  async function findStored(key: TeacherKey): Promise<StoredTeacher | null> {
    // Two rows are enough to see that a contact belongs to several teachers, and then it names none.
    const sql = `SELECT ${columns} FROM teachers WHERE ${keyColumns[key.by]} = ? LIMIT 2`;
    const rows = await driver.query(sql, [key.value]);
    return rows.length === 1 && rows[0] !== undefined ? storedTeacher(rows[0]) : null;
  }

  async function findNow({ by, value }: TeacherKey): Promise<Teacher | null> {
    return onlyTeacher(await driver.query(lookups[by], [value]));
  }

  async function findEach(keys: readonly UniqueKey[]): Promise<(Teacher | null)[]> {
    const teachers = new Array<Teacher | null>(keys.length).fill(null);
    for (const by of uniqueKinds) {
      const asked = keys.flatMap((key, place) => (key.by === by ? [[place, inJson(key)]] : []));
      if (asked.length === 0) continue;
      const [row] = await driver.query(lookupsOfMany[by], [JSON.stringify(asked)]);
      if (row === undefined) throw new TypeError("an aggregate has a row");
      const found = JSON.parse(text(row, "teachers")) as [place: number, teacher: PackedTeacher][];
      for (const [place, teacher] of found) teachers[place] = unpacked(teacher);
    }
    return teachers;
  }

  const findSoon = gathered(findEach);

  return {
    find: (key) => (isUnique(key) ? findSoon(key) : findNow(key)),
    findEach,
    findStored,
    async findMany(regNos) {
      const sql = `SELECT ${columns} FROM teachers WHERE reg_no IN (SELECT value FROM json_each(?))`;
      return (await driver.query(sql, [JSON.stringify(regNos)])).map(storedTeacher);
    },
    async ownersOfTIds(tIds) {
      const sql = "SELECT t_id, reg_no FROM teachers WHERE t_id IN (SELECT value FROM json_each(?))";
      const rows = await driver.query(sql, [JSON.stringify(tIds)]);
      return rows.map((row) => ({ value: integer(row, "t_id"), regNo: text(row, "reg_no") }));
    },
    async ownersOfNins(ninIndexes) {
      const sql =
        "SELECT nin_index, reg_no FROM teachers WHERE nin_index IN (SELECT unhex(value) FROM json_each(?))";
      const hex = ninIndexes.map((index) => Buffer.from(index).toString("hex"));
      const rows = await driver.query(sql, [JSON.stringify(hex)]);
      return rows.map((row) => ({ value: bytes(row, "nin_index"), regNo: text(row, "reg_no") }));
    },
    async apply(writes) {
      const acts = writes.map(writeStatements);
      const rows = await driver.batch(acts.flat());
      let offset = 0;
      return acts.map((act) => {
        const applied = (rows[offset]?.length ?? 0) === 1;
        offset += act.length;
        return applied;
      });
    },
    async history(teacherId) {
      const rows = await driver.query("SELECT * FROM history WHERE teacher_id = ? ORDER BY id", [teacherId]);
      return rows.map(historyEntry);
    },
    async events(teacherId) {
      const rows = await driver.query("SELECT * FROM events WHERE teacher_id = ? ORDER BY id", [teacherId]);
      return rows.map((row) => ({
        eventId: text(row, "event_id"),
        eventType: text(row, "event_type") as EventType,
        occurredAt: integer(row, "occurred_at"),
        body: text(row, "body"),
      }));
    },
    async dueByCalendar(today, limit) {
      const expired = `SELECT ${columns} FROM teachers WHERE ${expiredBy} ORDER BY license_expiry_date LIMIT ?`;
      const started = `SELECT ${columns} FROM teachers WHERE ${startedBy} ORDER BY license_issue_date LIMIT ?`;
      const rows = [
        ...(await driver.query(expired, [today, limit])),
        ...(await driver.query(started, [today, limit])),
      ];
      return rows.slice(0, limit).map(storedTeacher);
    },
    async countDue(today) {
      const sql = `SELECT (SELECT count(*) FROM teachers WHERE ${expiredBy})
        + (SELECT count(*) FROM teachers WHERE ${startedBy}) AS n`;
      const [row] = await driver.query(sql, [today, today]);
      return row === undefined ? 0 : integer(row, "n");
    },
    async isEmpty() {
      return (await driver.query("SELECT 1 FROM teachers LIMIT 1")).length === 0;
    },
    async countHoldings(today) {
      const sql = `SELECT count(license_revoked_on) AS revocations,
        count(*) FILTER (WHERE certificate_status = 'VERIFIED') AS certificates,
        count(*) FILTER (WHERE active = 1 AND license_revoked_on IS NULL AND license_expiry_date >= ?
          AND (license_issue_date IS NULL OR license_issue_date <= ?)) AS licenses FROM teachers`;
      const [row = {}] = await driver.query(sql, [today, today]);
      return {
        validLicenses: integer(row, "licenses"),
        verifiedCertificates: integer(row, "certificates"),
        revocations: integer(row, "revocations"),
      };
    },
  };
}

function onlyTeacher(rows: readonly Row[]): Teacher | null {
  if (rows.length !== 1 || rows[0] === undefined) return null;
  return unpacked(JSON.parse(text(rows[0], "teacher")) as PackedTeacher);
}

function isUnique(key: TeacherKey): key is UniqueKey {
  return key.by !== "email" && key.by !== "phone";
}

/**
 * Look-ups that arrive in one turn of the event loop are read together: one costs three times what it does as one
 * of ten. Nobody waits for others to come, and each is told what the database said after it was asked.
 */
function gathered(
  findEach: (keys: readonly UniqueKey[]) => Promise<(Teacher | null)[]>,
): (key: UniqueKey) => Promise<Teacher | null> {
  type Asked = { key: UniqueKey; resolve(teacher: Teacher | null): void; reject(error: unknown): void };
  let waiting: Asked[] = [];

  async function read(): Promise<void> {
    const asked = waiting;
    waiting = [];
    try {
      const teachers = await findEach(asked.map(({ key }) => key));
      for (const [place, one] of asked.entries()) one.resolve(teachers[place] ?? null);
    } catch (error) {
      for (const one of asked) one.reject(error);
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(read);
      waiting.push({ key, resolve, reject });
    });
}

function inJson(key: UniqueKey): string | number {
  return key.by === "nin" ? Buffer.from(key.value).toString("hex") : key.value;
}

// biome-ignore format: a tuple reads better in rows
type PackedTeacher = [
  id: number, regNo: string, tId: number | null, name: string, ninVerified: number, state: string | null,
  category: string | null, source: Source, active: number, certificateStatus: CertificateStatus,
  certificateIssueDate: string | null, licenseIssueDate: string | null, licenseExpiryDate: string | null,
  licenseRevokedOn: string | null, licenseRevokedReason: string | null, photoUrl: string | null,
  profile: string | null, announcedStatus: LicenseStatus,
];

function unpacked(one: PackedTeacher): Teacher {
  return {
    id: one[0],
    regNo: one[1],
    tId: one[2],
    name: one[3],
    ninVerified: one[4] === 1,
    state: one[5],
    category: one[6],
    source: one[7],
    active: one[8] === 1,
    certificateStatus: one[9],
    certificateIssueDate: one[10],
    licenseIssueDate: one[11],
    licenseExpiryDate: one[12],
    licenseRevokedOn: one[13],
    licenseRevokedReason: one[14],
    photoUrl: one[15],
    profile: one[16] === null ? null : (JSON.parse(one[16]) as Teacher["profile"]),
    announcedStatus: one[17],
  };
}

function writeStatements(write: TeacherWrite): Statement[] {
  const { replaces, history, events, content } = write;
  const values = contentValues(write);
  const change: Statement =
    replaces === null
      ? { sql: insertTeacher, args: values }
      : { sql: updateTeacher, args: [...values, replaces.id, replaces.version] };
  const entry = history === null ? [] : [historyStatement(content.regNo, history)];
  return [change, ...entry, ...events.map((event) => insertEvent(content.regNo, event))];
}

export function contentValues({ content, announcedStatus, at }: TeacherWrite): Value[] {
  // biome-ignore format: the order of contentColumns
  return [
    content.regNo, content.tId, content.name, content.ninIndex, content.ninVerified, content.emailIndex,
    content.phoneIndex, content.state, content.category, content.source, content.active,
    content.certificateStatus, content.certificateIssueDate, content.licenseIssueDate,
    content.licenseExpiryDate, content.licenseRevokedOn, content.licenseRevokedReason, content.licenseRevokedBy,
    content.photoUrl, content.profile === null ? null : JSON.stringify(content.profile), announcedStatus, at,
  ];
}

/** A revocation of which nobody knows who made it is kept as the operator's. */
function revokedBy(row: Row): StoredTeacher["licenseRevokedBy"] {
  if (row.license_revoked_on === null) return null;
  return (textOrNull(row, "license_revoked_by") ?? "operator") as StoredTeacher["licenseRevokedBy"];
}

function storedTeacher(row: Row): StoredTeacher {
  const profile = textOrNull(row, "profile");
  return {
    id: integer(row, "id"),
    version: integer(row, "version"),
    regNo: text(row, "reg_no"),
    tId: integerOrNull(row, "t_id"),
    name: text(row, "name"),
    ninIndex: bytesOrNull(row, "nin_index"),
    ninVerified: flag(row, "nin_verified"),
    emailIndex: bytesOrNull(row, "email_index"),
    phoneIndex: bytesOrNull(row, "phone_index"),
    state: textOrNull(row, "state"),
    category: textOrNull(row, "category"),
    source: text(row, "source") as Source,
    active: flag(row, "active"),
    certificateStatus: text(row, "certificate_status") as CertificateStatus,
    certificateIssueDate: textOrNull(row, "certificate_issue_date"),
    licenseIssueDate: textOrNull(row, "license_issue_date"),
    licenseExpiryDate: textOrNull(row, "license_expiry_date"),
    licenseRevokedOn: textOrNull(row, "license_revoked_on"),
    licenseRevokedReason: textOrNull(row, "license_revoked_reason"),
    licenseRevokedBy: revokedBy(row),
    photoUrl: textOrNull(row, "photo_url"),
    profile: profile === null ? null : (JSON.parse(profile) as Teacher["profile"]),
    announcedStatus: text(row, "announced_status") as LicenseStatus,
    updatedAt: integer(row, "updated_at"),
  };
}
