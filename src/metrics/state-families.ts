/** What is read when a scrape comes: the process, the keys, the nodes, and what the database says. */

import { credentialEnds } from "../domain/credentials.ts";
import { type EvidenceFigures, lateAnchors } from "../domain/evidence/figures.ts";
import { type ImportWatch, lastSeenAt } from "../domain/import/source.ts";
import type { KeyRing } from "../domain/keys.ts";
import type { EndpointReading, Readings } from "../domain/readings.ts";
import { rotationOf } from "../domain/rotation.ts";
import { byLabel, counter, type Family, gauge, type Sample } from "./families.ts";
import { readMaxFiles, readOpenFiles, readProcessUse } from "./process-use.ts";

/** The time over which the longest lag is told: scrapes come every 15 seconds, and one between two is still seen. */
const lagWindowMs = 16_000;

export const stateFamilies: readonly Family[] = [
  gauge(
    "tvs_webhook_backlog",
    "Deliveries that were not acknowledged, by partner: pending, held (pending, and nothing is sent) and dead",
    ({ readings }) =>
      (readings?.backlog ?? []).flatMap(({ partnerId, pending, dead, heldBy }) =>
        byLabel("state", { pending, held: heldBy === null ? 0 : pending, dead }, { partner: partnerId }),
      ),
  ),
  gauge(
    "tvs_webhook_oldest_due_seconds",
    "Time since the oldest waiting delivery was due, by partner",
    ({ readings, now }) =>
      (readings?.backlog ?? []).map(({ partnerId, oldestDueAt }) => ({
        value: oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt) / 1000,
        labels: { partner: partnerId },
      })),
  ),
  gauge(
    "tvs_webhook_endpoint_failing",
    "1 while every attempt to reach the partner's endpoint fails",
    ({ readings }) => endpointSamples(readings, (one) => one.failingSince !== null),
  ),
  gauge(
    "tvs_webhook_endpoint_disabled",
    "1 while nothing is sent to the partner's endpoint",
    ({ readings }) => endpointSamples(readings, (one) => one.disabledReason !== null),
  ),
  gauge("tvs_quota_used", "Calls that the partner has made in the current window", ({ readings }) =>
    quotaSamples(readings, "used"),
  ),
  gauge("tvs_quota_limit", "Calls that the partner may make in the window", ({ readings }) =>
    quotaSamples(readings, "limit"),
  ),
  gauge(
    "tvs_key_age_seconds",
    "How long the active key has signed, and the pending key has been published",
    ({ snapshot, now }) => keySamples(snapshot.keys, now),
  ),
  gauge(
    "tvs_key_rotation_due",
    "1 when the active key has signed for longer than 90 days",
    ({ snapshot, now }) => Number(rotationOf(snapshot.keys, now).isDue),
  ),
  gauge(
    "tvs_credential_end_timestamp_seconds",
    "When a partner's last key or certificate ends, by kind; none where one has no end",
    ({ snapshot }) =>
      credentialEnds(snapshot.credentials).map(({ partnerId, kind, endsAt }) => ({
        value: endsAt / 1000,
        labels: { partner: partnerId, kind },
      })),
  ),
  // How the evidence log does; none of it before the log was opened.
  gauge(
    "tvs_log_epoch",
    "The evidence log's newest tree: 1, and one more each time that a new one had to be begun",
    ofLog(({ epoch }) => epoch),
  ),
  gauge(
    "tvs_log_leaves",
    "Leaves of the newest tree, sequenced, and attestations that are still to be hashed into it, waiting",
    ofLog(({ size, waiting }) => byLabel("state", { sequenced: size, waiting })),
  ),
  gauge(
    "tvs_log_uncovered_seconds",
    "How long the oldest attestation has waited that no checkpoint covers; 0 when none waits",
    ofLog(({ uncoveredSince }, now) =>
      uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000,
    ),
  ),
  gauge(
    "tvs_log_checkpoint_leaves",
    "Leaves that the newest checkpoint covers",
    ofLog(({ signedSize }) => signedSize),
  ),
  gauge(
    "tvs_log_checkpoint_timestamp_seconds",
    "When the newest checkpoint was signed; it grows old while nobody asks",
    ofLog(({ signedAt }) => (signedAt === null ? null : signedAt / 1000)),
  ),
  gauge(
    "tvs_log_anchor_timestamp_seconds",
    "When a checkpoint was last handed out by tvs log anchor, by kind: folder or rfc3161",
    ofLog(({ anchors }) => {
      const byKind = Map.groupBy(anchors, ({ kind }) => kind);
      return [...byKind].map(([kind, those]) => ({
        value: Math.max(...those.map(({ anchoredAt }) => anchoredAt)) / 1000,
        labels: { kind },
      }));
    }),
  ),
  gauge(
    "tvs_log_anchors_late",
    "Places whose last anchor is older than 25 hours although the log has grown since",
    ofLog((log, now) => lateAnchors(log, now).length),
  ),
  gauge(
    "tvs_teachers",
    "Active teachers by licence status today; of more than 20,000 an estimate",
    ({ readings }) => teacherSamples(readings),
  ),
  gauge(
    "tvs_import_last_finished_timestamp_seconds",
    "When the last import that was applied ended: one that was refused, or of which no row stood, is none",
    ({ readings }) => (readings?.appliedAt == null ? null : readings.appliedAt / 1000),
  ),
  gauge(
    "tvs_import_last_rejected_rows",
    "Rows that the newest finished import rejected",
    ({ readings }) => readings?.imports.find((one) => one.finishedAt !== null)?.rejected ?? null,
  ),
  gauge(
    "tvs_import_source_seen_timestamp_seconds",
    "When the source that a timer imports was last seen, changed or not; before the first time, since when there is a timer",
    ofWatch((watch) => lastSeenAt(watch) / 1000),
  ),
  gauge(
    "tvs_import_source_every_seconds",
    "How often a timer imports it; none where no timer does",
    ofWatch(({ everyMs }) => everyMs / 1000),
  ),
  gauge(
    "tvs_import_source_failed",
    "1 while its last import failed, was half-written or was refused",
    ofWatch(({ failed }) => Number(failed !== null)),
  ),
  gauge(
    "tvs_store_up",
    "1 when this scrape could read the database; at 0 the figures are older",
    ({ hasFailed }) => Number(!hasFailed),
  ),
  gauge(
    "tvs_disk_refusing",
    "1 from the first attestation that the disk refuses until it takes writes again",
    ({ isDiskRefusing }) => Number(isDiskRefusing()),
  ),
  gauge(
    "tvs_event_loop_lag_seconds",
    "Longest delay of a timer by the event loop of any thread in the last 16 seconds",
    ({ history, now }) => Math.max(0, ...history.points(now - lagWindowMs).map(({ lagMs }) => lagMs)) / 1000,
  ),
  gauge("tvs_serving_threads", "Threads that answer now", ({ threads }) => threads().serving),
  counter(
    "tvs_serving_thread_deaths_total",
    "Serving threads that ended by themselves and were replaced",
    ({ threads }) => threads().deaths,
  ),
  gauge("tvs_nodes", "Nodes that serve the register, live or gone, as this one last saw them", ({ node }) => {
    const { nodes } = node();
    const count = (wanted: string) => nodes.filter(({ state }) => state === wanted).length;
    return byLabel("state", { live: count("live"), gone: count("gone") });
  }),
  gauge(
    "tvs_node_clock_ahead_seconds",
    "How far this node's clock is ahead of the database's; negative when it is behind",
    ({ node }) => node().clockAheadMs / 1000,
  ),
  gauge(
    "tvs_node_keeps_house",
    "1 on the node that does what one does for all: expiry events, deletion of what is old",
    ({ node }) => Number(node().keepsHouse),
  ),
  gauge("tvs_signing_engine_info", "Always 1; the label says what signs now", ({ signingEngine }) => [
    { value: 1, labels: { engine: signingEngine() } },
  ]),
  gauge(
    "tvs_build_info",
    "Always 1; version, runtime and environment (live or sandbox) are its labels",
    ({ build }) => [{ value: 1, labels: build }],
  ),
  counter(
    "process_cpu_seconds_total",
    "CPU time that the process has used, user and system",
    () => readProcessUse().cpuSeconds,
  ),
  gauge(
    "process_resident_memory_bytes",
    "Resident memory of the process",
    () => readProcessUse().residentBytes,
  ),
  gauge("process_open_fds", "Open files and sockets", readOpenFiles),
  gauge("process_max_fds", "Files and sockets that may be open", readMaxFiles),
  gauge(
    "process_start_time_seconds",
    "When the service started, since the Unix epoch",
    ({ startedAt }) => startedAt / 1000,
  ),
];

/** A reader that has nothing to tell where no timer imports. */
function ofWatch(read: (watch: ImportWatch) => number): Family["read"] {
  return ({ readings }) => (readings?.importWatch == null ? null : read(readings.importWatch));
}

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
function ofLog(
  read: (log: EvidenceFigures, now: number) => number | null | readonly Sample[],
): Family["read"] {
  return ({ readings, now }) => (readings?.log == null ? null : read(readings.log, now));
}
