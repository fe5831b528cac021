import type { AnsweredCall, Attestation } from "../domain/attestations.ts";
import type { QuotaWindow } from "../domain/quota.ts";
import { chargeStatement } from "./charges.ts";
import type { ActKind } from "./driver/commits.ts";
import type { Statement, Value } from "./driver/driver.ts";
import { idempotencyStatements } from "./idempotency.ts";

/** The columns of an attestation, in the order of {@link attestationValues}. */
export const attestationColumns = `verification_id, partner_id, issued_at, kid, endpoint, purpose, policy_version, teacher_id,
  reference, nin_index, status, eligible, context, credential, request_id, jws`;

const insert = `INSERT INTO attestations (${attestationColumns})
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16
  WHERE EXISTS (SELECT 1 FROM signing_keys WHERE kid = ?4 AND state = 'active')`;
const isActive = "SELECT 1 AS active FROM signing_keys WHERE kid = ? AND state = 'active'";

/** What a call leaves behind; without a key only what it cost, for a call that was refused or replayed. */
export type Answered = Omit<AnsweredCall, "kid"> & { readonly kid: string | null };

/**
 * All of each answered call, or nothing of it when its key is not the active one any more: every statement
 * carries that condition, because one transaction holds the calls of many partners and none may undo another's.
 * What the calls of a partner cost is summed first, so that many calls are one charge of each window.
 * The result is whether the call was stored.
 */
export const answeredCalls: ActKind<Answered, boolean> = {
  plan(calls) {
    const kids = [...new Set(calls.map(({ kid }) => kid))].filter((kid) => kid !== null);
    const statements: Statement[] = kids.map((kid) => ({ sql: isActive, args: [kid] }));
    for (const { attestations } of calls) {
      for (const one of attestations) statements.push({ sql: insert, args: attestationValues(one) });
    }
    statements.push(...chargesOf(calls));
    for (const { idempotency, kid } of calls) {
      if (idempotency !== null && kid !== null) statements.push(...idempotencyStatements(idempotency, kid));
    }
    return {
      statements,
      results: (rows) => calls.map(({ kid }) => kid === null || (rows[kids.indexOf(kid)]?.length ?? 0) === 1),
    };
  },
};

function chargesOf(calls: readonly Answered[]): Statement[] {
  const sums = new Map<string, { kid: string | null; charge: QuotaWindow }>();
  for (const { kid, charges } of calls) {
    for (const charge of charges) {
      const name = `${charge.kind} ${charge.startsAt} ${kid} ${charge.partnerId}`;
      const known = sums.get(name);
      if (known === undefined) sums.set(name, { kid, charge: { ...charge } });
      else known.charge.used += charge.used;
    }
  }
  return [...sums.values()].map(({ kid, charge }) => chargeStatement(charge, kid));
}

function attestationValues(one: Attestation): Value[] {
  // biome-ignore format: the order of the columns
  return [
    one.verificationId, one.partnerId, one.issuedAt, one.kid, one.endpoint, one.purpose, one.policyVersion,
    one.teacherId, one.reference, one.ninIndex, one.status, one.eligible, one.context, one.credential,
    one.requestId, one.jws,
  ];
}
