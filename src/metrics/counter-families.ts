/** What is counted in memory: the traffic and the work done for it. */

import { licenseStatuses } from "../partner/contract.ts";
import { errorCodes } from "../partner/error-codes.ts";
import { type Families, histogramSamples, type Sample } from "./exposition.ts";
import { exposedBuckets, upperBoundMs } from "./latency.ts";
import { methods, type RequestCounters } from "./requests.ts";
import {
  answerOperations,
  databaseRequests,
  deliveryOutcomes,
  groupBounds,
  type WorkCounters,
} from "./work.ts";

export const counterFamilies: Families = {
  tvs_http_requests_total: ({ requests }) =>
    requests.counts().map(({ route, method, status, count }) => ({
      value: count,
      labels: { route: routeName(requests, route), method: methods[method] ?? "other", status },
    })),
  tvs_http_request_duration_seconds: ({ requests }) =>
    requests.routes.flatMap((_, route) => durationSamples(requests, route)),
  tvs_calls_refused_total: ({ refusals }) =>
    refusals.byPartner().map(({ partnerId, code, count }) => ({
      value: count,
      labels: { ...(partnerId !== null && { partner: partnerId }), code, status: errorCodes[code].status },
    })),
  tvs_answers_total: ({ work }) =>
    answerOperations.flatMap((endpoint) =>
      licenseStatuses.map((status) => ({
        value: work.total(`answers: ${endpoint} ${status}`),
        labels: { endpoint, status },
      })),
    ),
  tvs_signatures_total: ({ work }) => work.total("signatures made"),
  tvs_signature_failures_total: ({ work }) => work.total("signatures failed"),
  tvs_signing_queue_length: ({ work }) => work.total("signatures under way"),
  tvs_commit_group_size: ({ work }) => groupSamples(work),
  tvs_commit_lock_seconds_total: ({ work }) => work.total("commits: held ms") / 1000,
  tvs_database_requests_total: ({ work }) =>
    databaseRequests.map((kind) => ({ value: work.total(`requests: ${kind}`), labels: { kind } })),
  tvs_webhook_deliveries_total: ({ work }) =>
    deliveryOutcomes.map((outcome) => ({
      value: work.total(`deliveries: ${outcome}`),
      labels: { outcome },
    })),
};

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
