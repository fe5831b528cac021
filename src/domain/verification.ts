import { v7 as uuidv7 } from "uuid";
import type { Purpose } from "../partner/contract.ts";
import {
  type AnsweredCall,
  type Attestation,
  type AttestationStore,
  type AttestedOperation,
  askedFor,
  contextForEvidence,
} from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import type { Clock } from "./clock.ts";
import { eligibilityResult } from "./eligibility.ts";
import { type Claims, type SealedEnvelope, type Signer, sealEnvelopes } from "./envelopes.ts";
import { isTvsError, TvsError } from "./errors.ts";
import type { Idempotency, Reservation, StoredAnswer } from "./idempotency.ts";
import type { Live, Snapshot } from "./live.ts";
import type { Partner } from "./partners.ts";
import type { QuotaCall } from "./quota.ts";
import type { Teacher, TeacherKey, TeacherReader, UniqueKey } from "./teachers.ts";

/** Who a partner asks about, already checked: exactly one member. `regNo` is canonical. */
export type Identifier = { regNo: string } | { tId: number } | { nin: string };
export type Question = {
  readonly identifier: Identifier;
  readonly purpose: Purpose;
  readonly context?: object | undefined;
};

/** The authenticated call that a question came with. */
export type Caller = {
  readonly partner: Partner;
  readonly credential: string;
  readonly requestId: string;
  readonly quota: QuotaCall;
};

export type Answer = StoredAnswer & { readonly replayed: boolean };

export type Verification = {
  /** One question, one envelope. Without a key the call is not idempotent. */
  answer(
    caller: Caller,
    operation: AttestedOperation,
    asked: { question: Question; idempotency?: IdempotentBody | undefined },
  ): Promise<Answer>;
  /** Up to a hundred questions, an envelope each, all or none. */
  answerBatch(
    caller: Caller,
    asked: { questions: readonly Question[]; idempotency?: IdempotentBody | undefined },
  ): Promise<Answer>;
};

export type IdempotentBody = {
  readonly key: string;
  /** The parsed body as it was sent. */
  readonly body: unknown;
};

type VerificationDependencies = {
  readonly live: Live;
  readonly teachers: TeacherReader;
  readonly attestations: AttestationStore;
  readonly idempotency: Idempotency;
  readonly blindIndex: BlindIndex;
  readonly signer: Signer;
  readonly clock: Clock;
};

/** A key rotation can come between signing and committing; two in a row are a fault. */
const maxAttempts = 3;

/** One call of a partner, and what it asks. */
type VerificationCall = {
  readonly caller: Caller;
  readonly operation: AttestedOperation;
  readonly questions: readonly Question[];
  readonly idempotency: IdempotentBody | undefined;
};

/** A question, and the teacher that it names, or nobody. */
type Subject = { readonly question: Question; readonly key: TeacherKey; readonly teacher: Teacher | null };

/** A signed envelope, and the evidence of it. */
type Attested = { readonly envelope: SealedEnvelope; readonly row: Attestation };

/**
 * The main job: look a teacher up, judge, sign, and commit the evidence before the answer leaves.
 *
 * A failure to look up or to sign is an error, never an answer: "not found" is only ever signed when the
 * register was asked and had nobody (decision D2.2).
 */
export function createVerification(dependencies: VerificationDependencies): Verification {
  const { live, attestations, idempotency } = dependencies;

  /** Idempotency comes first: a replay costs no work. */
  async function respond(call: VerificationCall): Promise<Answer> {
    if (call.idempotency === undefined) return { ...(await perform(call, null)), replayed: false };
    const { partnerId } = call.caller.partner;
    const request = { partnerId, endpoint: call.operation, ...call.idempotency };
    const { answer, replayed } = await idempotency.run(request, (reservation) => perform(call, reservation));
    return { ...answer, replayed };
  }

  /** Pays for the work, does it, and commits the evidence, what it cost and the answer to be replayed. */
  async function perform(call: VerificationCall, reservation: Reservation | null): Promise<StoredAnswer> {
    const { quota } = call.caller;
    quota.takeWork(costOf(call));
    const charges = quota.takeCharges();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const snapshot = live.current();
      const attested = await attestUnlessRotated(call, snapshot);
      if (attested === null) continue;
      const answer = call.operation === "batch" ? batchAnswer(attested) : singleAnswer(attested);
      const answered: AnsweredCall = {
        kid: snapshot.keys.active.kid,
        attestations: attested.map(({ row }) => row),
        charges,
        idempotency: reservation === null ? null : { ...reservation, ...answer },
      };
      if (await attestations.record(answered)) return answer;
      await live.refresh();
    }
    throw new TvsError("SIGNER_UNAVAILABLE", "the signing key is being changed; try again");
  }

  /**
   * The envelopes of a call; null when the key was rotated meanwhile, because a rotation takes the old key from the
   * signer a moment before it replaces the snapshot that names it.
   */
  async function attestUnlessRotated(call: VerificationCall, snapshot: Snapshot): Promise<Attested[] | null> {
    try {
      return await attestAll(dependencies, call, snapshot);
    } catch (error) {
      if (!isTvsError(error, "SIGNER_UNAVAILABLE")) throw error;
      const { kid } = snapshot.keys.active;
      if ((await live.refresh()).keys.active.kid === kid) throw error;
      return null;
    }
  }

  return {
    answer: (caller, operation, { question, idempotency: body }) =>
      respond({ caller, operation, questions: [question], idempotency: body }),
    answerBatch: (caller, { questions, idempotency: body }) =>
      respond({ caller, operation: "batch", questions, idempotency: body }),
  };
}

/** Judges the subjects of a call and signs the verdicts. Single checks are signed before what a batch asks for. */
async function attestAll(
  dependencies: VerificationDependencies,
  call: VerificationCall,
  snapshot: Snapshot,
): Promise<Attested[]> {
  const { blindIndex, signer, clock } = dependencies;
  const at = Math.floor(clock.now() / 1000);
  const subjects = await findSubjects(dependencies, call);
  const claims = subjects.map((subject) => judge(subject, { call, snapshot, at }));
  const bulk = call.operation === "batch";
  const envelopes = await sealEnvelopes(claims, snapshot.keys.active.kid, (kid, inputs) =>
    signer.sign(kid, inputs, { bulk }),
  );
  const { version } = snapshot.settings.policy;
  return envelopes.map((envelope, place) => {
    const subject = subjects[place] as Subject;
    return { envelope, row: evidenceOf(envelope, subject, { call, policyVersion: version, blindIndex }) };
  });
}

async function findSubjects(
  { teachers, blindIndex }: VerificationDependencies,
  { operation, questions }: VerificationCall,
): Promise<Subject[]> {
  const keys = questions.map(({ identifier }) => teacherKey(identifier, blindIndex));
  const found =
    operation === "batch"
      ? await teachers.findEach(keys)
      : await Promise.all(keys.map((key) => teachers.find(key)));
  return questions.map((question, place) => {
    return { question, key: keys[place] as TeacherKey, teacher: found[place] ?? null };
  });
}

/** What the envelope about one subject says. */
function judge(
  { question, teacher }: Subject,
  { call, snapshot, at }: { call: VerificationCall; snapshot: Snapshot; at: number },
): Claims {
  const { policy, issuer } = snapshot.settings;
  const today = snapshot.calendar.dateAt(at * 1000);
  const result = eligibilityResult(teacher, { purpose: question.purpose, policy, today });
  return {
    verificationId: uuidv7(),
    issuer,
    audience: call.caller.partner.partnerId,
    issuedAt: at,
    result,
  };
}

function evidenceOf(
  { claims, kid, jws }: SealedEnvelope,
  { question, key, teacher }: Subject,
  made: { call: VerificationCall; policyVersion: string; blindIndex: BlindIndex },
): Attestation {
  const { caller, operation } = made.call;
  const { verificationId, audience, issuedAt, result } = claims;
  return {
    verificationId,
    partnerId: audience,
    issuedAt,
    kid,
    endpoint: operation,
    purpose: question.purpose,
    policyVersion: made.policyVersion,
    teacherId: teacher?.id ?? null,
    ...askedFor(key, teacher, made.blindIndex),
    status: result.status,
    eligible: result.eligible,
    context: contextForEvidence(question.context),
    credential: caller.credential,
    requestId: caller.requestId,
    jws,
  };
}

/** How many calls the work counts as. */
function costOf({ caller, operation, questions }: VerificationCall): number {
  return operation === "batch" && caller.partner.batchCost === "item" ? questions.length : 1;
}

function singleAnswer(attested: readonly Attested[]): StoredAnswer {
  const [{ envelope, row }] = attested as [Attested];
  const headers = { "X-Verification-Id": row.verificationId, "X-Signature-Kid": row.kid };
  return { headers, body: envelope.json };
}

function batchAnswer(attested: readonly Attested[]): StoredAnswer {
  const results = attested.map(({ envelope }) => envelope.json).join(",");
  return { headers: {}, body: `{"count":${attested.length},"results":[${results}]}` };
}

function teacherKey(identifier: Identifier, index: BlindIndex): UniqueKey {
  if ("regNo" in identifier) return { by: "regNo", value: identifier.regNo };
  if ("tId" in identifier) return { by: "tId", value: identifier.tId };
  return { by: "nin", value: index.nin(identifier.nin) };
}
