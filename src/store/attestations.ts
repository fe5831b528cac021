import type { AnsweredCall, Attestation, AttestationStore, Endpoint } from "../domain/attestations.ts";
import type { LicenseStatus, Purpose } from "../partner/contract.ts";
import type { Commit } from "./commits.ts";
import type { Driver, Row, Statement, Value } from "./driver.ts";
import { idempotencyStatements } from "./idempotency.ts";
import { chargeStatement } from "./quota.ts";
import { bytesOrNull, flag, integer, integerOrNull, text, textOrNull } from "./rows.ts";

const columns = `verification_id, partner_id, issued_at, kid, endpoint, purpose, policy_version, teacher_id,
  reference, nin_index, status, eligible, context, credential, request_id, jws`;

const insert = `INSERT INTO attestations (${columns})
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16
  WHERE EXISTS (SELECT 1 FROM signing_keys WHERE kid = ?4 AND state = 'active') RETURNING 1 AS stored`;

/** How far apart the order of committing and the order of `issued_at` may be. */
const disorderSeconds = 60;

/**
 * SQL for the id of the last attestation before a time, found by halving: the log has no index on its times,
 * but it only ever grows and its ids follow them. It reads some thirty rows whatever the length of the log;
 * where a clock was set back it is only near the truth.
 * @param seconds the parameter that holds the time, in seconds since the epoch
 */
export function lastIdBefore(seconds: string): string {
  const isBefore = `(SELECT issued_at FROM attestations WHERE id >= (low + high + 1) / 2 ORDER BY id LIMIT 1) < ${seconds}`;
  return `(WITH RECURSIVE search (low, high) AS (
    SELECT 0, coalesce((SELECT max(id) FROM attestations), 0)
    UNION ALL
    SELECT iif(${isBefore}, (low + high + 1) / 2, low), iif(${isBefore}, high, (low + high + 1) / 2 - 1)
    FROM search WHERE low < high)
  SELECT low FROM search WHERE low >= high LIMIT 1)`;
}

/** The evidence log. */
export function createAttestationStore(driver: Driver, commit: Commit): AttestationStore {
  async function select(where: string, args: readonly Value[]): Promise<Attestation[]> {
    return (await driver.query(`SELECT ${columns} FROM attestations ${where}`, args)).map(attestation);
  }

  return {
    async record(call) {
      const rows = await commit(answerStatements(call));
      return rows[0]?.length === 1;
    },
    async find(verificationId) {
      return (await select("WHERE verification_id = ?", [verificationId]))[0] ?? null;
    },
    list({ partnerId, since = 0, limit }) {
      const from = Math.floor(since / 1000);
      const where = `WHERE id > ${lastIdBefore("?1")} AND issued_at >= ?2 ${partnerId === undefined ? "" : "AND partner_id = ?4"}
        ORDER BY id DESC LIMIT ?3`;
      return select(where, [
        from - disorderSeconds,
        from,
        limit,
        ...(partnerId === undefined ? [] : [partnerId]),
      ]);
    },
    async ofSubject({ teacherId, ninIndex }) {
      const byTeacher =
        teacherId === null ? [] : await select("WHERE teacher_id = ? ORDER BY id", [teacherId]);
      const byNin = ninIndex === null ? [] : await select("WHERE nin_index = ? ORDER BY id", [ninIndex]);
      const known = new Set(byTeacher.map((one) => one.verificationId));
      return [...byTeacher, ...byNin.filter((one) => !known.has(one.verificationId))];
    },
    async countOfTeacher(teacherId) {
      const [row] = await driver.query("SELECT count(*) AS n FROM attestations WHERE teacher_id = ?", [
        teacherId,
      ]);
      return row === undefined ? 0 : integer(row, "n");
    },
    async toldValid(teacherId, since) {
      const sql = `SELECT partner_id, count(*) AS times, max(issued_at) AS last_at FROM attestations
        WHERE teacher_id = ? AND status = 'VALID' AND issued_at >= ? GROUP BY partner_id ORDER BY partner_id`;
      const rows = await driver.query(sql, [teacherId, Math.floor(since / 1000)]);
      return rows.map((row) => ({
        partnerId: text(row, "partner_id"),
        times: integer(row, "times"),
        lastAt: integer(row, "last_at") * 1000,
      }));
    },
  };
}

/**
 * All of an answered call, or nothing when its key is not the active one any more: every statement carries
 * that condition, because one transaction holds the calls of many partners and none may undo another's.
 */
function answerStatements({ attestations, charges, idempotency, kid }: AnsweredCall): Statement[] {
  return [
    ...attestations.map(attestationStatement),
    ...charges.map((charge) => chargeStatement(charge, kid)),
    ...(idempotency === null ? [] : idempotencyStatements(idempotency, kid)),
  ];
}

function attestationStatement(one: Attestation): Statement {
  // biome-ignore format: the order of the columns
  const args = [
    one.verificationId, one.partnerId, one.issuedAt, one.kid, one.endpoint, one.purpose, one.policyVersion,
    one.teacherId, one.reference, one.ninIndex, one.status, one.eligible, one.context, one.credential,
    one.requestId, one.jws,
  ];
  return { sql: insert, args };
}

function attestation(row: Row): Attestation {
  return {
    verificationId: text(row, "verification_id"),
    partnerId: text(row, "partner_id"),
    issuedAt: integer(row, "issued_at"),
    kid: text(row, "kid"),
    endpoint: text(row, "endpoint") as Endpoint,
    purpose: text(row, "purpose") as Purpose,
    policyVersion: text(row, "policy_version"),
    teacherId: integerOrNull(row, "teacher_id"),
    reference: text(row, "reference"),
    ninIndex: bytesOrNull(row, "nin_index"),
    status: text(row, "status") as LicenseStatus,
    eligible: flag(row, "eligible"),
    context: textOrNull(row, "context"),
    credential: text(row, "credential"),
    requestId: text(row, "request_id"),
    jws: text(row, "jws"),
  };
}
