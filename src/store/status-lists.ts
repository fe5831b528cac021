import type { StatusListStore } from "../domain/status-list/lists.ts";
import { statusErasName } from "../domain/status-list/places.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/**
 * Every change of a bit leaves a row in the teachers' history: one of the licence, whose status moves by a revocation and
 * its end; one of the registration; one of the certificate. Whoever is deactivated or hidden
 * keeps the bit whatever is revoked.
 */
const change = "SELECT coalesce(max(id), 0) AS change FROM history";

/** Times are taken before their commits, so the newest rows stand in almost the order of their times. */
const changedAt = "SELECT max(at) FROM (SELECT at FROM history ORDER BY id DESC LIMIT 10000)";

/**
 * Each part has an index of its own, of nobody but those whom it names, whatever the register's size. A licence that an
 * import ended, or that was revoked or deactivated meanwhile, is withdrawn until it has been VALID again: of its own end,
 * which the sweep writes, its envelopes have the date.
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

const read = `SELECT (${change}) AS change, coalesce((${changedAt}), 0) AS changed_at,
  (SELECT coalesce(max(id), 0) FROM teachers) AS newest_id,
  (SELECT json_group_array(id) FROM (${withdrawn})) AS withdrawn`;

/** Whom a register has. */
const known = "SELECT max(id) FROM teachers";

/**
 * Whom it had when the newest checkpoint that it has was signed. Who came later may have come after the loss, and have the
 * number of somebody who was lost.
 */
export const knownWhenSigned = `SELECT teacher_id FROM history
  WHERE at <= (SELECT max(signed_at) FROM log_checkpoints) ORDER BY teacher_id DESC LIMIT 1`;
const lastAbove = `SELECT value -> '$[#-1]' ->> 1 FROM settings WHERE name = '${statusErasName}'`;

/**
 * The rows that a register has lost are given again, to others: whoever comes from now on has a place elsewhere (decision
 * D15.4). Its arguments are the number of the log's epoch that follows the loss, what the condition asks for, and the time.
 * @param above the newest row that nobody had before who was lost; never one below the last era
 */
export function beginStatusEra(condition: string, above = known): string {
  return `INSERT INTO settings (name, value)
    SELECT '${statusErasName}',
      json_array(json_array(?1, max(coalesce((${above}), 0), coalesce((${lastAbove}), 0)), ?3))
    WHERE ?1 > 1 AND ${condition}
    ON CONFLICT (name) DO UPDATE SET value = json_insert(value, '$[#]', excluded.value -> 0)
    WHERE NOT EXISTS (SELECT 1 FROM json_each(settings.value) AS era WHERE era.value ->> 0 >= ?1)`;
}

/** What the signed status lists are made of (decision D15.3). */
export function createStatusListStore(driver: Driver): StatusListStore {
  return {
    // What was committed before somebody asked is in the list that is answered.
    async change() {
      driver.renew();
      const [row = {}] = await driver.query(change);
      return integer(row, "change");
    },
    async read() {
      driver.renew();
      const [row = {}] = await driver.query(read);
      return {
        change: integer(row, "change"),
        changedAt: integer(row, "changed_at"),
        newestId: integer(row, "newest_id"),
        withdrawn: JSON.parse(text(row, "withdrawn")) as number[],
      };
    },
  };
}
