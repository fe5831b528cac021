import type { LogStore } from "../store/evidence/log.ts";
import type { ImportHistory } from "../store/imports.ts";
import type { QuotaStore } from "../store/quota.ts";
import type { RegisterFigures } from "../store/register-figures.ts";
import type { WebhookStore } from "../store/webhooks.ts";
import type { Clock, TimeZoneCalendar } from "./clock.ts";
import { importLossWindowMs } from "./import/losses.ts";
import type { Partner } from "./partners.ts";
import { currentWindowStarts, describeQuotaUse } from "./quota-windows.ts";
import { countTeachers } from "./status.ts";

/** All figures about a service that console, metrics and doctor show, read from the database at one time. */
export type ServiceReadings = Readonly<Awaited<ReturnType<typeof takeReadings>>>;
export type QuotaFigures = ServiceReadings["quotas"][number];
/** An endpoint's figures, with only the host of the URL, whose path or query may contain a secret of the partner. */
export type EndpointFigures = ServiceReadings["endpoints"][number];

/** The service's newest readings (null before the first), and whether the last attempt to renew them failed. */
export type LatestReadings = { readonly readings: ServiceReadings | null; readonly hasFailed: boolean };

type ReadingsDependencies = {
  readonly quotaStore: Pick<QuotaStore, "windows">;
  readonly partners: { partners(): Promise<Partner[]> };
  readonly webhooks: Pick<WebhookStore, "endpoints" | "backlog">;
  readonly imports: ImportHistory;
  readonly status: Pick<RegisterFigures, "teachers" | "licenses">;
  readonly evidence: Pick<LogStore, "figures">;
  readonly calendar: TimeZoneCalendar;
  readonly clock: Clock;
  /** Called at the first failure after a success. */
  readonly onError?: (error: unknown) => void;
};

const shownImports = 12;
/** The most teachers that are counted without a sample. Such a count blocks the event loop for about 10 ms. */
const countedTeachers = 20_000;
/** Readings are reused for 1.5 s at least, and for fifty times as long as the reading took. */
const minReuseMs = 1_500;
const reuseFactor = 50;

/** Shares readings among all callers: several consoles and scrapers cost one reading. */
export function createReadingsCache(dependencies: ReadingsDependencies): () => Promise<LatestReadings> {
  let last: LatestReadings = { readings: null, hasFailed: false };
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<LatestReadings> | undefined;

  async function renew(): Promise<LatestReadings> {
    const beganMs = performance.now();
    try {
      last = { readings: await takeReadings(dependencies), hasFailed: false };
    } catch (error) {
      if (!last.hasFailed) dependencies.onError?.(error);
      last = { ...last, hasFailed: true };
    }
    const endedMs = performance.now();
    freshUntilMs = endedMs + Math.max(minReuseMs, (endedMs - beganMs) * reuseFactor);
    return last;
  }

  return async () => {
    if (performance.now() < freshUntilMs) return last;
    reading ??= renew().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

export async function takeReadings(dependencies: ReadingsDependencies) {
  const { quotaStore, partners, webhooks, imports, status, evidence, calendar, clock } = dependencies;
  const now = clock.now();
  const [windows, known, endpoints, backlog, latest, applied, losses, teachers, logFigures] =
    await Promise.all([
      quotaStore.windows(currentWindowStarts(now)),
      partners.partners(),
      webhooks.endpoints(),
      webhooks.backlog(now),
      imports.latest(shownImports),
      imports.lastApplied(),
      imports.losses(now - importLossWindowMs),
      countTeachers(status, calendar.dateAt(now), countedTeachers),
      evidence.figures(),
    ]);
  return {
    readAt: now,
    quotas: known.map((partner) => ({ partner, use: describeQuotaUse(partner, windows, now) })),
    backlog,
    endpoints: endpoints.map(({ partnerId, url, disabledReason, failingSince, lastError }) => ({
      partnerId,
      host: URL.canParse(url) ? new URL(url).host : "",
      disabledReason,
      failingSince,
      lastError,
    })),
    imports: latest,
    /** The end of the last import that applied a row; null before the first such import. */
    appliedAt: applied?.finishedAt ?? null,
    /** The licences, certificates and revocations that imports removed in 24 hours, after the last `--allow-change`. */
    losses,
    teachers,
    log: logFigures,
  };
}
