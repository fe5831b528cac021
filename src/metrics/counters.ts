import { Counter, Histogram } from "prom-client";
import manual from "../../data/help/metrics.md" with { type: "text" };
import { type AttestedOperation, statementStatus } from "../domain/attestations.ts";
import type { Signer } from "../domain/envelopes.ts";
import { operationOfScope } from "../domain/partners.ts";
import type { PublicLookup } from "../domain/teachers/public-lookup.ts";
import { licenseStatuses } from "../partner/contract.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { Outbox } from "../store/outbox.ts";
import { bucketCount, bucketOf } from "./durations.ts";

/** Lookups of the public, calls for which partners need a credential, and the rest. */
export type Traffic = "public" | "partner" | "other";

/** A route with its kind of traffic; a route without one is counted as `other`. */
type CountedRoute = { readonly path: string; readonly traffic?: Traffic };

/** The operations that answer about teachers: the public lookup and the partner operations. */
export const answerOperations: readonly (AttestedOperation | "public-lookup")[] = [
  "public-lookup",
  ...Object.values(operationOfScope),
];

/** Upper bounds in seconds: 0.125 ms, doubling, to 8.192 s. */
const durationBounds = Array.from({ length: 17 }, (_, step) => 0.000125 * 2 ** step);
const groupBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"];

/** Every metric as the manual describes it, which is also how `/metrics` does. */
export const families = [...manual.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)].map(
  ([, name = "", type = "", labels = "", help = ""]) => ({
    ...{ name, type, help, labelNames: labels.match(/\w+/g) ?? ([] as string[]) },
  }),
);

/** @throws Error for a metric that the manual does not have */
export function familyOf(name: string) {
  const family = families.find((one) => one.name === name);
  if (family === undefined) throw new Error(`data/help/metrics.md has no row for ${name}`);
  return family;
}

/** @param zeros label values that are shown before anything is counted */
export function counterOf(name: string, zeros: readonly Readonly<Record<string, string>>[] = []) {
  const counter = new Counter({ ...familyOf(name), registers: [] });
  for (const labels of zeros) counter.inc(labels, 0);
  return counter;
}

function histogramOf(name: string, bounds: readonly number[]) {
  return new Histogram({ ...familyOf(name), registers: [], buckets: [...bounds] });
}

const newDurations = () => new Float64Array(bucketCount);
const newRoute = (traffic: Traffic) => ({ traffic, durations: newDurations() });

/** The counts between two points of the console's charts. */
export type Interval = ReturnType<typeof newInterval>;

/** @param signingPeak the most signatures that callers wait for at the same time */
const newInterval = (signingPeak: number) => ({
  durations: { public: newDurations(), partner: newDurations(), other: newDurations() },
  ...{ refused: 0, failed: 0, delivered: 0, undelivered: 0 },
  ...{ signatures: 0, signingPeak, commits: 0, writes: 0 },
  /** The longest time that the event loop made a timer wait. */
  lagMs: 0,
});

export type Counters = ReturnType<typeof createCounters>;

/** Everything that this process counts. @param table the routes; each with traffic is counted separately */
export function createCounters(table: readonly CountedRoute[]) {
  const other = newRoute("other");
  const routes = new Map([["other", other]]);
  for (const { path, traffic } of table) if (traffic !== undefined) routes.set(path, newRoute(traffic));

  const requests = counterOf("tvs_http_requests_total");
  const durations = histogramOf("tvs_http_request_duration_seconds", durationBounds);
  const statusesOf = (operation: string) => licenseStatuses.map((status) => ({ operation, status }));
  const answers = counterOf("tvs_answers_total", answerOperations.flatMap(statusesOf));
  const signatures = counterOf("tvs_signatures_total");
  const signatureFailures = counterOf("tvs_signature_failures_total");
  const groups = histogramOf("tvs_commit_group_size", groupBounds);
  const kinds = [{ kind: "read" }, { kind: "commit" }];
  const toServer = counterOf("tvs_database_requests_total", kinds);
  const outcomes = ["delivered", "failed", "dead"].map((outcome) => ({ outcome }));
  const deliveries = counterOf("tvs_webhook_deliveries_total", outcomes);
  let interval = newInterval(0);
  let underWay = 0;

  return {
    /** The metrics that Prometheus reads. */
    metrics: [requests, durations, answers, signatures, signatureFailures, groups, toServer, deliveries],
    /** The routes that are counted separately, each with its traffic and its durations since the start. */
    routes,
    /** Counts a request. @param pattern that its path matched @param durationMs until its answer */
    requested(pattern: string, method: string, status: number, durationMs: number): void {
      const route = routes.has(pattern) ? pattern : "other";
      requests.inc({ route, method: methods.includes(method) ? method : "other", status });
      durations.observe({ route }, durationMs / 1000);
      const counted = routes.get(route) ?? other;
      const bucket = bucketOf(durationMs);
      for (const counts of [counted.durations, interval.durations[counted.traffic]])
        counts[bucket] = (counts[bucket] as number) + 1;
      if (status >= 500) interval.failed++;
      else if (status >= 400) interval.refused++;
    },
    answered: (operation: string, status: string, teachers = 1) =>
      answers.inc({ operation, status }, teachers),
    /** Counts signatures that a call asks for. @param made settles when they are made */
    signing(count: number, made: Promise<unknown>): void {
      underWay += count;
      interval.signingPeak = Math.max(interval.signingPeak, underWay);
      const countIn = (counter: Counter) => () => {
        underWay -= count;
        counter.inc(count);
        if (counter === signatures) interval.signatures += count;
      };
      made.then(countIn(signatures), countIn(signatureFailures));
    },
    signaturesUnderWay: () => underWay,
    /** @param writes that shared the commit */
    committed(writes: number): void {
      groups.observe(writes);
      interval.commits++;
      interval.writes += writes;
    },
    askedServer: (kind: "read" | "commit") => toServer.inc({ kind }),
    /** Counts an attempt to deliver a webhook; after one that is `dead` nothing is tried again. */
    attempted(outcome: "delivered" | "failed" | "dead"): void {
      deliveries.inc({ outcome });
      interval[outcome === "delivered" ? "delivered" : "undelivered"]++;
    },
    lagged(ms: number): void {
      interval.lagMs = Math.max(interval.lagMs, ms);
    },
    /** The counts since the last call. */
    takeInterval(): Interval {
      const taken = interval;
      interval = newInterval(underWay);
      return taken;
    },
    /** Requests since the start, and teachers answered for, each number with its labels. */
    async totals() {
      const [requested, answered] = await Promise.all([requests.get(), answers.get()]);
      return { requests: requested.values, answers: answered.values };
    },
  };
}

const lagProbeMs = 250;

/** Watches the event loop. @returns ends it */
export function watchLag({ lagged }: Pick<Counters, "lagged">): () => void {
  let probedAtMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lagged(Math.max(0, nowMs - probedAtMs - lagProbeMs));
    probedAtMs = nowMs;
  }, lagProbeMs);
  timer.unref();
  return () => clearInterval(timer);
}

// Wrappers that count, around ports of the domain.

export function countedSigner(signer: Signer, counters: Counters): Signer {
  return {
    sign(kid, inputs, options) {
      const made = signer.sign(kid, inputs, options);
      counters.signing(inputs.length, made);
      return made;
    },
  };
}

/** Counts answers when they are stored, which is when they may leave. */
export function countedAttestations(store: AttestationStore, { answered }: Counters): AttestationStore {
  return {
    ...store,
    async record(call) {
      const stored = await store.record(call);
      if (stored === null) return null;
      const { attestations, people = [], read } = call;
      for (const { operation, status } of attestations)
        if (status !== statementStatus) answered(operation, status);
        // A statement counts every teacher that it covers, those who were not found too.
        else answered("roster", "NOT_FOUND", read.length - people.length);
      for (const { status } of people) answered("roster", status);
      return stored;
    },
  };
}

export function countedPublicLookup(lookup: PublicLookup, { answered }: Counters): PublicLookup {
  return async (term) => {
    const answer = await lookup(term);
    answered("public-lookup", answer.found ? answer.license.status : "NOT_FOUND");
    return answer;
  };
}

/** Counts attempts whose lease was still held. */
export function countedOutbox(outbox: Outbox, { attempted }: Counters): Outbox {
  return {
    ...outbox,
    async finish(attempt) {
      const isOurs = await outbox.finish(attempt);
      if (isOurs) attempted(typeof attempt.next === "object" ? "failed" : attempt.next);
      return isOurs;
    },
  };
}
