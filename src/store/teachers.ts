import DataLoader from "dataloader";
import type { CalendarDate } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import type { TeacherEvent } from "../domain/events.ts";
import type { TeacherFilter, TeacherRow } from "../domain/teachers/list.ts";
import type { ProtectedCounts, TeacherWrite } from "../domain/teachers/store.ts";
import type { Teacher, TeacherKey, UniqueKey } from "../domain/teachers/teachers.ts";
import type { Driver, Row, SqlValue } from "./driver/driver.ts";
import { integer, rowReader, text, textOrNull } from "./driver/rows.ts";
import {
  byteColumns,
  formatKeyForJson,
  isNotHiddenSql,
  licenseBegunSql,
  licenseEndedSql,
  licenseStatusSql,
  sqlByKeyKind,
  storedTeacherJsonSql,
  teacherJsonSql,
  teacherRowJsonSql,
  unpackStoredTeacher,
} from "./teacher-columns.ts";
import { applyWrites, readHistoryEntry } from "./teacher-writes.ts";

/**
 * SQL condition: an import has finished, or the register was filled without an import. The condition stays true from
 * the first finished import on, because teachers and finished imports are never deleted.
 */
const isLoaded = `EXISTS (SELECT 1 FROM teachers)
  AND (EXISTS (SELECT 1 FROM imports WHERE finished_at IS NOT NULL
      AND inserted + updated + unchanged > 0)
    OR NOT EXISTS (SELECT 1 FROM imports))`;

/** Makes SQL that joins JSON texts into one array, without parsing them. Each row costs time in the native driver. */
const jsonArray = (item: string) => `'[' || coalesce(group_concat(${item}, ','), '') || ']'`;

/**
 * Makes SQL that looks up many keys in one query. The SQL reads pairs of index and value, and returns pairs of index
 * and teachers; two teachers mean that several share the contact.
 */
const lookups = (condition: string) =>
  sqlByKeyKind((column) => {
    const value = byteColumns.includes(column) ? "unhex(asked.value ->> 1)" : "asked.value ->> 1";
    const found = `SELECT ${teacherJsonSql} AS teacher FROM teachers WHERE ${column} = ${value} AND ${condition} LIMIT 2`;
    const pair = `'[' || (asked.value ->> 0) || ',' || (SELECT ${jsonArray("teacher")} FROM (${found})) || ']'`;
    return `SELECT (SELECT ${jsonArray(pair)} FROM json_each(?) AS asked) AS teachers, (${isLoaded}) AS is_loaded`;
  });
const lookupsOfShown = lookups(isNotHiddenSql);
const lookupsOfAny = lookups("true");
const selectStored = `SELECT ${storedTeacherJsonSql} AS teacher FROM teachers`;
const storedLookups = sqlByKeyKind((column) => `${selectStored} WHERE ${column} = ? LIMIT 2`);

export type TeacherReader = ReturnType<typeof createTeacherReader>;
export type TeacherListStore = ReturnType<typeof createTeacherList>;
export type TeacherStore = ReturnType<typeof createTeacherStore>;

/** Creates the store of teachers: lookups, lists, and changes with their history and events. */
export function createTeacherStore(driver: Driver) {
  return {
    ...createTeacherReader(driver),
    ...createTeacherList(driver),
    ...createImportTeacherReader(driver),
    ...createCalendarReads(driver),
    /** Finds the record with a key. @returns null if nobody has the key, or if several share the contact */
    async findStored(key: TeacherKey) {
      const [row, other] = await driver.query(storedLookups[key.by], [key.value]);
      return row === undefined || other !== undefined ? null : unpackStoredTeacher(row);
    },
    /**
     * Applies changes, with their history and events, in one commit.
     * @returns for each change whether it was applied: the record has not changed since it was read, and no other
     *   record has the registration number, teacher id or NIN
     */
    apply: (writes: readonly TeacherWrite[]) => driver.write((tx) => applyWrites(tx, writes)),
    async history(teacherId: number) {
      const rows = await driver.query("SELECT * FROM history WHERE teacher_id = ? ORDER BY id", [teacherId]);
      return rows.map(readHistoryEntry);
    },
    async events(teacherId: number) {
      const rows = await driver.query("SELECT * FROM events WHERE teacher_id = ? ORDER BY id", [teacherId]);
      return rows.map(teacherEvent);
    },
  };
}

const teacherEvent = rowReader<Pick<TeacherEvent, "eventId" | "eventType" | "occurredAt" | "body">>({
  ...{ eventId: text, eventType: text, occurredAt: integer },
  body: (row) => text(row, "content"),
});

function createTeacherReader(driver: Pick<Driver, "query">) {
  async function findAll(keys: readonly TeacherKey[]): Promise<(Teacher | TvsError | null)[]> {
    const { teachers, isEmpty } = await findMany(driver, keys, lookupsOfShown);
    return isEmpty ? teachers.map((found) => found ?? registerEmpty()) : teachers;
  }
  // The lookups of one turn of the event loop share a query; single queries would cost half more. Nothing is cached.
  const inTurns = { cache: false, batchScheduleFn: setImmediate };
  const inOneTurn = new DataLoader<TeacherKey, Teacher | null>(findAll, inTurns);
  const find = (key: TeacherKey) => inOneTurn.load(key);

  return {
    /**
     * Finds a key's teacher. @returns null if nobody has the key, the teacher is hidden, or several share the contact
     * @throws TvsError REGISTER_EMPTY if no teacher is found and no import has finished
     */
    find,
    /** Finds a teacher for each key. @returns the teachers in the order of `keys` @throws as `find` */
    findEach: (keys: readonly UniqueKey[]) => Promise.all(keys.map(find)),
  };
}

const registerEmpty = () =>
  new TvsError("REGISTER_EMPTY", "the register is empty: no extract was applied to it yet");

/**
 * Finds teachers by many keys, with one query for each kind of key. @returns `teachers` in the order of `keys`, null
 * where nobody has the key; `isEmpty` if no import has finished: null then does not mean "not found"
 */
async function findMany(
  driver: Pick<Driver, "query">,
  keys: readonly TeacherKey[],
  sqlOf: typeof lookupsOfShown,
): Promise<{ teachers: (Teacher | null)[]; isEmpty: boolean }> {
  const teachers = new Array<Teacher | null>(keys.length).fill(null);
  let isEmpty = false;
  // All queries begin in the same turn of the event loop, so that they share one request to a libSQL server.
  const answers = [...new Set(keys.map(({ by }) => by))].map(async (by) => {
    const asked = keys.flatMap((key, index) => (key.by === by ? [[index, formatKeyForJson(key)]] : []));
    const [row = {}] = await driver.query(sqlOf[by], [JSON.stringify(asked)]);
    isEmpty ||= integer(row, "is_loaded") === 0;
    const pairs = JSON.parse(text(row, "teachers")) as [index: number, found: Teacher[]][];
    // Without this check, a missing or unexpected value would count as nobody, and the service would sign "not found".
    if (pairs.length !== asked.length || !pairs.every(([, found]) => Array.isArray(found)))
      throw new TvsError("STORE_CORRUPT", "a lookup of teachers returned no list for a key");
    for (const [index, found] of pairs) teachers[index] = found.length === 1 ? (found[0] ?? null) : null;
  });
  await Promise.all(answers);
  return { teachers, isEmpty };
}

const readHoldings = rowReader<ProtectedCounts>({
  ...{ validLicenses: integer, verifiedCertificates: integer, revocations: integer },
});

export function createImportTeacherReader(driver: Pick<Driver, "query">) {
  return {
    /** Finds the teachers who have these identifiers, hidden teachers included. */
    findOwners: async (keys: readonly UniqueKey[]) => (await findMany(driver, keys, lookupsOfAny)).teachers,
    async findMany(regNos: readonly string[]) {
      const sql = `${selectStored} WHERE reg_no IN (SELECT value FROM json_each(?))`;
      return (await driver.query(sql, [JSON.stringify(regNos)])).map(unpackStoredTeacher);
    },
    /** Returns true if an import has finished. Before that, no lookup may answer "not found". */
    async isLoaded() {
      const [row = {}] = await driver.query(`SELECT ${isLoaded} AS is_loaded`);
      return integer(row, "is_loaded") === 1;
    },
    async countHoldings(today: string) {
      const sql = `SELECT count(license_revoked_on) AS revocations,
        count(*) FILTER (WHERE certificate_status = 'VERIFIED' AND ${isNotHiddenSql}) AS verified_certificates,
        count(*) FILTER (WHERE ${licenseStatusSql("?1")} = 'VALID') AS valid_licenses FROM teachers`;
      const [row = {}] = await driver.query(sql, [today]);
      return readHoldings(row);
    },
  };
}

/** Creates the reads of teachers whose licence has begun or ended by the calendar, without an event yet. */
function createCalendarReads(driver: Driver) {
  return {
    /** Finds at most `limit` teachers whose licence has begun or ended without an event, the oldest change first. */
    async dueByCalendar(today: string, limit: number) {
      const ended = `${selectStored} WHERE ${licenseEndedSql} ORDER BY license_expiry_date LIMIT ?`;
      const begun = `${selectStored} WHERE ${licenseBegunSql} ORDER BY license_issue_date LIMIT ?`;
      const rows = await Promise.all([ended, begun].map((sql) => driver.query(sql, [today, limit])));
      return rows.flat().slice(0, limit).map(unpackStoredTeacher);
    },
    /** Counts the teachers whose licence has begun or ended without an event. */
    async countDue(today: string) {
      const sql = `SELECT (SELECT count(*) FROM teachers WHERE ${licenseEndedSql})
        + (SELECT count(*) FROM teachers WHERE ${licenseBegunSql}) AS n`;
      const [row = {}] = await driver.query(sql, [today, today]);
      return integer(row, "n");
    },
  };
}

/** SQL condition of a list's filter. A parameter that is NULL lets every teacher pass. */
const passesFilter = `(?4 IS NULL OR ${licenseStatusSql("?5")} = ?4) AND (?6 IS NULL OR certificate_status = ?6)
  AND (?7 IS NULL OR license_expiry_date < ?7) AND (?8 IS NULL OR updated_at >= ?8)
  AND (?9 IS NULL OR state = ?9 COLLATE NOCASE)`;

const selectRows = `SELECT ${teacherRowJsonSql} AS teacher, teachers.reg_no FROM teachers`;

const holders = sqlByKeyKind((column) => `${selectRows} WHERE ${column} = ? ORDER BY reg_no LIMIT ?`);

/** SQL for a piece of a list. The next teachers after a registration number are found in the index alone. */
const selectPiece = `WITH piece AS MATERIALIZED (
    SELECT id, reg_no FROM teachers WHERE reg_no > ?1 ORDER BY reg_no LIMIT ?2),
  found AS MATERIALIZED (SELECT ${teacherRowJsonSql} AS teacher, piece.reg_no FROM piece CROSS JOIN teachers USING (id)
    WHERE ${passesFilter} ORDER BY piece.reg_no LIMIT ?3)
  SELECT ${jsonArray("teacher")} AS teachers, count(*) AS found, max(reg_no) AS last_found,
    (SELECT count(*) FROM piece) AS looked, (SELECT max(reg_no) FROM piece) AS last_looked FROM found`;

/** Creates the lists of teachers, in the order of their registration numbers. */
function createTeacherList(driver: Pick<Driver, "query">) {
  async function rowsOf(sql: string, args: readonly SqlValue[]): Promise<TeacherRow[]> {
    const [row = {}] = await driver.query(`SELECT ${jsonArray("teacher")} AS teachers FROM (${sql})`, args);
    return teacherRows(row);
  }

  return {
    /** Reads at most `look` teachers after a registration number. @returns at most `limit` of them that pass the filter */
    async piece(
      filter: TeacherFilter & { readonly today: CalendarDate },
      { after, limit, look }: { after: string; limit: number; look: number },
    ) {
      const { today, license = null, certificate = null, expiresBefore = null } = filter;
      const { changedSince = null, state = null } = filter;
      const wanted = [license, today, certificate, expiresBefore, changedSince, state];
      const [row = {}] = await driver.query(selectPiece, [after, look, limit, ...wanted]);
      const isFull = integer(row, "found") === limit;
      const isEnd = !isFull && integer(row, "looked") < look;
      return {
        teachers: teacherRows(row),
        next: isEnd ? null : textOrNull(row, isFull ? "last_found" : "last_looked"),
      };
    },
    async names(after: string, limit: number) {
      const sql = `SELECT coalesce(json_group_array(json_array(reg_no, name)), '[]') AS names
        FROM (SELECT reg_no, name FROM teachers WHERE reg_no > ? ORDER BY reg_no LIMIT ?)`;
      const [row = {}] = await driver.query(sql, [after, limit]);
      const pairs = JSON.parse(text(row, "names")) as [regNo: string, name: string][];
      return pairs.map(([regNo, name]) => ({ regNo, name }));
    },
    /** Finds all teachers with a key, in the order of registration numbers. Several may share a contact. */
    holders: ({ by, value }: TeacherKey, limit: number) => rowsOf(holders[by], [value, limit]),
    rows: (regNos: readonly string[]) =>
      rowsOf(`${selectRows} WHERE reg_no IN (SELECT value FROM json_each(?)) ORDER BY reg_no`, [
        JSON.stringify(regNos),
      ]),
    async count() {
      const [row = {}] = await driver.query("SELECT count(*) AS n FROM teachers");
      return integer(row, "n");
    },
  };
}

function teacherRows(row: Row): TeacherRow[] {
  return JSON.parse(text(row, "teachers")) as TeacherRow[];
}
