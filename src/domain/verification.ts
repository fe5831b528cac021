import { v7 as uuidv7 } from "uuid";
import type { Purpose } from "../partner/contract.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { TeacherReader } from "../store/teachers.ts";
import type { Attestation, AttestedOperation, CallCommit } from "./attestations.ts";
import { makeStoredRequestContext, redactIdentifier } from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import type { Clock } from "./clock.ts";
import { type Configuration, runUnlessKeyRotated, type Snapshot } from "./configuration.ts";
import type { AuthenticatedCaller } from "./credentials.ts";
import { evaluateEligibility } from "./eligibility.ts";
import { type Claims, type SerializedEnvelope, type Signer, signEnvelopes } from "./envelopes.ts";
import type { CallAnswer, IdempotentRunner, PendingRecord, StoredAnswer } from "./idempotency.ts";
import type { CallQuota } from "./quota.ts";
import { checkListedTeachers, type StatementRequest, signStatement } from "./statements.ts";
import { type StatusIndexer, statusClaimOf } from "./status-list/lists.ts";
import { type Identifier, keyOfIdentifier } from "./teachers/identifier.ts";
import type { Teacher, UniqueKey } from "./teachers/teachers.ts";

export type TeacherQuestion = {
  readonly identifier: Identifier;
  readonly purpose: Purpose;
  readonly context?: object | undefined;
};

/** The questions of a call, or the list of a statement. Without an idempotency key, a repeated call runs again. */
export type VerificationRequest = {
  readonly questions: readonly TeacherQuestion[];
  readonly list?: StatementRequest | undefined;
  readonly idempotency?: IdempotencyInput | undefined;
};

/** An authenticated call, and the snapshot by which it was authenticated. */
export type AuthenticatedCall = { readonly snapshot: Snapshot; readonly authenticated: AuthenticatedCaller };

type VerificationCall = AuthenticatedCall &
  VerificationRequest & {
    readonly operation: AttestedOperation;
    readonly requestId: string;
    readonly quota: CallQuota;
  };

export type { CallAnswer };

export type CallAnswerer = ReturnType<typeof createCallAnswerer>;

export type IdempotencyInput = {
  readonly key: string;
  /** The request's parsed JSON, before a schema has changed it. */
  readonly body: unknown;
};

type VerificationDependencies = {
  readonly configuration: Configuration;
  readonly teachers: TeacherReader;
  readonly attestations: AttestationStore;
  readonly idempotency: IdempotentRunner;
  readonly blindIndex: BlindIndex;
  readonly statusIndexes: StatusIndexer;
  readonly signer: Signer;
  readonly clock: Clock;
};

type Subject = {
  readonly question: TeacherQuestion;
  readonly key: UniqueKey;
  readonly teacher: Teacher | null;
};

/** A call's answer, with the evidence, preconditions and charge to commit. */
type Outcome = Pick<CallCommit, "attestations" | "read" | "people" | "charge"> & {
  readonly answer: StoredAnswer;
};

/**
 * Looks teachers up, applies the policy, signs, and commits the evidence before the answer is sent. The commit checks
 * the preconditions; if one no longer holds, the caller retries the call (decision D4.8).
 *
 * A failed lookup or signature is an error. "Not found" is signed only if the register says that it has nobody (D2.2).
 */
export function createCallAnswerer(dependencies: VerificationDependencies) {
  const { configuration, attestations, idempotency } = dependencies;

  /** Answers a call and commits its evidence. @returns null if the commit was refused and stored nothing */
  async function perform(call: VerificationCall, pendingRecord: PendingRecord | null) {
    const { snapshot, quota, list } = call;
    const done = await runUnlessKeyRotated(configuration, snapshot, () =>
      list === undefined ? attest(dependencies, call) : attestList(dependencies, call, list),
    );
    if (done === null) return null;
    const { answer, ...evidence } = done;
    const used = await attestations.record({
      revision: snapshot.revision,
      ...evidence,
      idempotency: pendingRecord === null ? null : { ...pendingRecord, ...answer },
    });
    if (used === null) await quota.reread();
    else quota.committed(used);
    return used === null ? null : answer;
  }

  return {
    /**
     * Answers a call with an envelope for each question, or with one statement about a list. A replayed answer is
     * charged as one call of the minute's quota.
     * @returns null if a precondition no longer holds; nothing was stored, and the caller authenticates and tries again
     */
    async answer(call: VerificationCall): Promise<CallAnswer | null> {
      const { authenticated, snapshot, operation, quota } = call;
      if (call.idempotency === undefined) {
        const answer = await perform(call, null);
        return answer && { ...answer, replayed: false };
      }
      const { partnerId } = authenticated.partner;
      const request = { partnerId, operation, ...call.idempotency };
      const answer = await idempotency.run(request, (pendingRecord) => perform(call, pendingRecord));
      if (answer?.replayed && !(await quota.charge(snapshot.revision))) return null;
      return answer;
    },
  };
}

/** Answers questions with envelopes. The quota is checked before anybody is looked up. */
async function attest(dependencies: VerificationDependencies, call: VerificationCall): Promise<Outcome> {
  const { signer, clock } = dependencies;
  const { snapshot, authenticated, questions, quota } = call;
  const isBatch = call.operation === "batch";
  const isPerItem = isBatch && authenticated.partner.batchCost === "item";
  const charge = quota.chargeFor(isPerItem ? questions.length : 1);
  const at = Math.floor(clock.now() / 1000);
  const subjects = await findSubjects(dependencies, call);
  const claims = subjects.map((subject) => claimsAbout(subject, call, dependencies.statusIndexes, at));
  const { kid } = snapshot.keys.active;
  const sign: Signer["sign"] = (id, inputs) => signer.sign(id, inputs, { bulk: isBatch });
  const envelopes = await signEnvelopes(claims, kid, sign);
  return {
    attestations: envelopes.map((envelope, index) =>
      evidenceOf(envelope, subjects[index] as Subject, call, dependencies.blindIndex),
    ),
    read: subjects.map(({ teacher, key }) => teacher ?? key),
    charge,
    answer: isBatch ? batchAnswer(envelopes) : singleAnswer(envelopes[0] as SerializedEnvelope, kid),
  };
}

/** Answers with one statement about a list, which costs one call of the minute's quota and one of the day's per row. */
async function attestList(
  { teachers, blindIndex, signer, clock }: VerificationDependencies,
  { snapshot, authenticated, quota, requestId }: VerificationCall,
  list: StatementRequest,
): Promise<Outcome> {
  const { policy, issuer } = snapshot.settings;
  const at = Math.floor(clock.now() / 1000);
  const today = snapshot.calendar.dateAt(at * 1000);
  // The lookups of a list take long, so the day's quota is checked before them.
  quota.checkDayRoom(list.teachers.length);
  const evaluated = await checkListedTeachers(list, { teachers, blindIndex, policy, today });
  const charge = quota.chargeFor(1, list.teachers.length);
  const { partner, credential } = authenticated;
  const { attestation, answer } = await signStatement(
    evaluated,
    {
      ...{ issuer, audience: partner.partnerId, at, kid: snapshot.keys.active.kid },
      ...{ policyVersion: policy.version, credential, requestId },
    },
    (kid, inputs) => signer.sign(kid, inputs, { bulk: true }),
  );
  return { attestations: [attestation], read: evaluated.read, people: evaluated.people, charge, answer };
}

async function findSubjects({ teachers, blindIndex }: VerificationDependencies, call: VerificationCall) {
  const { operation, questions } = call;
  const keys = questions.map(({ identifier }) => keyOfIdentifier(identifier, blindIndex));
  const found =
    operation === "batch"
      ? await teachers.findEach(keys)
      : await Promise.all(keys.map((key) => teachers.find(key)));
  return questions.map((question, index): Subject => {
    return { question, key: keys[index] as UniqueKey, teacher: found[index] ?? null };
  });
}

function claimsAbout(
  { question, teacher }: Subject,
  call: VerificationCall,
  indexes: StatusIndexer,
  at: number,
) {
  const { snapshot, authenticated } = call;
  const { policy, issuer } = snapshot.settings;
  const today = snapshot.calendar.dateAt(at * 1000);
  return {
    verificationId: uuidv7(),
    issuer,
    audience: authenticated.partner.partnerId,
    issuedAt: at,
    result: evaluateEligibility(teacher, { purpose: question.purpose, policy, today }),
    status: statusClaimOf(teacher, snapshot, indexes),
  } satisfies Claims;
}

function evidenceOf(
  { claims, jws }: SerializedEnvelope,
  { question, key, teacher }: Subject,
  { snapshot, authenticated, requestId, operation }: VerificationCall,
  blindIndex: BlindIndex,
): Attestation {
  const { verificationId, audience, issuedAt, result } = claims;
  return {
    verificationId,
    partnerId: audience,
    issuedAt,
    kid: snapshot.keys.active.kid,
    operation,
    purpose: question.purpose,
    policyVersion: snapshot.settings.policy.version,
    teacherId: teacher?.id ?? null,
    ...redactIdentifier(key, teacher, blindIndex),
    status: result.status,
    eligible: result.eligible,
    context: makeStoredRequestContext(question.context),
    credential: authenticated.credential,
    requestId,
    jws,
  };
}

function singleAnswer({ claims, json }: SerializedEnvelope, kid: string): StoredAnswer {
  return { headers: { "X-Verification-Id": claims.verificationId, "X-Signature-Kid": kid }, body: json };
}

function batchAnswer(envelopes: readonly SerializedEnvelope[]): StoredAnswer {
  const results = envelopes.map(({ json }) => json).join(",");
  return { headers: {}, body: `{"count":${envelopes.length},"results":[${results}]}` };
}
