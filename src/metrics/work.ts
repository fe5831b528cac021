import type { AttestationStore, AttestedOperation } from "../domain/attestations.ts";
import type { Outbox } from "../domain/deliveries.ts";
import type { Signer } from "../domain/envelopes.ts";
import { operationOfScope } from "../domain/partners.ts";
import type { PublicLookup } from "../domain/public-lookup.ts";
import { type LicenseStatus, licenseStatuses } from "../partner/contract.ts";

/** The operations that answer about teachers: the public lookup and the partner operations. */
type AnswerOperation = AttestedOperation | "public-lookup";
export const answerOperations: readonly AnswerOperation[] = [
  "public-lookup",
  ...Object.values(operationOfScope),
];

/** What became of an attempt to deliver a webhook; `dead` is a failure after which none is tried again. */
export const deliveryOutcomes = ["delivered", "failed", "dead"] as const;
type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** Upper bounds of the sizes of a group commit, in acts. */
export const groupBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** What the service has done since it started. Every member only grows, but for the queue. */
export type WorkCounters = {
  /** One answer that left, by the licence status in it. */
  answered(operation: AnswerOperation, status: LicenseStatus): void;
  answers(operation: AnswerOperation, status: LicenseStatus): number;
  /** @param count signatures that a call asks for */
  signingBegan(count: number): void;
  signingEnded(count: number, hasFailed: boolean): void;
  signatures(): { made: number; failed: number; underWay: number };
  /** The most signatures that were waited for at once since the last call of this. */
  takeQueuePeak(): number;
  /** A group of acts was committed together. */
  committed(acts: number): void;
  commits(): { groups: number; acts: number; buckets: readonly number[] };
  attempted(outcome: DeliveryOutcome): void;
  deliveries(outcome: DeliveryOutcome): number;
};

export function createWorkCounters(): WorkCounters {
  const answers = new Float64Array(answerOperations.length * licenseStatuses.length);
  const attempts = { delivered: 0, failed: 0, dead: 0 };
  const signing = { made: 0, failed: 0, underWay: 0, peak: 0 };
  const groups = { count: 0, acts: 0, buckets: groupBounds.map(() => 0) };
  const placeOf = (operation: AnswerOperation, status: LicenseStatus) =>
    answerOperations.indexOf(operation) * licenseStatuses.length + licenseStatuses.indexOf(status);

  return {
    answered(operation, status) {
      const place = placeOf(operation, status);
      answers[place] = (answers[place] as number) + 1;
    },
    answers: (operation, status) => answers[placeOf(operation, status)] ?? 0,
    signingBegan(count) {
      signing.underWay += count;
      if (signing.underWay > signing.peak) signing.peak = signing.underWay;
    },
    signingEnded(count, hasFailed) {
      signing.underWay -= count;
      if (hasFailed) signing.failed += count;
      else signing.made += count;
    },
    signatures: () => ({ made: signing.made, failed: signing.failed, underWay: signing.underWay }),
    takeQueuePeak() {
      const { peak } = signing;
      signing.peak = signing.underWay;
      return peak;
    },
    committed(acts) {
      groups.count++;
      groups.acts += acts;
      const bucket = groupBounds.findIndex((bound) => acts <= bound);
      if (bucket !== -1) groups.buckets[bucket] = (groups.buckets[bucket] ?? 0) + 1;
    },
    commits: () => ({ groups: groups.count, acts: groups.acts, buckets: groups.buckets }),
    attempted(outcome) {
      attempts[outcome]++;
    },
    deliveries: (outcome) => attempts[outcome],
  };
}

// Ports of the domain with a count taken beside them: the composition root puts them around the real ones.

/** A signer whose signatures are counted, made and under way. */
export function countedSigner(signer: Signer, work: WorkCounters): Signer {
  return {
    sign(kid, inputs, options) {
      const { length } = inputs;
      work.signingBegan(length);
      const signatures = signer.sign(kid, inputs, options);
      signatures.then(
        () => work.signingEnded(length, false),
        () => work.signingEnded(length, true),
      );
      return signatures;
    },
  };
}

/** An evidence log whose answers are counted when they are stored, which is when they may leave. */
export function countedAttestations(store: AttestationStore, work: WorkCounters): AttestationStore {
  return {
    ...store,
    async record(call) {
      const stored = await store.record(call);
      if (stored) for (const { endpoint, status } of call.attestations) work.answered(endpoint, status);
      return stored;
    },
  };
}

/** A public lookup whose answers are counted. */
export function countedPublicLookup(lookup: PublicLookup, work: WorkCounters): PublicLookup {
  return async (term) => {
    const answer = await lookup(term);
    work.answered("public-lookup", answer.found ? answer.license.status : "NOT_FOUND");
    return answer;
  };
}

/** An outbox whose attempts are counted, those of which the lease was still held. */
export function countedOutbox(outbox: Outbox, work: WorkCounters): Outbox {
  return {
    ...outbox,
    async finish(attempt) {
      const isOurs = await outbox.finish(attempt);
      if (isOurs) work.attempted(typeof attempt.next === "object" ? "failed" : attempt.next);
      return isOurs;
    },
  };
}
