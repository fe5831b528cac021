/** What is read when a scrape comes: the process, the keys, the nodes, and what the database says. */

import { credentialEnds } from "../domain/credentials.ts";
import { type EvidenceFigures, lateAnchors } from "../domain/evidence/figures.ts";
import { lossKinds, noLosses } from "../domain/import/losses.ts";
import type { KeyRing } from "../domain/keys.ts";
import type { EndpointReading, Readings } from "../domain/readings.ts";
import { rotationOf } from "../domain/rotation.ts";
import { byLabel, type Families, type Reader, type Sample } from "./exposition.ts";
import { readMaxFiles, readOpenFiles, readProcessUse } from "./process-use.ts";

/** The time over which the longest lag is told: scrapes come every 15 seconds, and one between two is still seen. */
const lagWindowMs = 16_000;

const lossLabels = {
  validLicenses: "license",
  verifiedCertificates: "certificate",
  revocations: "revocation",
} as const;

export const stateFamilies: Families = {
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
  // How the evidence log does; none of it before the log was opened.
  tvs_log_epoch: ofLog(({ epoch }) => epoch),
  tvs_log_leaves: ofLog(({ size, waiting }) => byLabel("state", { sequenced: size, waiting })),
  tvs_log_uncovered_seconds: ofLog(({ uncoveredSince }, now) =>
    uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000,
  ),
  tvs_log_checkpoint_leaves: ofLog(({ signedSize }) => signedSize),
  tvs_log_checkpoint_timestamp_seconds: ofLog(({ signedAt }) => (signedAt === null ? null : signedAt / 1000)),
  tvs_log_anchor_timestamp_seconds: ofLog(({ anchors }) => {
    const byKind = Map.groupBy(anchors, ({ kind }) => kind);
    return [...byKind].map(([kind, those]) => ({
      value: Math.max(...those.map(({ anchoredAt }) => anchoredAt)) / 1000,
      labels: { kind },
    }));
  }),
  tvs_log_anchors_late: ofLog((log, now) => lateAnchors(log, now).length),
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
  tvs_nodes: ({ node }) => {
    const { nodes } = node();
    const count = (wanted: string) => nodes.filter(({ state }) => state === wanted).length;
    return byLabel("state", { live: count("live"), gone: count("gone") });
  },
  tvs_node_clock_ahead_seconds: ({ node }) => node().clockAheadMs / 1000,
  tvs_node_keeps_house: ({ node }) => Number(node().keepsHouse),
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
function ofLog(read: (log: EvidenceFigures, now: number) => number | null | readonly Sample[]): Reader {
  return ({ readings, now }) => (readings?.log == null ? null : read(readings.log, now));
}
