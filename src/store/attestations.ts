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
      const sinceSeconds = Math.floor(since / 1000);
      if (partnerId === undefined) return select("WHERE issued_at >= ? ORDER BY id DESC LIMIT ?", [sinceSeconds, limit]);
      const where = "WHERE partner_id = ? AND issued_at >= ? ORDER BY id DESC LIMIT ?";
      return select(where, [partnerId, sinceSeconds, limit]);
    },
    async ofSubject({ teacherId, ninIndex }) {
      const byTeacher = teacherId === null ? [] : await select("WHERE teacher_id = ? ORDER BY id", [teacherId]);
      const byNin = ninIndex === null ? [] : await select("WHERE nin_index = ? ORDER BY id", [ninIndex]);
      const known = new Set(byTeacher.map((one) => one.verificationId));
      return [...byTeacher, ...byNin.filter((one) => !known.has(one.verificationId))];
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
  const args = [
    one.verificationId, one.partnerId, one.issuedAt, one.kid, one.endpoint, one.purpose, one.policyVersion,
    one.teacherId, one.reference, one.ninIndex, one.status, one.eligible, one.context, one.credential,
    one.requestId, one.jws,
  ]; // biome-ignore format: the order of the columns
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
