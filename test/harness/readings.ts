/** Readings for the checks of console and doctor. Nothing is wrong, except for what a test changes. */

import type { HealthCheckInput } from "../../src/domain/checks.ts";
import { noLosses } from "../../src/domain/import/losses.ts";
import { keyRingOf } from "../../src/domain/keys.ts";
import type { ServiceReadings } from "../../src/domain/readings.ts";
import type { LogFigures } from "../../src/store/evidence/log.ts";
import { aPartner, aSigningKey } from "./samples.ts";

export const now = Date.parse("2026-03-01T09:30:00Z");
export const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const use = (used: number, limit: number) => ({ used, limit, resetAt: "" });
const quota = (partnerId: string, used: number, disabledAt: number | null = null) => ({
  partner: { ...aPartner(partnerId), disabledAt },
  use: { minute: use(9, 10), day: use(used, 100) },
});
const endpoint = { host: "hooks.example", disabledReason: null, failingSince: null, lastError: null };
const backlog = { pending: 0, dead: 0, oldestDueAt: null, heldBy: null };
const anImport = {
  ...{ id: 1, file: "list.csv", sha256: "", options: "{}", applied: 0, startedAt: now - 1 },
  ...{ finishedAt: now, abandonedAt: null, rejected: 0, warnings: 0 },
  ...{ inserted: 0, updated: 0, unchanged: 0, events: 0 },
};

/** A log with a checkpoint that is an hour old. An attestation has waited for the next one for four minutes. */
export const aLog: LogFigures = {
  ...{ log: 1, origin: "verify.example/log", size: 9, signedSize: 8, signedAt: now - hourMs },
  ...{ waiting: 2, missing: 0, uncoveredSince: now - 240_000 },
};

const wellReadings: ServiceReadings = {
  readAt: now,
  quotas: [quota("calm", 80)],
  backlog: [],
  endpoints: [],
  imports: [anImport],
  appliedAt: now,
  losses: noLosses,
  teachers: {
    ...{ total: 61, active: 60, licensed: 57, approximate: false },
    byLicenseStatus: { VALID: 50, EXPIRED: 6, NOT_FOUND: 4, REVOKED: 1 },
  },
  log: aLog,
};

export type Change = Partial<ServiceReadings> & {
  activatedAt?: number;
  credentials?: HealthCheckInput["credentials"];
};

export function checkInput({ credentials, activatedAt = now, ...readings }: Change = {}): HealthCheckInput {
  const keys = keyRingOf([
    { ...aSigningKey("a", "active"), activatedAt },
    { ...aSigningKey("b", "pending"), publishedAt: activatedAt },
  ]);
  return {
    ...{ now, keys, areWebhooksHeld: false },
    credentials: credentials ?? { partners: new Map(), apiKeys: new Map(), certificates: new Map() },
    readings: { ...wellReadings, ...readings },
  };
}

/** Readings in which as many checks as possible find a problem. */
export const everythingWrong: Change = {
  activatedAt: now - 91 * dayMs,
  quotas: [quota("nearly", 95), quota("spent", 100), quota("gone", 100, 1)],
  endpoints: [
    { ...endpoint, partnerId: "failing", failingSince: now - 3 * hourMs, lastError: "TIMEOUT" },
    { ...endpoint, partnerId: "switched-off", disabledReason: "operator", lastError: "TIMEOUT" },
    { ...endpoint, partnerId: "answered-410", disabledReason: "gone" },
  ],
  backlog: [
    { ...backlog, partnerId: "failing", pending: 4, dead: 2, oldestDueAt: now - 600_000 },
    { ...backlog, partnerId: "held", pending: 1, heldBy: "restore" },
  ],
  imports: [{ ...anImport, finishedAt: null }],
  losses: { lost: { ...noLosses.lost, validLicenses: 5 }, of: { ...noLosses.of, validLicenses: 400 } },
  log: { ...aLog, uncoveredSince: now - 600_000 },
};
