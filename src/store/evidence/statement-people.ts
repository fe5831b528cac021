import type { StatedPerson } from "../../domain/attestations.ts";
import { rowsInJson, type Statement } from "../driver/driver.ts";

/** Whom statements speak of: beside the attestations, because a statement's own row there names nobody. */

const insert = `INSERT INTO statement_people (attestation_id, place, teacher_id, nin_index, status, eligible)
  SELECT attestations.id, person.value ->> 0, person.value ->> 1, unhex(person.value ->> 2), person.value ->> 3,
    person.value ->> 4
  FROM attestations CROSS JOIN json_each(?) AS person WHERE attestations.verification_id = ?`;

/** Events go by who ever verified a teacher, and find it here as they do of attestations that were deleted. */
const noteVerified = `INSERT OR IGNORE INTO verified_before (teacher_id, partner_id)
  SELECT told.teacher_id, attestations.partner_id
  FROM attestations CROSS JOIN statement_people AS told ON told.attestation_id = attestations.id
  WHERE attestations.verification_id = ? AND told.teacher_id IS NOT NULL ORDER BY told.teacher_id`;

/** Keeps whom a statement speaks of, if that is stored. */
export function peopleStatements(people: readonly StatedPerson[], statementId: string): Statement[] {
  const rows = people.map((one) => [one.row, one.teacherId, one.ninIndex, one.status, one.eligible]);
  return [
    { sql: insert, args: [rowsInJson(rows), statementId] },
    { sql: noteVerified, args: [statementId] },
  ];
}

/** What a statement says of one person in the place of what it says of all. */
const ofPerson: Readonly<Record<string, string>> = {
  teacher_id: "told.teacher_id",
  nin_index: "told.nin_index",
  status: "told.status",
  eligible: "told.eligible",
  reference: "'row ' || told.place || ' of ' || attestations.reference",
};

/**
 * SQL for the lookups of a person, in attestations and in statements; the first parameter is the value.
 * @param columns those of an attestation
 */
export function lookupsBy(key: "teacher_id" | "nin_index", columns: readonly string[]): string {
  const told = columns.map((column) => `${ofPerson[column] ?? `attestations.${column}`} AS ${column}`);
  return `SELECT id, ${columns.join(", ")} FROM attestations WHERE ${key} = ?1
    UNION ALL SELECT attestations.id, ${told.join(", ")} FROM statement_people AS told
      CROSS JOIN attestations ON attestations.id = told.attestation_id WHERE told.${key} = ?1`;
}

/**
 * Forgets whom statements spoke of that retention has deleted: it deletes from the oldest on. The parameter is how many
 * at most, because one statement may speak of thousands and nobody's commit is to wait for all of them.
 */
export const prunePeople = `DELETE FROM statement_people WHERE (attestation_id, place) IN
  (SELECT attestation_id, place FROM statement_people
    WHERE attestation_id < (SELECT min(id) FROM attestations) ORDER BY attestation_id, place LIMIT ?) RETURNING 1 AS gone`;
