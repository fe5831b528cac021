/** What is counted in memory: the traffic and the work done for it. */

import { licenseStatuses } from "../partner/contract.ts";
import { byLabel, type Family, histogram, type Sample } from "./families.ts";
import { exposedBuckets, upperBoundMs } from "./latency.ts";
import { methods, type RequestCounters } from "./requests.ts";
import {
  answerOperations,
  databaseRequests,
  deliveryOutcomes,
  groupBounds,
  type WorkCounters,
} from "./work.ts";

export const counterFamilies: readonly Family[] = [
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
    read({ accessLog }) {
      const figures = accessLog();
      return figures && byLabel("outcome", { written: figures.written, dropped: figures.dropped });
    },
  },
  {
    name: "tvs_answers_total",
    type: "counter",
    help: "Teachers answered for, by endpoint and licence status; each item of a batch is one",
    read: ({ work }) =>
      answerOperations.flatMap((endpoint) =>
        licenseStatuses.map((status) => ({
          value: work.total(`answers: ${endpoint} ${status}`),
          labels: { endpoint, status },
        })),
      ),
  },
  {
    name: "tvs_signatures_total",
    type: "counter",
    help: "Signatures made with the private key",
    read: ({ work }) => work.total("signatures made"),
  },
  {
    name: "tvs_signature_failures_total",
    type: "counter",
    help: "Signatures that were requested and failed",
    read: ({ work }) => work.total("signatures failed"),
  },
  {
    name: "tvs_signing_queue_length",
    type: "gauge",
    help: "Signatures that were requested and are not made yet",
    read: ({ work }) => work.total("signatures under way"),
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
    read: ({ work }) => work.total("commits: held ms") / 1000,
  },
  {
    name: "tvs_database_requests_total",
    type: "counter",
    help: "Requests to the server of the database, by kind; none where it is a file",
    read: ({ work }) =>
      databaseRequests.map((kind) => ({ value: work.total(`requests: ${kind}`), labels: { kind } })),
  },
  {
    name: "tvs_webhook_deliveries_total",
    type: "counter",
    help: "Attempts to deliver a webhook, by outcome; dead: it failed and is not tried again",
    read: ({ work }) =>
      deliveryOutcomes.map((outcome) => ({
        value: work.total(`deliveries: ${outcome}`),
        labels: { outcome },
      })),
  },
];

function routeName({ routes }: RequestCounters, route: number): string {
  return routes[route]?.route ?? "other";
}

function durationSamples(requests: RequestCounters, route: number): Sample[] {
  const counts = requests.buckets(route);
  const count = counts.reduce((sum, one) => sum + one, 0);
  if (count === 0) return [];
  const upTo = (last: number) => counts.subarray(0, last + 1).reduce((sum, one) => sum + one, 0);
  return histogram(
    exposedBuckets.map((last) => [upperBoundMs(last) / 1000, upTo(last)]),
    { count, sum: requests.totalMs(route) / 1000, labels: { route: routeName(requests, route) } },
  );
}

function groupSamples(work: WorkCounters): Sample[] {
  let below = 0;
  const bounds = groupBounds.map((bound): [number, number] => {
    below += work.total(`commits: up to ${bound} acts`);
    return [bound, below];
  });
  return histogram(bounds, { count: work.total("commits"), sum: work.total("commits: acts") });
}
