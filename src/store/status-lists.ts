import { listIndexes, teacherIdsAfterName } from "../domain/status-list/lists.ts";
import { type Driver, type Statement, statement } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** Every change of a bit adds a row to the history: of the licence, the registration or the certificate. */
const change = "SELECT coalesce(max(id), 0) AS change FROM history";

/** Times are taken before their commits, so the newest rows are almost in the order of their times. */
const changedAt = "SELECT max(at) FROM (SELECT at FROM history ORDER BY id DESC LIMIT 10000)";

/**
 * Each part reads a partial index of its own. A licence that ended before its own end date is withdrawn until it is VALID
 * again. The end date itself, which the sweep records, is in the envelope.
 */
const withdrawn = `SELECT id FROM teachers INDEXED BY teachers_withdrawn
    WHERE active = 0 OR license_revoked_on IS NOT NULL OR hidden = 1
  UNION ALL
  SELECT teacher_id FROM history INDEXED BY history_of_annulled CROSS JOIN teachers ON teachers.id = teacher_id
    WHERE certificate_from = 'VERIFIED' AND certificate_to <> 'VERIFIED' AND certificate_status <> 'VERIFIED'
  UNION ALL
  SELECT teacher_id FROM history AS ended INDEXED BY history_of_ended
    WHERE license_from = 'VALID' AND license_to <> 'VALID' AND action <> 'sweep' AND NOT EXISTS (SELECT 1
      FROM history AS later WHERE later.teacher_id = ended.teacher_id AND later.id > ended.id AND later.license_to = 'VALID')`;

/** Ids are consecutive within a list (decision D15.4), so few reads find all lists. */
export const teacherLists = `firsts (id) AS (SELECT min(id) FROM teachers UNION ALL SELECT
      (SELECT min(id) FROM teachers WHERE id > ((firsts.id - 1) / ${listIndexes} + 1) * ${listIndexes})
    FROM firsts WHERE firsts.id IS NOT NULL),
  lists (list, first, last) AS (SELECT (firsts.id - 1) / ${listIndexes}, firsts.id,
      (SELECT max(id) FROM teachers WHERE id <= ((firsts.id - 1) / ${listIndexes} + 1) * ${listIndexes})
    FROM firsts WHERE firsts.id IS NOT NULL)`;

const read = `SELECT (${change}) AS change, coalesce((${changedAt}), 0) AS changed_at,
  (WITH RECURSIVE ${teacherLists} SELECT json_group_array(json_array(list, last)) FROM lists) AS lists,
  (SELECT json_group_array(id) FROM (${withdrawn})) AS withdrawn`;

/** The highest id that a teacher can have had, also in a database that was restored over. */
const highestId = `max(coalesce((SELECT max(id) FROM teachers), 0),
  coalesce((SELECT CAST(value AS INTEGER) FROM settings WHERE name = '${teacherIdsAfterName}'), 0))`;
export const nextTeacherId = `${highestId} + 1`;

/**
 * Gives new teachers ids in a new list from now on, because lost teachers may have had the next ids (decision D15.4). The
 * list's number is the current second, since no register assigns a million ids in each second.
 * @param at in milliseconds since the epoch
 */
export function moveTeacherIds(at: number): Statement {
  return statement(moveIds, [Math.floor(at / 1000)]);
}

const moveIds = `INSERT INTO settings (name, value)
  VALUES ('${teacherIdsAfterName}', max(?, (${highestId} + ${listIndexes - 1}) / ${listIndexes}) * ${listIndexes})
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export type StatusListStore = ReturnType<typeof createStatusListStore>;

/** The data of the signed status lists (decision D15.3). */
export function createStatusListStore(driver: Driver) {
  return {
    /** The newest change. It is never cached, so that an answer includes each earlier commit. */
    async change() {
      const [row = {}] = await driver.query(change);
      return integer(row, "change");
    },
    async read() {
      const [row = {}] = await driver.query(read);
      return {
        change: integer(row, "change"),
        changedAt: integer(row, "changed_at"),
        lists: JSON.parse(text(row, "lists")) as [number, number][],
        withdrawn: JSON.parse(text(row, "withdrawn")) as number[],
      };
    },
  };
}
