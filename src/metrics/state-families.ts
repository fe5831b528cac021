import { readdirSync, readFileSync } from "node:fs";
import type { PartnerBacklog } from "../domain/deliveries.ts";
import type { KeyRing } from "../domain/keys.ts";
import type { Node } from "../domain/nodes.ts";
import type { EndpointReading, Readings } from "../domain/readings.ts";
import { rotationOf } from "../domain/rotation.ts";
import { licenseStatuses } from "../partner/contract.ts";
import { logFamilies } from "./evidence-families.ts";
import type { Family, Sample } from "./families.ts";

/** How the serving threads of the process are doing. */
export type ThreadFigures = {
  /** Threads that answer now. */
  readonly serving: number;
  /** Threads that ended by themselves since the start. */
  readonly deaths: number;
  /** When the last one did, in milliseconds since the epoch; null when none has. */
  readonly lastDeathAt: number | null;
};

/** This node among the others, as its last beat found them. */
export type NodeFigures = {
  readonly nodes: readonly Node[];
  /** By how many milliseconds this node's clock is ahead of the database's. */
  readonly clockAheadMs: number;
  readonly keepsHouse: boolean;
};

/** Sources that are read when a scrape comes: the process, the keys, and what the database says. */
export type StateSources = {
  readonly readings: Readings | null;
  readonly storeAnswers: boolean;
  readonly keys: KeyRing;
  readonly now: number;
  readonly startedAt: number;
  readonly lagMs: number;
  readonly threads: ThreadFigures;
  readonly node: NodeFigures;
  readonly engine: string;
  readonly build: Readonly<Record<"version" | "runtime" | "environment", string>>;
};

const windows = ["minute", "day"] as const;

export const stateFamilies: readonly Family<StateSources>[] = [
  {
    name: "tvs_webhook_backlog",
    type: "gauge",
    help: "Deliveries that were not acknowledged, by partner: pending, held (pending, and nothing is sent) and dead",
    read: ({ readings }) => (readings?.backlog ?? []).flatMap(backlogSamples),
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
    read: ({ keys, now }) => keySamples(keys, now),
  },
  {
    name: "tvs_key_rotation_due",
    type: "gauge",
    help: "1 when the active key has signed for longer than 90 days",
    read: ({ keys, now }) => [{ value: Number(rotationOf(keys, now).isDue) }],
  },
  ...logFamilies,
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
    read: ({ readings }) => known(readings?.appliedAt == null ? null : readings.appliedAt / 1000),
  },
  {
    name: "tvs_import_last_rejected_rows",
    type: "gauge",
    help: "Rows that the newest finished import rejected",
    read: ({ readings }) => lastImportSamples(readings, (one) => one.rejected),
  },
  {
    name: "tvs_store_up",
    type: "gauge",
    help: "1 when this scrape could read the database; at 0 the figures are older",
    read: ({ storeAnswers }) => [{ value: Number(storeAnswers) }],
  },
  {
    name: "tvs_event_loop_lag_seconds",
    type: "gauge",
    help: "Longest delay of a timer by the event loop of any thread in the last 16 seconds",
    read: ({ lagMs }) => [{ value: lagMs / 1000 }],
  },
  {
    name: "tvs_serving_threads",
    type: "gauge",
    help: "Threads that answer now",
    read: ({ threads }) => [{ value: threads.serving }],
  },
  {
    name: "tvs_serving_thread_deaths_total",
    type: "counter",
    help: "Serving threads that ended by themselves and were replaced",
    read: ({ threads }) => [{ value: threads.deaths }],
  },
  {
    name: "tvs_nodes",
    type: "gauge",
    help: "Nodes that serve the register, live or gone, as this one last saw them",
    read: ({ node }) =>
      (["live", "gone"] as const).map((state) => ({
        value: node.nodes.filter((one) => one.state === state).length,
        labels: { state },
      })),
  },
  {
    name: "tvs_node_clock_ahead_seconds",
    type: "gauge",
    help: "How far this node's clock is ahead of the database's; negative when it is behind",
    read: ({ node }) => [{ value: node.clockAheadMs / 1000 }],
  },
  {
    name: "tvs_node_keeps_house",
    type: "gauge",
    help: "1 on the node that does what one does for all: expiry events, deletion of what is old",
    read: ({ node }) => [{ value: Number(node.keepsHouse) }],
  },
  {
    name: "tvs_signing_engine_info",
    type: "gauge",
    help: "Always 1; the label says what signs now",
    read: ({ engine }) => [{ value: 1, labels: { engine } }],
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
    read: () => [{ value: readProcessUse().cpuSeconds }],
  },
  {
    name: "process_resident_memory_bytes",
    type: "gauge",
    help: "Resident memory of the process",
    read: () => [{ value: readProcessUse().residentBytes }],
  },
  {
    name: "process_open_fds",
    type: "gauge",
    help: "Open files and sockets",
    read: () => known(readDescriptors().open),
  },
  {
    name: "process_max_fds",
    type: "gauge",
    help: "Files and sockets that may be open",
    read: () => known(readDescriptors().max),
  },
  {
    name: "process_start_time_seconds",
    type: "gauge",
    help: "When the service started, since the Unix epoch",
    read: ({ startedAt }) => [{ value: startedAt / 1000 }],
  },
];

function known(value: number | null): Sample[] {
  return value === null ? [] : [{ value }];
}

function backlogSamples({ partnerId, pending, dead, heldBy }: PartnerBacklog): Sample[] {
  const held = heldBy === null ? 0 : pending;
  return Object.entries({ pending, held, dead }).map(([state, value]) => ({
    value,
    labels: { partner: partnerId, state },
  }));
}

function endpointSamples(readings: Readings | null, holds: (one: EndpointReading) => boolean): Sample[] {
  return (readings?.endpoints ?? []).map((one) => ({
    value: Number(holds(one)),
    labels: { partner: one.partnerId },
  }));
}

function quotaSamples(readings: Readings | null, figure: "used" | "limit"): Sample[] {
  return (readings?.quotas ?? []).flatMap(({ partner, use }) =>
    windows.map((window) => ({
      value: use[window][figure],
      labels: { partner: partner.partnerId, window },
    })),
  );
}

function keySamples({ active, pending }: KeyRing, now: number): Sample[] {
  const seconds = (since: number) => Math.max(0, now - since) / 1000;
  return [
    { value: seconds(active.activatedAt ?? active.createdAt), labels: { state: "active" } },
    { value: seconds(pending.publishedAt), labels: { state: "pending" } },
  ];
}

function teacherSamples(readings: Readings | null): Sample[] {
  if (readings === null) return [];
  const { total, active, byLicenseStatus } = readings.teachers;
  // Who is not active has no licence, and is not missed.
  const counts = { ...byLicenseStatus, NOT_FOUND: byLicenseStatus.NOT_FOUND - (total - active) };
  return licenseStatuses.map((status) => ({ value: counts[status], labels: { status: status } }));
}

function lastImportSamples(
  readings: Readings | null,
  figure: (one: Readings["imports"][number]) => number,
): Sample[] {
  const last = readings?.imports.find((one) => one.finishedAt !== null);
  return last === undefined ? [] : [{ value: figure(last) }];
}

/** What this process has used, of which reading costs next to nothing. */
type ProcessUse = { readonly cpuSeconds: number; readonly residentBytes: number };

export function readProcessUse(): ProcessUse {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() };
}

/** Files and sockets that are open, and how many may be; null where the operating system does not say. */
function readDescriptors(): { open: number | null; max: number | null } {
  return { open: attempt(() => readdirSync("/proc/self/fd").length), max: attempt(readMaxFds) };
}

function readMaxFds(): number | null {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? null : Number(soft);
}

/** The figure, or null: only Linux has these files. */
function attempt(read: () => number | null): number | null {
  try {
    return read();
  } catch {
    return null;
  }
}
