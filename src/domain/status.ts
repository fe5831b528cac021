import { type LicenseStatus, licenseStatuses } from "../partner/contract.ts";
import type { LogFigures, LogStore } from "../store/evidence/log.ts";
import type { StoredImport } from "../store/imports.ts";
import type { KeyStore } from "../store/keys.ts";
import type { RegisterFigures } from "../store/register-figures.ts";
import type { WebhookStore } from "../store/webhooks.ts";
import { type Clock, isoTime, type TimeZoneCalendar } from "./clock.ts";
import { sumWebhookBacklog } from "./deliveries.ts";
import type { SigningKey, SigningKeyState } from "./keys.ts";

type LicenseCounts = Readonly<Record<LicenseStatus, number>>;

/** The most teachers that are counted one by one. Of a larger register, about `sampleSize` teachers are counted. */
const maxCounted = 100_000;
const sampleSize = 10_000;
const hourMs = 3_600_000;

export type TeacherCounts = Awaited<ReturnType<typeof countTeachers>>;

/**
 * Counts teachers by licence status today. `licensed` counts active teachers with a licence, valid or not.
 * `approximate` is true if the figures were estimated from a sample.
 * @param limit the most teachers that are counted without a sample
 */
export async function countTeachers(
  store: Pick<RegisterFigures, "teachers" | "licenses">,
  today: string,
  limit = maxCounted,
) {
  const total = await store.teachers();
  const step = total <= limit ? 1 : Math.floor(total / sampleSize);
  const counted = await store.licenses(today, step);
  const sampled = licenseStatuses.reduce((sum, status) => sum + counted[status], 0);
  const scale = (count: number) => (sampled === 0 ? 0 : Math.round((count * total) / sampled));
  const scaled = licenseStatuses.map((status) => [status, scale(counted[status])]);
  const byLicenseStatus = Object.fromEntries(scaled) as LicenseCounts;
  const active = total - scale(counted.inactive);
  const licensed = byLicenseStatus.VALID + byLicenseStatus.EXPIRED + byLicenseStatus.REVOKED;
  return { total, active, licensed, byLicenseStatus, approximate: step > 1 };
}

/** Describes how many teachers have a licence: `57 of 60 active teachers have a licence`. */
export function describeLicensedCount({ active, licensed, approximate }: TeacherCounts): string {
  const [some, all] = [licensed, active].map((count) => count.toLocaleString("en"));
  return `${approximate ? "about " : ""}${some} of ${all} active teachers have a licence`;
}

type StatusSources = {
  readonly status: RegisterFigures;
  readonly keys: Pick<KeyStore, "list">;
  readonly webhooks: Pick<WebhookStore, "endpoints" | "backlog">;
  readonly evidence: Pick<LogStore, "figures">;
  readonly calendar: TimeZoneCalendar;
  readonly clock: Clock;
};

/** Reads the figures of `tvs status`; times in ISO 8601. */
export async function readFigures({ status, keys, webhooks, evidence, calendar, clock }: StatusSources) {
  const now = clock.now();
  const attestations = await status.attestations([calendar.startOfDay(calendar.dateAt(now)), now - hourMs]);
  const { total, newestAt } = attestations;
  const [today = 0, lastHour = 0] = attestations.since;
  const [all, endpoints] = [await keys.list(), await webhooks.endpoints()];
  const lastImport = await status.lastImport();
  const disabledEndpoints = endpoints.filter((one) => one.disabledAt !== null).map((one) => one.partnerId);
  const backlog = await sumWebhookBacklog(webhooks, now);
  return {
    teachers: await countTeachers(status, calendar.dateAt(now)),
    partners: await status.partners(),
    attestations: { total, today, lastHour, newestAt: isoTime(newestAt) },
    keys: { active: keyAge(all, "active", now), pending: keyAge(all, "pending", now) },
    idempotencyRecords: await status.idempotencyRecords(),
    events: await status.events(),
    lastImport: lastImport === null ? null : describeImport(lastImport),
    webhooks: { endpoints: endpoints.length, disabledEndpoints, ...backlog },
    log: describeLog(await evidence.figures()),
  };
}

/** Describes the active or pending key. `since` is the time of the key's activation or, if pending, publication. */
function keyAge(keys: readonly SigningKey[], state: SigningKeyState, now: number) {
  const key = keys.find((one) => one.state === state);
  if (key === undefined) return null;
  const since = state === "active" ? (key.activatedAt ?? key.createdAt) : key.publishedAt;
  return { kid: key.kid, since: isoTime(since), ageSeconds: Math.max(0, Math.floor((now - since) / 1000)) };
}

function describeImport({ startedAt, finishedAt, ...record }: StoredImport) {
  const { file, inserted, updated, unchanged, rejected, warnings, events } = record;
  const times = { startedAt: isoTime(startedAt), finishedAt: isoTime(finishedAt) };
  return { file, inserted, updated, unchanged, rejected, warnings, events, ...times };
}

/** Describes the evidence log; times in ISO 8601. @returns null if the log has not begun */
function describeLog(log: LogFigures | null) {
  if (log === null) return null;
  const { log: _number, size: leaves, signedSize, signedAt, uncoveredSince, ...rest } = log;
  return {
    ...rest,
    leaves,
    uncoveredSince: isoTime(uncoveredSince),
    checkpoint: signedAt === null ? null : { leaves: signedSize, signedAt: isoTime(signedAt) },
  };
}
