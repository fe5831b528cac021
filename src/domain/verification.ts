import { v7 as uuidv7 } from "uuid";
import type { Purpose } from "../partner/contract.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { TeacherReader } from "../store/teachers.ts";
import {
  type AnsweredCall,
  type Attestation,
  type AttestedOperation,
  askedFor,
  contextForEvidence,
} from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import type { Clock } from "./clock.ts";
import { type Configuration, nullIfRotated, type Snapshot } from "./configuration.ts";
import type { Authenticated } from "./credentials.ts";
import { eligibilityResult } from "./eligibility.ts";
import { type Claims, type SealedEnvelope, type Signer, sealEnvelopes } from "./envelopes.ts";
import type { Idempotency, PendingRecord, StoredAnswer } from "./idempotency.ts";
import type { Partner } from "./partners.ts";
import type { QuotaCall } from "./quota.ts";
import { type AskedList, judgeList, sealStatement } from "./statements.ts";
import { type StatusPlaces, statusClaimOf } from "./status-list/lists.ts";
import { type Identifier, keyOf } from "./teachers/identifier.ts";
import type { Teacher, UniqueKey } from "./teachers/teachers.ts";

export type Question = {
  readonly identifier: Identifier;
  readonly purpose: Purpose;
  readonly context?: object | undefined;
};

/** What a call asks: questions, or about a list. Without an idempotency key it is run each time. */
export type Asked = {
  readonly questions: readonly Question[];
  readonly list?: AskedList | undefined;
  readonly idempotency?: IdempotentBody | undefined;
};

/** A call that was let in: whose it is, and the snapshot that says so. */
export type Admitted = { readonly snapshot: Snapshot; readonly authenticated: Authenticated };

/** One call of a partner, as it is judged now. */
type VerificationCall = Admitted &
  Asked & {
    readonly operation: AttestedOperation;
    readonly requestId: string;
    readonly quota: QuotaCall;
  };

export type Answer = StoredAnswer & { readonly replayed: boolean };

export type Verification = ReturnType<typeof createVerification>;

export type IdempotentBody = {
  readonly key: string;
  /** The parsed body as it was sent. */
  readonly body: unknown;
};

type VerificationDependencies = {
  readonly configuration: Configuration;
  readonly teachers: TeacherReader;
  readonly attestations: AttestationStore;
  readonly idempotency: Idempotency;
  readonly blindIndex: BlindIndex;
  readonly places: StatusPlaces;
  readonly signer: Signer;
  readonly clock: Clock;
};

/** A question, and the teacher that it names, or nobody. */
type Subject = { readonly question: Question; readonly key: UniqueKey; readonly teacher: Teacher | null };

/** A signed envelope, whom it is about, and the evidence of it. */
type Attested = { readonly envelope: SealedEnvelope; readonly subject: Subject; readonly row: Attestation };

/** What the work of a call comes to: its evidence, what that rests on and costs, and the answer. */
type Done = Pick<AnsweredCall, "attestations" | "read" | "people" | "charge"> & {
  readonly answer: StoredAnswer;
};

/**
 * The main job: look a teacher up, judge, sign, and commit the evidence before the answer leaves. The commit decides:
 * what was judged by something that has changed meanwhile is judged anew (decision D4.8).
 *
 * A failure to look up or to sign is an error, never an answer: "not found" is only ever signed when the
 * register was asked and had nobody (decision D2.2).
 */
export function createVerification(dependencies: VerificationDependencies) {
  const { configuration, attestations, idempotency } = dependencies;

  /** Does the work, and commits the evidence, what it cost and the answer to be replayed; null when that was refused. */
  async function perform(
    call: VerificationCall,
    pendingRecord: PendingRecord | null,
  ): Promise<StoredAnswer | null> {
    const { snapshot, quota, list } = call;
    const done = await nullIfRotated(configuration, snapshot, () =>
      list === undefined ? attest(dependencies, call) : state(dependencies, call, list),
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
     * Answers a call: an envelope for each question, all or none, or one statement over a list. Idempotency comes first: a
     * replay costs no work, but its minute token.
     * @returns null when its commit was refused, having stored nothing: what it rests on has changed, and it must be judged
     *   anew, perhaps as another partner's
     */
    async answer(call: VerificationCall): Promise<Answer | null> {
      const { authenticated, snapshot, operation, quota } = call;
      if (call.idempotency === undefined) {
        const answer = await perform(call, null);
        return answer === null ? null : { ...answer, replayed: false };
      }
      const { partnerId } = authenticated.partner;
      const request = { partnerId, operation, ...call.idempotency };
      const outcome = await idempotency.run(request, (pendingRecord) => perform(call, pendingRecord));
      if (outcome === null) return null;
      const { answer, replayed } = outcome;
      if (replayed && !(await quota.charge(snapshot.revision))) return null;
      return { ...answer, replayed };
    },
  };
}

async function attest(dependencies: VerificationDependencies, call: VerificationCall): Promise<Done> {
  const isPerItem = call.operation === "batch" && call.authenticated.partner.batchCost === "item";
  const charge = call.quota.chargeFor(isPerItem ? call.questions.length : 1);
  const attested = await attestAll(dependencies, call);
  return {
    attestations: attested.map(({ row }) => row),
    read: attested.map(({ subject }) => subject.teacher ?? subject.key),
    charge,
    answer: call.operation === "batch" ? batchAnswer(attested) : singleAnswer(attested),
  };
}

/** One statement over a list. It costs a call of the minute, and of the day as many as the list has rows. */
async function state(
  { teachers, blindIndex, signer, clock }: VerificationDependencies,
  { snapshot, authenticated, quota, requestId }: VerificationCall,
  list: AskedList,
): Promise<Done> {
  const { policy, issuer } = snapshot.settings;
  const at = Math.floor(clock.now() / 1000);
  const today = snapshot.calendar.dateAt(at * 1000);
  // A list is long to read: not for who has spent the day.
  quota.expectOfDay(list.teachers.length);
  const judged = await judgeList(list, { teachers, blindIndex, policy, today });
  const charge = quota.chargeFor(1, list.teachers.length);
  const { kid } = snapshot.keys.active;
  const { partner, credential } = authenticated;
  const making = { issuer, audience: partner.partnerId, at, kid, policyVersion: policy.version };
  const made = await sealStatement(judged, { ...making, credential, requestId }, (id, inputs) =>
    signer.sign(id, inputs, { bulk: true }),
  );
  const { people, read } = judged;
  return { attestations: [made.attestation], read, people, charge, answer: made.answer };
}

/** Judges the subjects of a call and signs the verdicts. Single checks are signed before what a batch asks for. */
async function attestAll(
  dependencies: VerificationDependencies,
  call: VerificationCall,
): Promise<Attested[]> {
  const { blindIndex, places, signer, clock } = dependencies;
  const { snapshot, authenticated } = call;
  const at = Math.floor(clock.now() / 1000);
  const subjects = await findSubjects(dependencies, call);
  const claims = subjects.map((subject) =>
    claimsAbout(subject, { partner: authenticated.partner, snapshot, places, at }),
  );
  const bulk = call.operation === "batch";
  const envelopes = await sealEnvelopes(claims, snapshot.keys.active.kid, (kid, inputs) =>
    signer.sign(kid, inputs, { bulk }),
  );
  const { version } = snapshot.settings.policy;
  return envelopes.map((envelope, index) => {
    const subject = subjects[index] as Subject;
    const made = { call, credential: authenticated.credential, policyVersion: version, blindIndex };
    return { envelope, subject, row: evidenceOf(envelope, subject, made) };
  });
}

async function findSubjects(
  { teachers, blindIndex }: VerificationDependencies,
  { operation, questions }: VerificationCall,
): Promise<Subject[]> {
  const keys = questions.map(({ identifier }) => keyOf(identifier, blindIndex));
  const found =
    operation === "batch"
      ? await teachers.findEach(keys)
      : await Promise.all(keys.map((key) => teachers.find(key)));
  return questions.map((question, index) => {
    return { question, key: keys[index] as UniqueKey, teacher: found[index] ?? null };
  });
}

/** What the envelope about one subject says. */
function claimsAbout(
  { question, teacher }: Subject,
  {
    partner,
    snapshot,
    places,
    at,
  }: { partner: Partner; snapshot: Snapshot; places: StatusPlaces; at: number },
): Claims {
  const { policy, issuer } = snapshot.settings;
  const today = snapshot.calendar.dateAt(at * 1000);
  const result = eligibilityResult(teacher, { purpose: question.purpose, policy, today });
  return {
    verificationId: uuidv7(),
    issuer,
    audience: partner.partnerId,
    issuedAt: at,
    result,
    status: statusClaimOf(teacher, snapshot, places),
  };
}

function evidenceOf(
  { claims, kid, jws }: SealedEnvelope,
  { question, key, teacher }: Subject,
  made: { call: VerificationCall; credential: string; policyVersion: string; blindIndex: BlindIndex },
): Attestation {
  const { requestId, operation } = made.call;
  const { verificationId, audience, issuedAt, result } = claims;
  return {
    verificationId,
    partnerId: audience,
    issuedAt,
    kid,
    operation,
    purpose: question.purpose,
    policyVersion: made.policyVersion,
    teacherId: teacher?.id ?? null,
    ...askedFor(key, teacher, made.blindIndex),
    status: result.status,
    eligible: result.eligible,
    context: contextForEvidence(question.context),
    credential: made.credential,
    requestId,
    jws,
  };
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
