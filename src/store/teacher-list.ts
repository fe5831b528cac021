import type { CalendarDate } from "../domain/clock.ts";
import type { TeacherFilter, TeacherListStore, TeacherRow } from "../domain/teachers/list.ts";
import type { Driver, Row, Value } from "./driver/driver.ts";
import { integer, text, textOrNull } from "./driver/rows.ts";
import { byKey, licenseStatusOn, packedRow } from "./teacher-columns.ts";

/** The next teachers behind a number, by the index alone. */
const pieceOf = `WITH piece AS MATERIALIZED (
  SELECT id, reg_no FROM teachers WHERE reg_no > ?1 ORDER BY reg_no LIMIT ?2)`;

/**
 * Many records as one text: each row that comes out of the native driver costs as much as to read it did. They come in
 * the order of the query that they are taken from: a libSQL server knows no ORDER BY of an aggregate's own.
 */
const together = `coalesce('[' || group_concat(teacher, ',') || ']', '[]') AS teachers`;

const selectRows = `SELECT ${packedRow} AS teacher, teachers.reg_no FROM teachers`;

const holders = byKey((column) => `${selectRows} WHERE ${column} = ? ORDER BY reg_no LIMIT ?`);

/** Teachers in the order of their registration numbers, over whatever answers queries. */
export function createTeacherList(driver: Pick<Driver, "query">): TeacherListStore {
  async function rowsOf(sql: string, args: readonly Value[]): Promise<TeacherRow[]> {
    const [row] = await driver.query(`SELECT ${together} FROM (${sql})`, args);
    return row === undefined ? [] : teacherRows(row);
  }

  return {
    async piece(filter, { after, limit, look }) {
      const args: Value[] = [after, look, limit];
      const where = conditionsOf(filter, (value) => `?${args.push(value)}`);
      const sql = `${pieceOf},
        found AS MATERIALIZED (SELECT ${packedRow} AS teacher, piece.reg_no FROM piece CROSS JOIN teachers USING (id)
          ${where} ORDER BY piece.reg_no LIMIT ?3)
        SELECT ${together}, count(*) AS found, max(reg_no) AS last_found,
          (SELECT count(*) FROM piece) AS looked, (SELECT max(reg_no) FROM piece) AS last_looked FROM found`;
      const [row = {}] = await driver.query(sql, args);
      const isFull = integer(row, "found") === limit;
      const isEnd = !isFull && integer(row, "looked") < look;
      return {
        teachers: teacherRows(row),
        next: isEnd ? null : textOrNull(row, isFull ? "last_found" : "last_looked"),
      };
    },
    async names(after, limit) {
      const sql = `SELECT coalesce(json_group_array(json_array(reg_no, name)), '[]') AS names
        FROM (SELECT reg_no, name FROM teachers WHERE reg_no > ? ORDER BY reg_no LIMIT ?)`;
      const [row = {}] = await driver.query(sql, [after, limit]);
      const pairs = JSON.parse(text(row, "names")) as [regNo: string, name: string][];
      return pairs.map(([regNo, name]) => ({ regNo, name }));
    },
    holders: ({ by, value }, limit) => rowsOf(holders[by], [value, limit]),
    rows: (regNos) =>
      rowsOf(`${selectRows} WHERE reg_no IN (SELECT value FROM json_each(?)) ORDER BY reg_no`, [
        JSON.stringify(regNos),
      ]),
    async count() {
      const [row = {}] = await driver.query("SELECT count(*) AS n FROM teachers");
      return integer(row, "n");
    },
  };
}

/** @param bind gives the parameter that holds a value */
function conditionsOf(
  filter: TeacherFilter & { readonly today: CalendarDate },
  bind: (value: Value) => `?${number}`,
): string {
  const { license, certificate, expiresBefore, changedSince, state } = filter;
  const conditions = [
    ...(license === undefined ? [] : [`${licenseStatusOn(bind(filter.today))} = ${bind(license)}`]),
    ...(certificate === undefined ? [] : [`certificate_status = ${bind(certificate)}`]),
    ...(expiresBefore === undefined ? [] : [`license_expiry_date < ${bind(expiresBefore)}`]),
    ...(changedSince === undefined ? [] : [`updated_at >= ${bind(changedSince)}`]),
    ...(state === undefined ? [] : [`state = ${bind(state)} COLLATE NOCASE`]),
  ];
  return conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
}

function teacherRows(row: Row): TeacherRow[] {
  return JSON.parse(text(row, "teachers")) as TeacherRow[];
}
