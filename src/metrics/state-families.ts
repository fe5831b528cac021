/** What is read when a scrape comes: the process, the keys, the nodes, and what the database says. */

import type { KeyRing } from "../domain/keys.ts";
import type { EndpointReading, Readings } from "../domain/readings.ts";
import { rotationOf } from "../domain/rotation.ts";
import { evidenceFamilies } from "./evidence-families.ts";
import { byLabel, type Family, type Sample } from "./families.ts";
import { readMaxFiles, readOpenFiles, readProcessUse } from "./process-use.ts";

/** The time over which the longest lag is told: scrapes come every 15 seconds, and one between two is still seen. */
const lagWindowMs = 16_000;

export const stateFamilies: readonly Family[] = [
  {
    name: "tvs_webhook_backlog",
    type: "gauge",
    help: "Deliveries that were not acknowledged, by partner: pending, held (pending, and nothing is sent) and dead",
    read: ({ readings }) =>
      (readings?.backlog ?? []).flatMap(({ partnerId, pending, dead, heldBy }) =>
        byLabel("state", { pending, held: heldBy === null ? 0 : pending, dead }, { partner: partnerId }),
      ),
  },
  {
    name: "tvs_webhook_oldest_due_seconds",
    type: "gauge",
    help: "Time since the oldest waiting delivery was due, by partner",
    read: ({ readings, now }) =>
      (readings?.backlog ?? []).map(({ partnerId, oldestDueAt }) => ({
        value: oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt) / 1000,
        labels: { partner: partnerId },
      })),
  },
  {
    name: "tvs_webhook_endpoint_failing",
    type: "gauge",
    help: "1 while every attempt to reach the partner's endpoint fails",
    read: ({ readings }) => endpointSamples(readings, (one) => one.failingSince !== null),
  },
  {
    name: "tvs_webhook_endpoint_disabled",
    type: "gauge",
    help: "1 while nothing is sent to the partner's endpoint",
    read: ({ readings }) => endpointSamples(readings, (one) => one.disabledReason !== null),
  },
  {
    name: "tvs_quota_used",
    type: "gauge",
    help: "Calls that the partner has made in the current window",
    read: ({ readings }) => quotaSamples(readings, "used"),
  },
  {
    name: "tvs_quota_limit",
    type: "gauge",
    help: "Calls that the partner may make in the window",
    read: ({ readings }) => quotaSamples(readings, "limit"),
  },
  {
    name: "tvs_key_age_seconds",
    type: "gauge",
    help: "How long the active key has signed, and the pending key has been published",
    read: ({ snapshot, now }) => keySamples(snapshot.keys, now),
  },
  {
    name: "tvs_key_rotation_due",
    type: "gauge",
    help: "1 when the active key has signed for longer than 90 days",
    read: ({ snapshot, now }) => Number(rotationOf(snapshot.keys, now).isDue),
  },
  ...evidenceFamilies,
  {
    name: "tvs_teachers",
    type: "gauge",
    help: "Active teachers by licence status today; of more than 20,000 an estimate",
    read: ({ readings }) => teacherSamples(readings),
  },
  {
    name: "tvs_import_last_finished_timestamp_seconds",
    type: "gauge",
    help: "When the last import that was applied ended: one that was refused, or of which no row stood, is none",
    read: ({ readings }) => (readings?.appliedAt == null ? null : readings.appliedAt / 1000),
  },
  {
    name: "tvs_import_last_rejected_rows",
    type: "gauge",
    help: "Rows that the newest finished import rejected",
    read: ({ readings }) => readings?.imports.find((one) => one.finishedAt !== null)?.rejected ?? null,
  },
  {
    name: "tvs_store_up",
    type: "gauge",
    help: "1 when this scrape could read the database; at 0 the figures are older",
    read: ({ hasFailed }) => Number(!hasFailed),
  },
  {
    name: "tvs_event_loop_lag_seconds",
    type: "gauge",
    help: "Longest delay of a timer by the event loop of any thread in the last 16 seconds",
    read: ({ history, now }) =>
      Math.max(0, ...history.points(now - lagWindowMs).map(({ lagMs }) => lagMs)) / 1000,
  },
  {
    name: "tvs_serving_threads",
    type: "gauge",
    help: "Threads that answer now",
    read: ({ threads }) => threads().serving,
  },
  {
    name: "tvs_serving_thread_deaths_total",
    type: "counter",
    help: "Serving threads that ended by themselves and were replaced",
    read: ({ threads }) => threads().deaths,
  },
  {
    name: "tvs_nodes",
    type: "gauge",
    help: "Nodes that serve the register, live or gone, as this one last saw them",
    read({ node }) {
      const { nodes } = node();
      const count = (wanted: string) => nodes.filter(({ state }) => state === wanted).length;
      return byLabel("state", { live: count("live"), gone: count("gone") });
    },
  },
  {
    name: "tvs_node_clock_ahead_seconds",
    type: "gauge",
    help: "How far this node's clock is ahead of the database's; negative when it is behind",
    read: ({ node }) => node().clockAheadMs / 1000,
  },
  {
    name: "tvs_node_keeps_house",
    type: "gauge",
    help: "1 on the node that does what one does for all: expiry events, deletion of what is old",
    read: ({ node }) => Number(node().keepsHouse),
  },
  {
    name: "tvs_signing_engine_info",
    type: "gauge",
    help: "Always 1; the label says what signs now",
    read: ({ signingEngine }) => [{ value: 1, labels: { engine: signingEngine() } }],
  },
  {
    name: "tvs_build_info",
    type: "gauge",
    help: "Always 1; version, runtime and environment (live or sandbox) are its labels",
    read: ({ build }) => [{ value: 1, labels: build }],
  },
  {
    name: "process_cpu_seconds_total",
    type: "counter",
    help: "CPU time that the process has used, user and system",
    read: () => readProcessUse().cpuSeconds,
  },
  {
    name: "process_resident_memory_bytes",
    type: "gauge",
    help: "Resident memory of the process",
    read: () => readProcessUse().residentBytes,
  },
  {
    name: "process_open_fds",
    type: "gauge",
    help: "Open files and sockets",
    read: readOpenFiles,
  },
  {
    name: "process_max_fds",
    type: "gauge",
    help: "Files and sockets that may be open",
    read: readMaxFiles,
  },
  {
    name: "process_start_time_seconds",
    type: "gauge",
    help: "When the service started, since the Unix epoch",
    read: ({ startedAt }) => startedAt / 1000,
  },
];

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
