import { v7 as uuidv7 } from "uuid";
import type { Purpose } from "../partner/contract.ts";
import type { Attestation, AttestationStore, AttestedOperation } from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import type { Clock } from "./clock.ts";
import { eligibilityResult, type SealedEnvelope, type Signer, sealEnvelope } from "./envelopes.ts";
import { isTvsError, TvsError } from "./errors.ts";
import { askedFor, contextForEvidence } from "./evidence.ts";
import type { Idempotency, Reservation, StoredAnswer } from "./idempotency.ts";
import type { Live, Snapshot } from "./live.ts";
import type { Partner } from "./partners.ts";
import type { QuotaCall, QuotaRefusal } from "./quota.ts";
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

/** A quota that is spent, as an error: the HTTP layer turns its figures into headers. */
export class QuotaExceeded extends TvsError {
  readonly refusal: QuotaRefusal;

  constructor(refusal: QuotaRefusal) {
    super(
      "QUOTA_EXCEEDED",
      `per-${refusal.window} quota exceeded; retry after ${refusal.retryAfterSeconds} s`,
    );
    this.refusal = refusal;
  }
}

export type Verification = {
  /** One question, one envelope. Without a key the call is not idempotent. */
  answer(
    caller: Caller,
    endpoint: AttestedOperation,
    asked: { question: Question; idempotency?: IdempotentBody | undefined },
  ): Promise<Answer>;
  /** Up to a hundred questions, an envelope each, all or none. */
  answerBatch(
    caller: Caller,
    asked: { questions: readonly Question[]; idempotency?: IdempotentBody | undefined },
  ): Promise<Answer>;
};

export type IdempotentBody = {
  readonly key: string /** The parsed body as it was sent. */;
  readonly body: unknown;
};

export type VerificationDependencies = {
  readonly live: Live;
  readonly teachers: TeacherReader;
  readonly attestations: AttestationStore;
  readonly idempotency: Idempotency;
  readonly blindIndex: BlindIndex;
  readonly signer: Signer;
  readonly clock: Clock;
};

/**
 * Items of one batch under way at a time: enough that a signing thread finds several in one go, and few enough that
 * the event loop is soon free for others. The signer lets single checks go before them.
 */
const batchWidth = 32;
/** A key rotation can come between signing and committing; two in a row are a fault. */
const maxAttempts = 3;

/**
 * The main job: look a teacher up, judge, sign, and commit the evidence before the answer leaves.
 *
 * A failure to look up or to sign is an error, never an answer: "not found" is only ever signed when the
 * register was asked and had nobody (decisions, HTTP details).
 */
export function createVerification(dependencies: VerificationDependencies): Verification {
  const { live, attestations, idempotency, clock, signer, teachers, blindIndex } = dependencies;
  const bulkSigner: Signer = { sign: (kid, input) => signer.sign(kid, input, { bulk: true }) };
  const inBulk = { ...dependencies, signer: bulkSigner };

  async function run(
    caller: Caller,
    asked: { endpoint: AttestedOperation; cost: number; idempotency?: IdempotentBody | undefined },
    work: (snapshot: Snapshot) => Promise<{ attestations: Attestation[]; answer: StoredAnswer }>,
  ): Promise<Answer> {
    async function perform(reservation: Reservation | null): Promise<StoredAnswer> {
      const refusal = caller.quota.takeWork(asked.cost);
      if (refusal !== null) throw new QuotaExceeded(refusal);
      return commit(caller, reservation, work);
    }
    if (asked.idempotency === undefined) return { ...(await perform(null)), replayed: false };
    const request = { partnerId: caller.partner.partnerId, endpoint: asked.endpoint, ...asked.idempotency };
    const { answer, replayed } = await idempotency.run(request, perform);
    return { ...answer, replayed };
  }

  async function commit(
    caller: Caller,
    reservation: Reservation | null,
    work: (snapshot: Snapshot) => Promise<{ attestations: Attestation[]; answer: StoredAnswer }>,
  ): Promise<StoredAnswer> {
    const charges = caller.quota.takeCharges();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const snapshot = live.current();
      const kid = snapshot.keys.active.kid;
      const worked = await work(snapshot).catch(async (error) => {
        // A rotation takes the old key from the signer a moment before it replaces the snapshot that names it.
        const isRotation =
          isTvsError(error, "SIGNER_UNAVAILABLE") && (await live.refresh()).keys.active.kid !== kid;
        if (!isRotation) throw error;
        return null;
      });
      if (worked === null) continue;
      const { attestations: rows, answer } = worked;
      const record = reservation === null ? null : { ...reservation, ...answer };
      if (await attestations.record({ kid, attestations: rows, charges, idempotency: record })) return answer;
      await live.refresh();
    }
    throw new TvsError("SIGNER_UNAVAILABLE", "the signing key is being changed; try again");
  }

  return {
    answer: (caller, endpoint, { question, idempotency: body }) =>
      run(caller, { endpoint, cost: 1, idempotency: body }, async (snapshot) => {
        const at = Math.floor(clock.now() / 1000);
        const asked = { caller, endpoint, question, snapshot, at };
        const key = teacherKey(question.identifier, blindIndex);
        const { envelope, row } = await attest(dependencies, asked, {
          key,
          teacher: await teachers.find(key),
        });
        const headers = { "X-Verification-Id": row.verificationId, "X-Signature-Kid": row.kid };
        return { attestations: [row], answer: { headers, body: envelope.json } };
      }),

    answerBatch: (caller, { questions, idempotency: body }) => {
      const cost = caller.partner.batchCost === "item" ? questions.length : 1;
      return run(caller, { endpoint: "batch", cost, idempotency: body }, async (snapshot) => {
        const at = Math.floor(clock.now() / 1000);
        const keys = questions.map(({ identifier }) => teacherKey(identifier, blindIndex));
        const found = await teachers.findEach(keys);
        const subjects = keys.map((key, place) => ({ key, teacher: found[place] ?? null }));
        const sealed = await mapInOrder(subjects, batchWidth, (subject, place) => {
          const question = questions[place] as Question;
          return attest(inBulk, { caller, endpoint: "batch", question, snapshot, at }, subject);
        });
        const body = `{"count":${sealed.length},"results":[${sealed.map(({ envelope }) => envelope.json).join(",")}]}`;
        return { attestations: sealed.map(({ row }) => row), answer: { headers: {}, body } };
      });
    },
  };
}

type Asked = {
  caller: Caller;
  endpoint: AttestedOperation;
  question: Question;
  snapshot: Snapshot;
  at: number;
};

/** The teacher that a question names, or nobody. */
type Subject = { readonly key: TeacherKey; readonly teacher: Teacher | null };

async function attest(
  { blindIndex, signer }: VerificationDependencies,
  { caller, endpoint, question, snapshot, at }: Asked,
  { key, teacher }: Subject,
): Promise<{ envelope: SealedEnvelope; row: Attestation }> {
  const { policy, issuer } = snapshot.settings;
  const today = snapshot.calendar.dateAt(at * 1000);
  const result = eligibilityResult(teacher, { purpose: question.purpose, policy, today });
  const audience = caller.partner.partnerId;
  const verificationId = uuidv7();
  const claims = { verificationId, issuer, audience, issuedAt: at, result };
  const envelope = await sealEnvelope(claims, snapshot.keys.active.kid, signer);
  const row: Attestation = {
    verificationId,
    partnerId: audience,
    issuedAt: at,
    kid: envelope.kid,
    endpoint,
    purpose: question.purpose,
    policyVersion: policy.version,
    teacherId: teacher?.id ?? null,
    ...askedFor(key, teacher, blindIndex),
    status: result.status,
    eligible: result.eligible,
    context: contextForEvidence(question.context),
    credential: caller.credential,
    requestId: caller.requestId,
    jws: envelope.jws,
  };
  return { envelope, row };
}

function teacherKey(identifier: Identifier, index: BlindIndex): UniqueKey {
  if ("regNo" in identifier) return { by: "regNo", value: identifier.regNo };
  if ("tId" in identifier) return { by: "tId", value: identifier.tId };
  return { by: "nin", value: index.nin(identifier.nin) };
}

/** Maps with at most `width` promises under way, results in the order of the items. */
async function mapInOrder<T, R>(
  items: readonly T[],
  width: number,
  act: (item: T, place: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  async function lane(): Promise<void> {
    for (let i = next++; i < items.length; i = next++) results[i] = await act(items[i] as T, i);
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
