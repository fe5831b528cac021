import { type Metric, Registry } from "prom-client";
import manual from "../../data/help/metrics.md" with { type: "text" };
import { credentialEnds } from "../domain/credentials.ts";
import type { LogFigures } from "../domain/evidence/log.ts";
import { lossKinds, noLosses } from "../domain/import/losses.ts";
import type { KeyRing } from "../domain/keys.ts";
import type { EndpointReading, Readings } from "../domain/readings.ts";
import { rotationOf } from "../domain/rotation.ts";
import { licenseStatuses } from "../partner/contract.ts";
import { errorCodes } from "../partner/error-codes.ts";
import { readMaxFiles, readOpenFiles, readProcessUse } from "./process-use.ts";
import { exposedBuckets, methods, type RequestCounters, upperBoundMs } from "./requests.ts";
import { type Look, look, type Sources } from "./sources.ts";
import {
  answerOperations,
  databaseRequests,
  deliveryOutcomes,
  groupBounds,
  type WorkCounters,
} from "./work.ts";

/** The time over which the longest lag is told: scrapes come every 15 seconds, and one between two is still seen. */
const lagWindowMs = 16_000;

const lossLabels = {
  validLicenses: "license",
  verifiedCertificates: "certificate",
  revocations: "revocation",
} as const;

const stateFamilies: Families = {
  tvs_webhook_backlog: ({ readings }) =>
    (readings?.backlog ?? []).flatMap(({ partnerId, pending, dead, heldBy }) =>
      byLabel("state", { pending, held: heldBy === null ? 0 : pending, dead }, { partner: partnerId }),
    ),
  tvs_webhook_oldest_due_seconds: ({ readings, now }) =>
    (readings?.backlog ?? []).map(({ partnerId, oldestDueAt }) => ({
      value: oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt) / 1000,
      labels: { partner: partnerId },
    })),
  tvs_webhook_endpoint_failing: ({ readings }) =>
    endpointSamples(readings, (one) => one.failingSince !== null),
  tvs_webhook_endpoint_disabled: ({ readings }) =>
    endpointSamples(readings, (one) => one.disabledReason !== null),
  tvs_quota_used: ({ readings }) => quotaSamples(readings, "used"),
  tvs_quota_limit: ({ readings }) => quotaSamples(readings, "limit"),
  tvs_key_age_seconds: ({ snapshot, now }) => keySamples(snapshot.keys, now),
  tvs_key_rotation_due: ({ snapshot, now }) => Number(rotationOf(snapshot.keys, now).isDue),
  tvs_credential_end_timestamp_seconds: ({ snapshot }) =>
    credentialEnds(snapshot.credentials).map(({ partnerId, kind, endsAt }) => ({
      value: endsAt / 1000,
      labels: { partner: partnerId, kind },
    })),
  // How the evidence log does; none of it before the log was begun.
  tvs_log_leaves: ofLog(({ size, waiting }) => byLabel("state", { sequenced: size, waiting })),
  tvs_log_uncovered_seconds: ofLog(({ uncoveredSince }, now) =>
    uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000,
  ),
  tvs_log_checkpoint_leaves: ofLog(({ signedSize }) => signedSize),
  tvs_log_checkpoint_timestamp_seconds: ofLog(({ signedAt }) => (signedAt === null ? null : signedAt / 1000)),
  tvs_teachers: ({ readings }) => teacherSamples(readings),
  tvs_import_last_finished_timestamp_seconds: ({ readings }) =>
    readings?.appliedAt == null ? null : readings.appliedAt / 1000,
  tvs_import_last_rejected_rows: ({ readings }) =>
    readings?.imports.find((one) => one.finishedAt !== null)?.rejected ?? null,
  tvs_import_lost_ratio: ({ readings }) =>
    lossKinds.map((kind) => {
      const { lost, of } = readings?.losses ?? noLosses;
      return {
        value: lost[kind] === 0 ? 0 : lost[kind] / Math.max(of[kind], 1),
        labels: { kind: lossLabels[kind] },
      };
    }),
  tvs_store_up: ({ hasFailed }) => Number(!hasFailed),
  tvs_disk_refusing: ({ isDiskRefusing }) => Number(isDiskRefusing()),
  tvs_event_loop_lag_seconds: ({ history, now }) =>
    Math.max(0, ...history.points(now - lagWindowMs).map(({ lagMs }) => lagMs)) / 1000,
  tvs_serving_threads: ({ threads }) => threads().serving,
  tvs_serving_thread_deaths_total: ({ threads }) => threads().deaths,
  tvs_clock_ahead_seconds: ({ clockAheadMs }) => clockAheadMs() / 1000,
  tvs_signing_engine_info: ({ signingEngine }) => [{ value: 1, labels: { engine: signingEngine() } }],
  tvs_build_info: ({ build }) => [{ value: 1, labels: build }],
  process_cpu_seconds_total: () => readProcessUse().cpuSeconds,
  process_resident_memory_bytes: () => readProcessUse().residentBytes,
  process_open_fds: readOpenFiles,
  process_max_fds: readMaxFiles,
  process_start_time_seconds: ({ startedAt }) => startedAt / 1000,
};

function endpointSamples(readings: Readings | null, holds: (one: EndpointReading) => boolean): Sample[] {
  return (readings?.endpoints ?? []).map((one) => ({
    value: Number(holds(one)),
    labels: { partner: one.partnerId },
  }));
}

function quotaSamples(readings: Readings | null, figure: "used" | "limit"): Sample[] {
  return (readings?.quotas ?? []).flatMap(({ partner, use }) =>
    byLabel("window", { minute: use.minute[figure], day: use.day[figure] }, { partner: partner.partnerId }),
  );
}

function keySamples({ active, pending }: KeyRing, now: number): Sample[] {
  const seconds = (since: number) => Math.max(0, now - since) / 1000;
  return byLabel("state", {
    active: seconds(active.activatedAt ?? active.createdAt),
    pending: seconds(pending.publishedAt),
  });
}

function teacherSamples(readings: Readings | null): Sample[] {
  if (readings === null) return [];
  const { total, active, byLicenseStatus } = readings.teachers;
  // Who is not active has no licence, and is not missed.
  return byLabel("status", {
    ...byLicenseStatus,
    NOT_FOUND: byLicenseStatus.NOT_FOUND - (total - active),
  });
}

/** A reader that has nothing to tell while the database was not read, or there is no log yet. */
function ofLog(read: (log: LogFigures, now: number) => number | null | readonly Sample[]): Reader {
  return ({ readings, now }) => (readings?.log == null ? null : read(readings.log, now));
}

const counterFamilies: Families = {
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

/** One number under its labels. `suffix` is `_bucket`, `_sum` or `_count` of a histogram. */
type Sample = {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly suffix?: string;
};

/** Its one number, or all of its samples; null where there is nothing to tell. */
type Reader = (look: Look) => number | null | readonly Sample[];

/** How metrics are read, by their names, which say unit and kind as Prometheus asks for it. */
type Families = Readonly<Record<string, Reader>>;

/** A sample for each value of a label, under what other labels they share. */
function byLabel(
  label: string,
  values: Readonly<Record<string, number>>,
  shared: Readonly<Record<string, string>> = {},
): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { ...shared, [label]: name } }));
}

/**
 * The samples of a histogram: how many were at most each bound, how many there are, and their sum.
 * @param below for each bound how many were not above it
 */
function histogramSamples(
  below: readonly (readonly [bound: number, count: number])[],
  { count, sum, labels = {} }: { count: number; sum: number; labels?: Readonly<Record<string, string>> },
): Sample[] {
  return [
    ...below.map(([le, value]) => ({ value, labels: { ...labels, le }, suffix: "_bucket" })),
    { value: count, labels: { ...labels, le: "+Inf" }, suffix: "_bucket" },
    { value: sum, labels, suffix: "_sum" },
    { value: count, labels, suffix: "_count" },
  ];
}

/** The text that Prometheus reads (its exposition format, version 0.0.4). */
export type Exposition = ReturnType<typeof createExposition>;

type Family = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly read: Reader;
};

/** Every metric that there is, in the order in which it is shown; what it is, the manual says. */
export const families: readonly Family[] = Object.entries({ ...counterFamilies, ...stateFamilies }).map(
  ([name, read]) => {
    const row = new RegExp(`^\\| \`${name}\` \\| (\\w+) \\| [^|]* \\| (.*) \\|$`, "m");
    const [, type = "", help = ""] = row.exec(manual) ?? [];
    return { name, type, help, read };
  },
);

/**
 * The exposition, whose text is made when it is asked for. Nothing of the library is touched by a request: its own
 * counters cost a string and a hash each time, so here it only writes down what plain counters hold.
 */
export function createExposition(sources: Sources) {
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    async text(): Promise<string> {
      const registry = new Registry();
      const state = await look(sources);
      for (const family of families) registry.registerMetric(asMetric(family, state));
      return registry.metrics();
    },
  };
}

/**
 * A metric for the registry whose values stand elsewhere. Of a metric the registry asks only this much; the library's
 * classes would have a histogram observe each duration again.
 */
function asMetric({ name, help, type, read }: Family, state: Look): Metric {
  const found = read(state) ?? [];
  const samples = typeof found === "number" ? [{ value: found }] : found;
  const values = samples.map(({ value, labels = {}, suffix = "" }) => ({
    metricName: `${name}${suffix}`,
    labels,
    value,
  }));
  const metric = { name, help, type, get: async () => ({ name, help, type, values }) };
  return metric as unknown as Metric;
}
