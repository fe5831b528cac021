/** What is counted in memory: the traffic and the work done for it. */

import { licenseStatuses } from "../partner/contract.ts";
import { errorCodes } from "../partner/error-codes.ts";
import {
  byLabel,
  counter,
  type Family,
  gauge,
  histogram,
  histogramSamples,
  type Sample,
} from "./families.ts";
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
  counter(
    "tvs_http_requests_total",
    "Requests answered, by route pattern, method and HTTP status",
    ({ requests }) =>
      requests.counts().map(({ route, method, status, count }) => ({
        value: count,
        labels: { route: routeName(requests, route), method: methods[method] ?? "other", status },
      })),
  ),
  histogram(
    "tvs_http_request_duration_seconds",
    "Time from a request's arrival to its answer, by route pattern",
    ({ requests }) => requests.routes.flatMap((_, route) => durationSamples(requests, route)),
  ),
  counter(
    "tvs_calls_refused_total",
    "Partner calls answered with 4xx, by partner, error code and HTTP status; a 401 has no partner",
    ({ refusals }) =>
      refusals.byPartner().map(({ partnerId, code, count }) => ({
        value: count,
        labels: { ...(partnerId !== null && { partner: partnerId }), code, status: errorCodes[code].status },
      })),
  ),
  counter(
    "tvs_access_log_rows_total",
    "Calls that the access log has written, and those that it had to drop; none where it is off",
    ({ accessLog }) => {
      const figures = accessLog();
      return figures && byLabel("outcome", { written: figures.written, dropped: figures.dropped });
    },
  ),
  counter(
    "tvs_answers_total",
    "Teachers answered for, by endpoint and licence status; each item of a batch and each person of a list is one",
    ({ work }) =>
      answerOperations.flatMap((endpoint) =>
        licenseStatuses.map((status) => ({
          value: work.total(`answers: ${endpoint} ${status}`),
          labels: { endpoint, status },
        })),
      ),
  ),
  counter("tvs_signatures_total", "Signatures made with the private key", ({ work }) =>
    work.total("signatures made"),
  ),
  counter("tvs_signature_failures_total", "Signatures that were requested and failed", ({ work }) =>
    work.total("signatures failed"),
  ),
  gauge("tvs_signing_queue_length", "Signatures that were requested and are not made yet", ({ work }) =>
    work.total("signatures under way"),
  ),
  histogram("tvs_commit_group_size", "Database writes that shared one commit to the disk", ({ work }) =>
    groupSamples(work),
  ),
  counter(
    "tvs_commit_lock_seconds_total",
    "Time for which a commit kept the other threads from committing",
    ({ work }) => work.total("commits: held ms") / 1000,
  ),
  counter(
    "tvs_database_requests_total",
    "Requests to the server of the database, by kind; none where it is a file",
    ({ work }) =>
      databaseRequests.map((kind) => ({ value: work.total(`requests: ${kind}`), labels: { kind } })),
  ),
  counter(
    "tvs_webhook_deliveries_total",
    "Attempts to deliver a webhook, by outcome; dead: it failed and is not tried again",
    ({ work }) =>
      deliveryOutcomes.map((outcome) => ({
        value: work.total(`deliveries: ${outcome}`),
        labels: { outcome },
      })),
  ),
];

function routeName({ routes }: RequestCounters, route: number): string {
  return routes[route]?.route ?? "other";
}

function durationSamples(requests: RequestCounters, route: number): Sample[] {
  const counts = requests.buckets(route);
  const count = counts.reduce((sum, one) => sum + one, 0);
  if (count === 0) return [];
  const upTo = (last: number) => counts.subarray(0, last + 1).reduce((sum, one) => sum + one, 0);
  return histogramSamples(
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
  return histogramSamples(bounds, { count: work.total("commits"), sum: work.total("commits: acts") });
}
