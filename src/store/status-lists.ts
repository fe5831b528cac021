import { indexesPerList, teacherIdsAfterSettingName } from "../domain/status-list/lists.ts";
import { bind, type Driver, type SqlStatement } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** SQL for the id of the newest change. A change of licence, registration or certificate adds a row to the history. */
const change = "SELECT coalesce(max(id), 0) AS change FROM history";

/** SQL for the latest time of a change. Times are almost in the order of ids, so the newest rows are enough. */
const changedAt = "SELECT max(at) FROM (SELECT at FROM history ORDER BY id DESC LIMIT 10000)";

/**
 * SQL for the ids of teachers whose bit is 1; each part uses an index of its own. A licence that was ended before its
 * expiry date counts until it is VALID again. An expiry, which the sweep records, does not count: the envelope has it.
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

/** SQL for each status list's first and last id. Few reads find them: a list's ids are consecutive (D15.4). */
export const statusListsSql = `firsts (id) AS (SELECT min(id) FROM teachers UNION ALL SELECT
      (SELECT min(id) FROM teachers WHERE id > ((firsts.id - 1) / ${indexesPerList} + 1) * ${indexesPerList})
    FROM firsts WHERE firsts.id IS NOT NULL),
  lists (list, first, last) AS (SELECT (firsts.id - 1) / ${indexesPerList}, firsts.id,
      (SELECT max(id) FROM teachers WHERE id <= ((firsts.id - 1) / ${indexesPerList} + 1) * ${indexesPerList})
    FROM firsts WHERE firsts.id IS NOT NULL)`;

const read = `SELECT (${change}) AS change, coalesce((${changedAt}), 0) AS changed_at,
  (WITH RECURSIVE ${statusListsSql} SELECT json_group_array(json_array(list, last)) FROM lists) AS lists,
  (SELECT json_group_array(id) FROM (${withdrawn})) AS withdrawn`;

/** SQL for the highest id that a teacher can have had, including teachers whom a restore has lost. */
const highestId = `max(coalesce((SELECT max(id) FROM teachers), 0),
  coalesce((SELECT CAST(value AS INTEGER) FROM settings WHERE name = '${teacherIdsAfterSettingName}'), 0))`;
export const nextTeacherIdSql = `${highestId} + 1`;

/**
 * Makes the statement after which new teachers get ids in a new list, because teachers whom a restore lost may have had
 * the next ids (decision D15.4). The list's number is the current Unix second: no register adds a million teachers each
 * second. @param at milliseconds since the epoch
 */
export function skipTeacherIds(at: number): SqlStatement {
  return bind(moveIds, [Math.floor(at / 1000)]);
}

const moveIds = `INSERT INTO settings (name, value)
  VALUES ('${teacherIdsAfterSettingName}', max(?, (${highestId} + ${indexesPerList - 1}) / ${indexesPerList}) * ${indexesPerList})
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export type StatusListStore = ReturnType<typeof createStatusListStore>;

/** Creates the store that reads the data of the signed status lists (decision D15.3). */
export function createStatusListStore(driver: Driver) {
  return {
    /** Reads the id of the newest change. It is never cached, so a status list includes all earlier commits. */
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
