import type { AttestedOperation } from "../domain/attestations.ts";
import { type LicenseStatus, licenseStatuses } from "../partner/contract.ts";

/** Where answers are given; the public look-up beside the partner endpoints. */
export const answerEndpoints = [
  "public-lookup",
  "eligibility-check",
  "lookup-by-reg-no",
  "lookup-by-tid",
  "lookup-by-nin",
  "batch",
] as const satisfies readonly (AttestedOperation | "public-lookup")[];
export type AnswerEndpoint = (typeof answerEndpoints)[number];

/** What became of an attempt to deliver a webhook; `dead` is a failure after which none is tried again. */
export const deliveryOutcomes = ["delivered", "failed", "dead"] as const;
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** Upper bounds of the sizes of a group commit, in acts. */
export const groupBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** What the service has done since it started. Every member only grows, but for the queue. */
export type WorkCounters = {
  /** One answer that left, by the licence status in it. */
  answered(endpoint: AnswerEndpoint, status: LicenseStatus): void;
  answers(endpoint: AnswerEndpoint, status: LicenseStatus): number;
  signingBegan(): void;
  signingEnded(hasFailed: boolean): void;
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
  const answers = new Float64Array(answerEndpoints.length * licenseStatuses.length);
  const attempts = { delivered: 0, failed: 0, dead: 0 };
  const signing = { made: 0, failed: 0, underWay: 0, peak: 0 };
  const groups = { count: 0, acts: 0, buckets: groupBounds.map(() => 0) };
  const placeOf = (endpoint: AnswerEndpoint, status: LicenseStatus) =>
    answerEndpoints.indexOf(endpoint) * licenseStatuses.length + licenseStatuses.indexOf(status);

  return {
    answered(endpoint, status) {
      const place = placeOf(endpoint, status);
      answers[place] = (answers[place] as number) + 1;
    },
    answers: (endpoint, status) => answers[placeOf(endpoint, status)] ?? 0,
    signingBegan() {
      signing.underWay++;
      if (signing.underWay > signing.peak) signing.peak = signing.underWay;
    },
    signingEnded(hasFailed) {
      signing.underWay--;
      if (hasFailed) signing.failed++;
      else signing.made++;
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
