import type { AttestationStore, AttestedOperation } from "../domain/attestations.ts";
import type { Outbox } from "../domain/deliveries.ts";
import type { Signer } from "../domain/envelopes.ts";
import { operationOfScope } from "../domain/partners.ts";
import type { PublicLookup } from "../domain/teachers/public-lookup.ts";
import { type LicenseStatus, licenseStatuses } from "../partner/contract.ts";
import { newBlocks, openBlocks, type SharedBlocks } from "./blocks.ts";

/** The operations that answer about teachers: the public lookup and the partner operations. */
type AnswerOperation = AttestedOperation | "public-lookup";
export const answerOperations: readonly AnswerOperation[] = [
  "public-lookup",
  ...Object.values(operationOfScope),
];

/** What became of an attempt to deliver a webhook; `dead` is a failure after which none is tried again. */
export const deliveryOutcomes = ["delivered", "failed", "dead"] as const;
type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** What a request to the server of a database was for. */
export const databaseRequests = ["read", "commit"] as const;
type DatabaseRequest = (typeof databaseRequests)[number];

/** Upper bounds of the sizes of a group commit, in acts. */
export const groupBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** What the service has done since it started. Every member only grows, but for the queue and the peaks. */
export type WorkCounters = {
  /** One answer that left, by the licence status in it. */
  answered(operation: AnswerOperation, status: LicenseStatus): void;
  answers(operation: AnswerOperation, status: LicenseStatus): number;
  /** @param count signatures that a call asks for */
  signingBegan(count: number): void;
  signingEnded(count: number, hasFailed: boolean): void;
  /** Whether this thread has signatures to make. */
  isSigning(): boolean;
  signatures(): { made: number; failed: number; underWay: number };
  /** The event loop of this thread made a timer wait for so long. */
  lagged(ms: number): void;
  /** The worst of any thread since the last call of this, which is the main thread's alone to make. */
  takePeaks(): Peaks;
  /**
   * A group of acts was committed together.
   * @param heldMs for how long no other thread could commit
   */
  committed(acts: number, heldMs: number): void;
  commits(): { groups: number; acts: number; heldMs: number; buckets: readonly number[] };
  /** A request to the server that the database lies on: a round trip. A file has none. */
  requested(kind: DatabaseRequest): void;
  requests(kind: DatabaseRequest): number;
  attempted(outcome: DeliveryOutcome): void;
  deliveries(outcome: DeliveryOutcome): number;
};

/** `signingQueue`: signatures that were waited for at once; `lagMs`: how long a timer waited for the event loop. */
type Peaks = { readonly signingQueue: number; readonly lagMs: number };

/** Places in a thread's block. Behind them stand the group sizes, the attempts, the requests and the answers. */
const at = {
  made: 0,
  failed: 1,
  underWay: 2,
  queuePeak: 3,
  lagPeak: 4,
  /** In which period the thread's peaks were met. */
  peaksIn: 5,
  /** Which period it is, in the block of the main thread. */
  period: 6,
  groups: 7,
  acts: 8,
  heldMs: 9,
  sizes: 10,
  attempts: 10 + groupBounds.length,
  requests: 10 + groupBounds.length + deliveryOutcomes.length,
  answers: 10 + groupBounds.length + deliveryOutcomes.length + databaseRequests.length,
} as const;
const blockLength = at.answers + answerOperations.length * licenseStatuses.length;

/** The counters of one process, for as many threads as serve. */
export function newWorkCounts(threads: number): SharedArrayBuffer {
  return newBlocks(threads, blockLength);
}

/** @param shared the counters of all threads, of {@link newWorkCounts}; without them this thread counts alone */
export function createWorkCounters(shared?: SharedBlocks): WorkCounters {
  const { own, all, sum } = openBlocks(blockLength, shared);
  // A thread that this one replaces has left none behind.
  own[at.underWay] = 0;

  function grow(place: number, by: number): void {
    own[place] = (own[place] as number) + by;
  }
  const period = () => all[0]?.[at.period] ?? 0;
  const figure = (block: Float64Array, place: number) => block[place] as number;

  /** Lets the peaks of a period that is over go. */
  function turnPeriod(): void {
    if (own[at.peaksIn] === period()) return;
    own[at.queuePeak] = figure(own, at.underWay);
    own[at.lagPeak] = 0;
    own[at.peaksIn] = period();
  }

  function peaksOf(block: Float64Array): Peaks {
    const underWay = figure(block, at.underWay);
    if (block[at.peaksIn] !== period()) return { signingQueue: underWay, lagMs: 0 };
    return { signingQueue: figure(block, at.queuePeak), lagMs: figure(block, at.lagPeak) };
  }

  return {
    answered: (operation, status) => grow(placeOf(operation, status), 1),
    answers: (operation, status) => sum(placeOf(operation, status)),
    signingBegan(count) {
      grow(at.underWay, count);
      turnPeriod();
      own[at.queuePeak] = Math.max(figure(own, at.queuePeak), figure(own, at.underWay));
    },
    signingEnded(count, hasFailed) {
      grow(at.underWay, -count);
      grow(hasFailed ? at.failed : at.made, count);
    },
    isSigning: () => figure(own, at.underWay) > 0,
    signatures: () => ({ made: sum(at.made), failed: sum(at.failed), underWay: sum(at.underWay) }),
    lagged(ms) {
      turnPeriod();
      own[at.lagPeak] = Math.max(figure(own, at.lagPeak), ms);
    },
    takePeaks() {
      const peaks = all.map(peaksOf);
      grow(at.period, 1);
      return {
        signingQueue: Math.max(...peaks.map(({ signingQueue }) => signingQueue)),
        lagMs: Math.max(...peaks.map(({ lagMs }) => lagMs)),
      };
    },
    committed(acts, heldMs) {
      grow(at.groups, 1);
      grow(at.acts, acts);
      grow(at.heldMs, heldMs);
      const bucket = groupBounds.findIndex((bound) => acts <= bound);
      if (bucket !== -1) grow(at.sizes + bucket, 1);
    },
    commits: () => ({
      groups: sum(at.groups),
      acts: sum(at.acts),
      heldMs: sum(at.heldMs),
      buckets: groupBounds.map((_, bucket) => sum(at.sizes + bucket)),
    }),
    requested: (kind) => grow(at.requests + databaseRequests.indexOf(kind), 1),
    requests: (kind) => sum(at.requests + databaseRequests.indexOf(kind)),
    attempted: (outcome) => grow(at.attempts + deliveryOutcomes.indexOf(outcome), 1),
    deliveries: (outcome) => sum(at.attempts + deliveryOutcomes.indexOf(outcome)),
  };
}

function placeOf(operation: AnswerOperation, status: LicenseStatus): number {
  const row = answerOperations.indexOf(operation) * licenseStatuses.length;
  return at.answers + row + licenseStatuses.indexOf(status);
}

const lagProbeMs = 250;

/** Watches the event loop of the thread that calls this. @returns ends it */
export function watchLag({ lagged }: Pick<WorkCounters, "lagged">): () => void {
  let probedAtMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lagged(Math.max(0, nowMs - probedAtMs - lagProbeMs));
    probedAtMs = nowMs;
  }, lagProbeMs);
  timer.unref?.();
  return () => clearInterval(timer);
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
      if (stored !== null)
        for (const { endpoint, status } of call.attestations) work.answered(endpoint, status);
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
