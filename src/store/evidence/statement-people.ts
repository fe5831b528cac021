import type { StatementPerson } from "../../domain/attestations.ts";
import { formatRowsAsJson, type SqlStatement } from "../driver/driver.ts";

/** SQL for the table of the people in statements. A statement has one attestation, which names no single person. */

const insert = `INSERT INTO statement_people (attestation_id, place, teacher_id, nin_index, status, eligible)
  SELECT attestations.id, person.value ->> 0, person.value ->> 1, unhex(person.value ->> 2), person.value ->> 3,
    person.value ->> 4
  FROM attestations CROSS JOIN json_each(?) AS person WHERE attestations.verification_id = ?`;

/** SQL that records the statement's teachers as verified by the partner, which gets these teachers' events. */
const noteVerified = `INSERT OR IGNORE INTO verified_before (teacher_id, partner_id)
  SELECT person.teacher_id, attestations.partner_id
  FROM attestations CROSS JOIN statement_people AS person ON person.attestation_id = attestations.id
  WHERE attestations.verification_id = ? AND person.teacher_id IS NOT NULL ORDER BY person.teacher_id`;

/** Makes the SQL that stores a statement's people. The SQL does nothing if the attestation was not stored. */
export function insertPeopleSql(people: readonly StatementPerson[], statementId: string): SqlStatement[] {
  const rows = people.map((one) => [one.row, one.teacherId, one.ninIndex, one.status, one.eligible]);
  return [
    { sql: insert, args: [formatRowsAsJson(rows), statementId] },
    { sql: noteVerified, args: [statementId] },
  ];
}

/** SQL for the columns that come from a person of a statement. All other columns come from the attestation. */
const ofPerson: Readonly<Record<string, string>> = {
  teacher_id: "person.teacher_id",
  nin_index: "person.nin_index",
  status: "person.status",
  eligible: "person.eligible",
  reference: "'row ' || person.place || ' of ' || attestations.reference",
};

/** Makes the SQL that selects the attestations of a person (?1), in single answers and in statements. */
export function lookupsOfPersonSql(key: "teacher_id" | "nin_index", columns: readonly string[]): string {
  const selected = columns.map((column) => `${ofPerson[column] ?? `attestations.${column}`} AS ${column}`);
  return `SELECT id, ${columns.join(", ")} FROM attestations WHERE ${key} = ?1
    UNION ALL SELECT attestations.id, ${selected.join(", ")} FROM statement_people AS person
      CROSS JOIN attestations ON attestations.id = person.attestation_id WHERE person.${key} = ?1`;
}

/**
 * SQL that deletes the people of statements that retention has deleted. Its parameter limits the rows of one
 * transaction: a statement may name thousands of people, and the commits of calls wait for the transaction.
 */
export const prunePeopleSql = `DELETE FROM statement_people WHERE (attestation_id, place) IN
  (SELECT attestation_id, place FROM statement_people
    WHERE attestation_id < (SELECT min(id) FROM attestations) ORDER BY attestation_id, place LIMIT ?) RETURNING 1 AS gone`;
