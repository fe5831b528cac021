import type { LogFigures } from "../store/evidence/log.ts";
import type { ImportHistory } from "../store/imports.ts";
import type { QuotaStore } from "../store/quota.ts";
import type { StatusStore } from "../store/status.ts";
import type { WebhookStore } from "../store/webhooks.ts";
import type { Calendar, Clock } from "./clock.ts";
import { lossWindowMs } from "./import/losses.ts";
import type { Partner } from "./partners.ts";
import { openWindows, quotaUse } from "./quota-windows.ts";
import { countTeachers } from "./status.ts";

/** What the database says of everything that an operator watches. */
export type Readings = Readonly<Awaited<ReturnType<typeof takeReadings>>>;
/** A partner's use of its quotas, in the windows that are open now. */
export type QuotaReading = Readings["quotas"][number];
/** An endpoint as the console shows it: its host alone, because an address may carry a secret of the partner's. */
export type EndpointReading = Readings["endpoints"][number];

/** The last readings, and whether they could not be renewed; null before the first. */
export type ReadingsNow = { readonly readings: Readings | null; readonly hasFailed: boolean };

type ReadingsDependencies = {
  readonly quotaStore: Pick<QuotaStore, "windows">;
  readonly partners: { partners(): Promise<Partner[]> };
  readonly webhooks: Pick<WebhookStore, "endpoints" | "backlog">;
  readonly imports: ImportHistory;
  readonly status: Pick<StatusStore, "teachers" | "licenses">;
  log(): Promise<LogFigures | null>;
  readonly calendar: Calendar;
  readonly clock: Clock;
  /** Told when readings could not be renewed, once until they can be again. */
  readonly onError?: (error: unknown) => void;
};

const shownImports = 12;
/** Of more teachers a sample is counted: it takes some ten milliseconds of the thread that answers callers. */
const countedTeachers = 20_000;
/** Readings are renewed at most so often, and take at most one part in so many of the service's time. */
const leastAgeMs = 1_500;
const shareOfTime = 50;

/**
 * Reads for however many ask: a console in three windows and a scraper cost what one costs. Counting a long backlog
 * takes time on the thread that answers callers, so the longer a reading took, the longer it serves.
 */
export function createReadings(dependencies: ReadingsDependencies): () => Promise<ReadingsNow> {
  let last: ReadingsNow = { readings: null, hasFailed: false };
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<ReadingsNow> | undefined;

  async function renew(): Promise<ReadingsNow> {
    const beganMs = performance.now();
    try {
      last = { readings: await takeReadings(dependencies), hasFailed: false };
    } catch (error) {
      if (!last.hasFailed) dependencies.onError?.(error);
      last = { ...last, hasFailed: true };
    }
    const endedMs = performance.now();
    freshUntilMs = endedMs + Math.max(leastAgeMs, (endedMs - beganMs) * shareOfTime);
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
  const { quotaStore, partners, webhooks, imports, status, log, calendar, clock } = dependencies;
  const now = clock.now();
  const [windows, known, endpoints, backlog, latest, applied, losses, teachers, logFigures] =
    await Promise.all([
      quotaStore.windows(openWindows(now)),
      partners.partners(),
      webhooks.endpoints(),
      webhooks.backlog(now),
      imports.latest(shownImports),
      imports.lastApplied(),
      imports.losses(now - lossWindowMs),
      countTeachers(status, calendar.dateAt(now), countedTeachers),
      log(),
    ]);
  return {
    readAt: now,
    quotas: known.map((partner) => ({ partner, use: quotaUse(partner, windows, now) })),
    backlog,
    endpoints: endpoints.map(({ partnerId, url, disabledReason, failingSince, lastError }) => ({
      partnerId,
      host: URL.canParse(url) ? new URL(url).host : "",
      disabledReason,
      failingSince,
      lastError,
    })),
    imports: latest,
    /** When the last import that was applied ended; null before the first. */
    appliedAt: applied?.finishedAt ?? null,
    /** What imports have taken away within a day, since it was last allowed. */
    losses,
    teachers,
    /** Null before the evidence log was opened. */
    log: logFigures,
  };
}
