import type { AccessLogFigures } from "../domain/calls.ts";
import { licenseStatuses } from "../partner/contract.ts";
import { exposedBuckets, upperBoundMs } from "./latency.ts";
import type { Refusals } from "./refusals.ts";
import { methods, type RequestCounters } from "./requests.ts";
import {
  answerOperations,
  databaseRequests,
  deliveryOutcomes,
  groupBounds,
  type WorkCounters,
} from "./work.ts";

/** One number under its labels. `suffix` is `_bucket`, `_sum` or `_count` of a histogram. */
export type Sample = {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly suffix?: string;
};

/** One metric: its name says unit and kind as Prometheus asks for it, and stands in data/help/metrics.md. */
export type Family<Sources> = {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  read(sources: Sources): readonly Sample[];
};

export type CounterSources = {
  readonly requests: RequestCounters;
  readonly work: WorkCounters;
  readonly refusals: Refusals;
  /** Null when no access log is kept. */
  readonly accessLog: () => AccessLogFigures | null;
};

/** What is counted in memory: the traffic and the work done for it. */
export const counterFamilies: readonly Family<CounterSources>[] = [
  {
    name: "tvs_http_requests_total",
    type: "counter",
    help: "Requests answered, by route pattern, method and HTTP status",
    read: ({ requests }) =>
      requests.counts().map(({ route, method, status, count }) => ({
        value: count,
        labels: { route: routeName(requests, route), method: methods[method] ?? "other", status },
      })),
  },
  {
    name: "tvs_http_request_duration_seconds",
    type: "histogram",
    help: "Time from a request's arrival to its answer, by route pattern",
    read: ({ requests }) => requests.routes.flatMap((_, route) => durationSamples(requests, route)),
  },
  {
    name: "tvs_calls_refused_total",
    type: "counter",
    help: "Partner calls answered with 4xx, by partner and HTTP status; a 401 has no partner",
    read: ({ refusals }) =>
      refusals.byPartner().map(({ partnerId, status, count }) => ({
        value: count,
        labels: partnerId === null ? { status } : { partner: partnerId, status },
      })),
  },
  {
    name: "tvs_access_log_rows_total",
    type: "counter",
    help: "Calls that the access log has written, and those that it had to drop; none where it is off",
    read: ({ accessLog }) => {
      const figures = accessLog();
      if (figures === null) return [];
      return (["written", "dropped"] as const).map((outcome) => ({
        value: figures[outcome],
        labels: { outcome },
      }));
    },
  },
  {
    name: "tvs_answers_total",
    type: "counter",
    help: "Teachers answered for, by endpoint and licence status; each item of a batch is one",
    read: ({ work }) =>
      answerOperations.flatMap((operation) =>
        licenseStatuses.map((status) => ({
          value: work.answers(operation, status),
          labels: { endpoint: operation, status },
        })),
      ),
  },
  {
    name: "tvs_signatures_total",
    type: "counter",
    help: "Signatures made with the private key",
    read: ({ work }) => [{ value: work.signatures().made }],
  },
  {
    name: "tvs_signature_failures_total",
    type: "counter",
    help: "Signatures that were requested and failed",
    read: ({ work }) => [{ value: work.signatures().failed }],
  },
  {
    name: "tvs_signing_queue_length",
    type: "gauge",
    help: "Signatures that were requested and are not made yet",
    read: ({ work }) => [{ value: work.signatures().underWay }],
  },
  {
    name: "tvs_commit_group_size",
    type: "histogram",
    help: "Database writes that shared one commit to the disk",
    read: ({ work }) => groupSamples(work),
  },
  {
    name: "tvs_commit_lock_seconds_total",
    type: "counter",
    help: "Time for which a commit kept the other threads from committing",
    read: ({ work }) => [{ value: work.commits().heldMs / 1000 }],
  },
  {
    name: "tvs_database_requests_total",
    type: "counter",
    help: "Requests to the server of the database, by kind; none where it is a file",
    read: ({ work }) => databaseRequests.map((kind) => ({ value: work.requests(kind), labels: { kind } })),
  },
  {
    name: "tvs_webhook_deliveries_total",
    type: "counter",
    help: "Attempts to deliver a webhook, by outcome; dead: it failed and is not tried again",
    read: ({ work }) =>
      deliveryOutcomes.map((outcome) => ({ value: work.deliveries(outcome), labels: { outcome } })),
  },
];

function routeName({ routes }: RequestCounters, route: number): string {
  return routes[route]?.route ?? "other";
}

function durationSamples(requests: RequestCounters, route: number): Sample[] {
  const counts = requests.buckets(route);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return [];
  const labels = { route: routeName(requests, route) };
  let bucket = 0;
  let below = 0;
  const upTo = (last: number) => {
    for (; bucket <= last; bucket++) below += counts[bucket] ?? 0;
    return below;
  };
  return [
    ...exposedBuckets.map((last) => ({
      value: upTo(last),
      labels: { ...labels, le: upperBoundMs(last) / 1000 },
      suffix: "_bucket",
    })),
    { value: total, labels: { ...labels, le: "+Inf" }, suffix: "_bucket" },
    { value: requests.totalMs(route) / 1000, labels, suffix: "_sum" },
    { value: total, labels, suffix: "_count" },
  ];
}

function groupSamples(work: WorkCounters): Sample[] {
  const { groups, acts, buckets } = work.commits();
  let below = 0;
  return [
    ...groupBounds.map((le, index) => {
      below += buckets[index] ?? 0;
      return { value: below, labels: { le }, suffix: "_bucket" };
    }),
    { value: groups, labels: { le: "+Inf" }, suffix: "_bucket" },
    { value: acts, suffix: "_sum" },
    { value: groups, suffix: "_count" },
  ];
}
