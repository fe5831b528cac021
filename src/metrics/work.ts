import { type AnsweredCall, type AttestedOperation, statementStatus } from "../domain/attestations.ts";
import type { Signer } from "../domain/envelopes.ts";
import { operationOfScope } from "../domain/partners.ts";
import type { PublicLookup } from "../domain/teachers/public-lookup.ts";
import { licenseStatuses } from "../partner/contract.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { Outbox } from "../store/outbox.ts";
import { newBlocks, openBlocks, type SharedBlocks } from "./blocks.ts";

/** The operations that answer about teachers: the public lookup and the partner operations. */
type AnswerOperation = AttestedOperation | "public-lookup";
export const answerOperations: readonly AnswerOperation[] = [
  "public-lookup",
  ...Object.values(operationOfScope),
];

/** What became of an attempt to deliver a webhook; `dead` is a failure after which none is tried again. */
export const deliveryOutcomes = ["delivered", "failed", "dead"] as const;

/** What a request to the server of a database was for. */
export const databaseRequests = ["read", "commit"] as const;

/** Upper bounds of the sizes of a group commit, in acts. */
export const groupBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** What is counted, each by its name. All of them only grow, but for what is under way. */
const counts = [
  ...(["signatures made", "signatures failed", "signatures under way"] as const),
  // `held ms`: for how long no other thread could commit.
  ...(["commits", "commits: acts", "commits: held ms"] as const),
  ...groupBounds.map((bound) => `commits: up to ${bound} acts` as const),
  ...deliveryOutcomes.map((outcome) => `deliveries: ${outcome}` as const),
  // Requests to the server that the database lies on, each a round trip. A file has none.
  ...databaseRequests.map((kind) => `requests: ${kind}` as const),
  ...answerOperations.flatMap((operation) =>
    licenseStatuses.map((status) => `answers: ${operation} ${status}` as const),
  ),
];
type WorkCount = (typeof counts)[number];

/** What a thread has met at worst, and in which period; which period it is stands in the block of the main thread. */
const worstCases = ["queue peak", "lag peak", "period of the peaks", "period"] as const;
type WorstCase = (typeof worstCases)[number];

const names: readonly (WorkCount | WorstCase)[] = [...counts, ...worstCases];
const places = new Map(names.map((name, place) => [name, place]));

export type WorkCounters = ReturnType<typeof createWorkCounters>;

/** `signingQueue`: signatures that were waited for at once; `lagMs`: how long a timer waited for the event loop. */
type Peaks = { readonly signingQueue: number; readonly lagMs: number };

/** The counters of one process, for as many threads as serve. */
export function newWorkCounts(threads: number): SharedArrayBuffer {
  return newBlocks(threads, names.length);
}

/** @param shared the counters of all threads, of {@link newWorkCounts}; without them this thread counts alone */
export function createWorkCounters(shared?: SharedBlocks) {
  const { own, all, sum } = openBlocks(names.length, shared);
  const [main = own] = all;
  // A thread that this one replaces has left none behind.
  set("signatures under way", 0);

  function set(name: WorkCount | WorstCase, value: number): void {
    own[placeOf(name)] = value;
  }

  function count(name: WorkCount, by = 1): void {
    set(name, figure(own, name) + by);
  }

  /** Raises a peak of this period; those of a period that is over go. */
  function raise(peak: "queue peak" | "lag peak", value: number): void {
    if (figure(own, "period of the peaks") !== figure(main, "period")) {
      set("queue peak", figure(own, "signatures under way"));
      set("lag peak", 0);
      set("period of the peaks", figure(main, "period"));
    }
    set(peak, Math.max(figure(own, peak), value));
  }

  function peaksOf(block: Float64Array): Peaks {
    if (figure(block, "period of the peaks") !== figure(main, "period"))
      return { signingQueue: figure(block, "signatures under way"), lagMs: 0 };
    return { signingQueue: figure(block, "queue peak"), lagMs: figure(block, "lag peak") };
  }

  return {
    count,
    total: (name: WorkCount) => sum(placeOf(name)),
    /** @param signatures how many a call asks for */
    signingBegan(signatures: number): void {
      count("signatures under way", signatures);
      raise("queue peak", figure(own, "signatures under way"));
    },
    signingEnded(signatures: number, hasFailed: boolean): void {
      count("signatures under way", -signatures);
      count(hasFailed ? "signatures failed" : "signatures made", signatures);
    },
    isSigning: () => figure(own, "signatures under way") > 0,
    /** A group of acts was committed together. @param heldMs for how long no other thread could commit */
    committed(acts: number, heldMs: number): void {
      count("commits");
      count("commits: acts", acts);
      count("commits: held ms", heldMs);
      const bound = groupBounds.find((most) => acts <= most);
      if (bound !== undefined) count(`commits: up to ${bound} acts`);
    },
    /** The event loop of this thread made a timer wait for so long. */
    lagged: (ms: number) => raise("lag peak", ms),
    /** The worst of any thread since the last call of this, which is the main thread's alone to make. */
    takePeaks(): Peaks {
      const peaks = all.map(peaksOf);
      set("period", figure(own, "period") + 1);
      return {
        signingQueue: Math.max(...peaks.map(({ signingQueue }) => signingQueue)),
        lagMs: Math.max(...peaks.map(({ lagMs }) => lagMs)),
      };
    },
  };
}

function placeOf(name: WorkCount | WorstCase): number {
  return places.get(name) as number;
}

function figure(block: Float64Array, name: WorkCount | WorstCase): number {
  return block[placeOf(name)] as number;
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
      if (stored !== null) countAnswers(call, work);
      return stored;
    },
  };
}

/** Teachers answered for; of a statement all whom it speaks of, those of whom nothing is kept because nobody was found too. */
function countAnswers({ attestations, people, read }: AnsweredCall, work: WorkCounters): void {
  for (const { endpoint, status } of attestations)
    if (status !== statementStatus) work.count(`answers: ${endpoint} ${status}`);
  if (people === undefined) return;
  for (const { status } of people) work.count(`answers: roster ${status}`);
  work.count("answers: roster NOT_FOUND", read.length - people.length);
}

/** A public lookup whose answers are counted. */
export function countedPublicLookup(lookup: PublicLookup, work: WorkCounters): PublicLookup {
  return async (term) => {
    const answer = await lookup(term);
    work.count(`answers: public-lookup ${answer.found ? answer.license.status : "NOT_FOUND"}`);
    return answer;
  };
}

/** An outbox whose attempts are counted, those of which the lease was still held. */
export function countedOutbox(outbox: Outbox, work: WorkCounters): Outbox {
  return {
    ...outbox,
    async finish(attempt) {
      const isOurs = await outbox.finish(attempt);
      if (isOurs) work.count(`deliveries: ${typeof attempt.next === "object" ? "failed" : attempt.next}`);
      return isOurs;
    },
  };
}
