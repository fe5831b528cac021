import { type Metric, Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { Configuration } from "../domain/configuration.ts";
import { listLastExpiries } from "../domain/credentials.ts";
import { lossKinds, noLosses } from "../domain/import/losses.ts";
import type { EndpointFigures, LatestReadings } from "../domain/readings.ts";
import { rotationTimes } from "../domain/rotation.ts";
import type { LogFigures } from "../store/evidence/log.ts";
import { type Counters, findMetricFamily } from "./counters.ts";
import type { TrafficHistory } from "./history.ts";
import { countOpenFiles, readOpenFileLimit } from "./process-use.ts";
import type { RefusalCounter } from "./refusals.ts";

export type MetricsSources = {
  readonly counters: Counters;
  readonly refusals: RefusalCounter;
  readonly history: TrafficHistory;
  readonly readings: () => Promise<LatestReadings>;
  readonly configuration: Pick<Configuration, "current">;
  readonly clock: Clock;
  readonly startedAt: number;
  /** The name and version of the engine that signs. */
  readonly signingEngine: () => string;
  /** How many signer threads run, and how many died. `lastDeathAt` is null if none died. */
  readonly signers: () => Readonly<{ running: number; deaths: number; lastDeathAt: number | null }>;
  /** By how many milliseconds this machine's clock is ahead of the database's. */
  readonly clockAheadMs: () => number;
  /** Returns true if the disk refused the last commit of evidence; `/health` then answers 503. */
  readonly isDiskRefusing: () => boolean;
  readonly build: Readonly<Record<"version" | "runtime" | "environment", string>>;
};

export type CurrentMetrics = Awaited<ReturnType<typeof readMetrics<MetricsSources>>>;

export async function readMetrics<S extends MetricsSources>({ readings, configuration, clock, ...rest }: S) {
  const [read, totals] = await Promise.all([readings(), rest.counters.totals()]);
  return { ...rest, ...read, totals, snapshot: configuration.current(), now: clock.now() };
}

/** `/metrics` shows the longest lag of the last 16 s, so Prometheus, which scrapes every 15 s, misses none. */
const lagWindowMs = 16_000;

const lossLabels = {
  validLicenses: "license",
  verifiedCertificates: "certificate",
  revocations: "revocation",
} as const;

/** For each metric that is not a counter, by the metric's name: the function that reads its current value. */
const readers: Readonly<Record<string, Reader>> = {
  tvs_signing_queue_length: ({ counters }) => counters.signaturesUnderWay(),
  tvs_webhook_backlog: ({ readings }) =>
    (readings?.backlog ?? []).flatMap(({ partnerId, pending, dead, heldBy }) =>
      byLabel("state", { pending, held: heldBy === null ? 0 : pending, dead }, { partner: partnerId }),
    ),
  tvs_webhook_oldest_due_seconds: ({ readings, now }) =>
    (readings?.backlog ?? []).map(({ partnerId, oldestDueAt }) => ({
      value: oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt) / 1000,
      labels: { partner: partnerId },
    })),
  tvs_webhook_endpoint_failing: ofEndpoints((one) => one.failingSince !== null),
  tvs_webhook_endpoint_disabled: ofEndpoints((one) => one.disabledReason !== null),
  tvs_quota_used: ofQuotas("used"),
  tvs_quota_limit: ofQuotas("limit"),
  tvs_key_age_seconds({ snapshot, now }) {
    const { active, pending } = snapshot.keys;
    const seconds = (since: number) => Math.max(0, now - since) / 1000;
    return byLabel("state", {
      active: seconds(active.activatedAt ?? active.createdAt),
      pending: seconds(pending.publishedAt),
    });
  },
  tvs_key_rotation_due: ({ snapshot, now }) => Number(rotationTimes(snapshot.keys, now).isDue),
  tvs_credential_end_timestamp_seconds: ({ snapshot }) =>
    listLastExpiries(snapshot.credentials).map(({ partnerId, kind, endsAt }) => ({
      value: endsAt / 1000,
      labels: { partner: partnerId, kind },
    })),
  tvs_log_leaves: ofLog(({ size, waiting }) => byLabel("state", { sequenced: size, waiting })),
  tvs_log_uncovered_seconds: ofLog(({ uncoveredSince }, now) =>
    uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000,
  ),
  tvs_log_checkpoint_leaves: ofLog(({ signedSize }) => signedSize),
  tvs_log_checkpoint_timestamp_seconds: ofLog(({ signedAt }) => (signedAt === null ? null : signedAt / 1000)),
  tvs_teachers({ readings }) {
    if (readings === null) return null;
    const { total, active, byLicenseStatus } = readings.teachers;
    // NOT_FOUND also counts the inactive teachers, who are not part of this metric.
    const missed = byLicenseStatus.NOT_FOUND - (total - active);
    return byLabel("status", { ...byLicenseStatus, NOT_FOUND: missed });
  },
  tvs_import_last_finished_timestamp_seconds: ({ readings }) =>
    readings?.appliedAt == null ? null : readings.appliedAt / 1000,
  tvs_import_last_rejected_rows: ({ readings }) =>
    readings?.imports.find((one) => one.finishedAt !== null)?.rejected ?? null,
  tvs_import_lost_ratio({ readings }) {
    const { lost, of } = readings?.losses ?? noLosses;
    const ratioOf = (kind: (typeof lossKinds)[number]) => lost[kind] / Math.max(of[kind], 1);
    return lossKinds.map((kind) => ({ value: ratioOf(kind), labels: { kind: lossLabels[kind] } }));
  },
  tvs_store_up: ({ hasFailed }) => Number(!hasFailed),
  tvs_disk_refusing: ({ isDiskRefusing }) => Number(isDiskRefusing()),
  tvs_event_loop_lag_seconds: ({ history, now }) =>
    Math.max(0, ...history.points(now - lagWindowMs).map(({ lagMs }) => lagMs)) / 1000,
  tvs_signers: ({ signers }) => signers().running,
  tvs_signer_deaths_total: ({ signers }) => signers().deaths,
  tvs_clock_ahead_seconds: ({ clockAheadMs }) => clockAheadMs() / 1000,
  tvs_signing_engine_info: ({ signingEngine }) => [{ value: 1, labels: { engine: signingEngine() } }],
  tvs_build_info: ({ build }) => [{ value: 1, labels: build }],
  process_cpu_seconds_total: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  process_resident_memory_bytes: () => process.memoryUsage.rss(),
  process_open_fds: countOpenFiles,
  process_max_fds: readOpenFileLimit,
  process_start_time_seconds: ({ startedAt }) => startedAt / 1000,
};

function ofEndpoints(holds: (one: EndpointFigures) => boolean): Reader {
  return ({ readings }) =>
    (readings?.endpoints ?? []).map((one) => {
      return { value: Number(holds(one)), labels: { partner: one.partnerId } };
    });
}

function ofQuotas(figure: "used" | "limit"): Reader {
  return ({ readings }) =>
    (readings?.quotas ?? []).flatMap(({ partner: { partnerId }, use: { minute, day } }) =>
      byLabel("window", { minute: minute[figure], day: day[figure] }, { partner: partnerId }),
    );
}

/** Makes a reader of the evidence log. It gives no value until the database has been read and the log has begun. */
function ofLog(read: (log: LogFigures, now: number) => number | null | readonly Sample[]): Reader {
  return ({ readings, now }) => (readings?.log == null ? null : read(readings.log, now));
}

type Sample = { readonly value: number; readonly labels?: Readonly<Record<string, string | number>> };

/** A function that reads a metric's number, or samples if the metric has labels; null if the metric has no value. */
type Reader = (input: CurrentMetrics) => number | null | readonly Sample[];

/** Makes a sample for each value of a label; all samples also have the labels `shared`. */
function byLabel(
  label: string,
  values: Readonly<Record<string, number>>,
  shared: Readonly<Record<string, string>> = {},
): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { ...shared, [label]: name } }));
}

export const expositionContentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** Makes the text that Prometheus scrapes (exposition format 0.0.4). */
export async function formatExposition(sources: MetricsSources): Promise<string> {
  const registry = new Registry();
  for (const metric of [...sources.counters.metrics, sources.refusals.metric])
    registry.registerMetric(metric);
  const state = await readMetrics(sources);
  for (const [name, read] of Object.entries(readers)) registry.registerMetric(asMetric(name, read(state)));
  return registry.metrics();
}

/** Makes a metric of values that were already read. The registry uses only these members, so the cast is safe. */
function asMetric(name: string, found: ReturnType<Reader>): Metric {
  const samples = typeof found === "number" ? [{ value: found }] : (found ?? []);
  const values = samples.map(({ value, labels = {} }: Sample) => ({ value, labels }));
  const family = findMetricFamily(name);
  return { ...family, get: async () => ({ ...family, values }) } as unknown as Metric;
}
