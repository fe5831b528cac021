import { Counter, Histogram } from "prom-client";
import manual from "../../data/help/metrics.md" with { type: "text" };
import { type AttestedOperation, statementStatus } from "../domain/attestations.ts";
import type { Signer } from "../domain/envelopes.ts";
import { operationOfScope } from "../domain/partners.ts";
import type { PublicLookup } from "../domain/teachers/public-lookup.ts";
import { licenseStatuses } from "../partner/contract.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { Outbox } from "../store/outbox.ts";
import { makeHistogram, recordDuration } from "./durations.ts";

/** The kind of a request: a public lookup, a call that needs a partner's credential, or anything else. */
export type TrafficKind = "public" | "partner" | "other";

/** A route with its kind of traffic. Requests of a route without a kind are counted under the route `other`. */
type CountedRoute = { readonly path: string; readonly traffic?: TrafficKind };

/** The operations that answer about teachers: the public lookup and the partner operations. */
export const teacherOperations: readonly (AttestedOperation | "public-lookup")[] = [
  "public-lookup",
  ...Object.values(operationOfScope),
];

/** Upper bounds of a histogram's buckets, in seconds: from 0.125 ms, each twice the one before, to 8.192 s. */
const durationBounds = Array.from({ length: 17 }, (_, step) => 0.000125 * 2 ** step);
const groupBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"];

/** Every metric, read from the tables of data/help/metrics.md, so that `/metrics` and the manual use the same words. */
export const metricFamilies = [...manual.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)].map(
  ([, name = "", type = "", labels = "", help = ""]) => ({
    ...{ name, type, help, labelNames: labels.match(/\w+/g) ?? ([] as string[]) },
  }),
);

/** Finds a metric's description. @throws Error if the manual does not have the metric */
export function findMetricFamily(name: string) {
  const family = metricFamilies.find((one) => one.name === name);
  if (family === undefined) throw new Error(`data/help/metrics.md has no row for ${name}`);
  return family;
}

/** Makes a Prometheus counter. @param zeros label values that are shown as 0 before anything is counted */
export function createMetricCounter(name: string, zeros: readonly Readonly<Record<string, string>>[] = []) {
  const counter = new Counter({ ...findMetricFamily(name), registers: [] });
  for (const labels of zeros) counter.inc(labels, 0);
  return counter;
}

function histogramOf(name: string, bounds: readonly number[]) {
  return new Histogram({ ...findMetricFamily(name), registers: [], buckets: [...bounds] });
}

const newRoute = (traffic: TrafficKind) => ({ traffic, durations: makeHistogram() });

/** What this process counted between two calls of `takeInterval`. */
export type IntervalCounts = ReturnType<typeof newInterval>;

/** Starts the counts of an interval. @param signingPeak the signatures that callers wait for when the interval begins */
const newInterval = (signingPeak: number) => ({
  durations: { public: makeHistogram(), partner: makeHistogram(), other: makeHistogram() },
  ...{ refused: 0, failed: 0, delivered: 0, undelivered: 0 },
  ...{ signatures: 0, signingPeak, commits: 0, writes: 0 },
  /** The longest delay of a timer by the event loop, in milliseconds. */
  lagMs: 0,
});

export type Counters = ReturnType<typeof createServiceCounters>;

/** Makes the counters of this process. @param table the routes; a route without `traffic` counts as `other` */
export function createServiceCounters(table: readonly CountedRoute[]) {
  const other = newRoute("other");
  const routes = new Map([["other", other]]);
  for (const { path, traffic } of table) if (traffic !== undefined) routes.set(path, newRoute(traffic));

  const requests = createMetricCounter("tvs_http_requests_total");
  const durations = histogramOf("tvs_http_request_duration_seconds", durationBounds);
  const statusesOf = (operation: string) => licenseStatuses.map((status) => ({ operation, status }));
  const answers = createMetricCounter("tvs_answers_total", teacherOperations.flatMap(statusesOf));
  const signatures = createMetricCounter("tvs_signatures_total");
  const signatureFailures = createMetricCounter("tvs_signature_failures_total");
  const groups = histogramOf("tvs_commit_group_size", groupBounds);
  const kinds = [{ kind: "read" }, { kind: "commit" }];
  const toServer = createMetricCounter("tvs_database_requests_total", kinds);
  const outcomes = ["delivered", "failed", "dead"].map((outcome) => ({ outcome }));
  const deliveries = createMetricCounter("tvs_webhook_deliveries_total", outcomes);
  let interval = newInterval(0);
  let underWay = 0;

  return {
    /** The counters and histograms that `/metrics` shows. */
    metrics: [requests, durations, answers, signatures, signatureFailures, groups, toServer, deliveries],
    /** The routes that are counted separately, each with its traffic and the histogram of its durations. */
    routes,
    /** Counts an answered request. @param pattern the route's pattern @param durationMs the time until the answer */
    requested(pattern: string, method: string, status: number, durationMs: number): void {
      const route = routes.has(pattern) ? pattern : "other";
      requests.inc({ route, method: methods.includes(method) ? method : "other", status });
      durations.observe({ route }, durationMs / 1000);
      const counted = routes.get(route) ?? other;
      recordDuration(counted.durations, durationMs);
      recordDuration(interval.durations[counted.traffic], durationMs);
      if (status >= 500) interval.failed++;
      else if (status >= 400) interval.refused++;
    },
    answered: (operation: string, status: string, teachers = 1) =>
      answers.inc({ operation, status }, teachers),
    /** Counts a call's signatures as under way until `made` settles, and then as made or failed. */
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
    /** Counts a commit. @param writes the number of writes that shared it */
    committed(writes: number): void {
      groups.observe(writes);
      interval.commits++;
      interval.writes += writes;
    },
    askedServer: (kind: "read" | "commit") => toServer.inc({ kind }),
    /** Counts an attempt to deliver a webhook; `dead` is a failure after which the delivery is given up. */
    attempted(outcome: "delivered" | "failed" | "dead"): void {
      deliveries.inc({ outcome });
      interval[outcome === "delivered" ? "delivered" : "undelivered"]++;
    },
    lagged(ms: number): void {
      interval.lagMs = Math.max(interval.lagMs, ms);
    },
    /** Returns what was counted since the previous call of this function, and starts the next interval. */
    takeInterval(): IntervalCounts {
      const taken = interval;
      interval = newInterval(underWay);
      return taken;
    },
    /** Reads the numbers of requests and of answers about teachers since the start, each with its labels. */
    async totals() {
      const [requested, answered] = await Promise.all([requests.get(), answers.get()]);
      return { requests: requested.values, answers: answered.values };
    },
  };
}

const lagProbeMs = 250;

/** Measures repeatedly how late the event loop runs a timer. @returns a function that stops the measurement */
export function watchEventLoopLag({ lagged }: Pick<Counters, "lagged">): () => void {
  let probedAtMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lagged(Math.max(0, nowMs - probedAtMs - lagProbeMs));
    probedAtMs = nowMs;
  }, lagProbeMs);
  timer.unref();
  return () => clearInterval(timer);
}

export function makeCountingSigner(signer: Signer, counters: Counters): Signer {
  return {
    sign(kid, inputs, options) {
      const made = signer.sign(kid, inputs, options);
      counters.signing(inputs.length, made);
      return made;
    },
  };
}

/** Wraps a store, so that each answer is counted when the answer is stored. Only a stored answer may be sent. */
export function makeCountingStore(store: AttestationStore, { answered }: Counters): AttestationStore {
  return {
    ...store,
    async record(call) {
      const stored = await store.record(call);
      if (stored === null) return null;
      const { attestations, people = [], read } = call;
      for (const { operation, status } of attestations)
        if (status !== statementStatus) answered(operation, status);
        // Counts a statement's teachers who were not found. The loop below counts the teachers who were found.
        else answered("roster", "NOT_FOUND", read.length - people.length);
      for (const { status } of people) answered("roster", status);
      return stored;
    },
  };
}

export function makeCountingLookup(lookup: PublicLookup, { answered }: Counters): PublicLookup {
  return async (term) => {
    const answer = await lookup(term);
    answered("public-lookup", answer.found ? answer.license.status : "NOT_FOUND");
    return answer;
  };
}

/** Wraps an outbox, so that it counts each attempt, unless another sender has taken over the delivery's lease. */
export function makeCountingOutbox(outbox: Outbox, { attempted }: Counters): Outbox {
  return {
    ...outbox,
    async finish(attempt) {
      const isOurs = await outbox.finish(attempt);
      if (isOurs) attempted(typeof attempt.next === "object" ? "failed" : attempt.next);
      return isOurs;
    },
  };
}
