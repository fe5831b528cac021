import type { LoggedCall } from "../domain/calls.ts";
import type { ApiErrorCode } from "../partner/error-codes.ts";
import { createMetricCounter } from "./counters.ts";

export type RefusalCounter = ReturnType<typeof createRefusalCounter>;

const minuteMs = 60_000;
const recentMinutes = 15;
/** The most pairs of partner and API key that are counted separately. A partner's further keys are counted together. */
const maxCallers = 10_000;

/** How often an error code was answered: since the start, and in each of the last minutes. */
type Counts = { total: number; readonly minutes: Map<number, number> };
type Caller = ReturnType<typeof newCaller>;
type Answered = Pick<LoggedCall, "partnerId" | "keyId" | "status" | "error">;

/** Starts the counts of a partner's API key; both ids are null for calls without a valid credential. */
const newCaller = (partnerId: string | null, keyId: string | null) => ({
  ...{ partnerId, keyId, codes: new Map<ApiErrorCode, Counts>() },
  /** The time of the last refusal, in milliseconds since the epoch. */
  lastAt: 0,
});

/** Makes the counter of refused calls: partners' calls answered with 4xx, and calls without a valid credential. */
export function createRefusalCounter(clock: { now(): number }) {
  const callers = new Map<string, Caller>();
  const metric = createMetricCounter("tvs_calls_refused_total");
  const minuteNow = () => Math.floor(clock.now() / minuteMs);

  function callerOf(partnerId: string | null, keyId: string | null): Caller {
    const name = `${partnerId ?? ""} ${keyId ?? ""}`;
    const known = callers.get(name);
    if (known !== undefined) return known;
    if (callers.size >= maxCallers && keyId !== null) return callerOf(partnerId, null);
    const fresh = newCaller(partnerId, keyId);
    callers.set(name, fresh);
    return fresh;
  }

  return {
    /** The counter that `/metrics` shows. */
    metric,
    observe({ partnerId, keyId, status, error }: Answered): void {
      const isRefusal = status >= 400 && status <= 499 && (partnerId !== null || status === 401);
      if (error === null || !isRefusal) return;
      metric.inc({ ...(partnerId !== null && { partner: partnerId }), code: error, status });
      const caller = callerOf(partnerId, keyId);
      caller.lastAt = clock.now();
      const counts = caller.codes.get(error) ?? { total: 0, minutes: new Map<number, number>() };
      caller.codes.set(error, counts);
      counts.total++;
      const minute = minuteNow();
      counts.minutes.set(minute, (counts.minutes.get(minute) ?? 0) + 1);
      for (const past of counts.minutes.keys())
        if (past <= minute - recentMinutes) counts.minutes.delete(past);
    },
    /** Lists callers, the last refused first, with their refusals by error code: in all, and in the last 15 minutes. */
    callers() {
      const since = minuteNow() - recentMinutes;
      const recentOf = ({ minutes }: Counts) =>
        [...minutes].reduce((sum, [minute, count]) => (minute > since ? sum + count : sum), 0);
      return [...callers.values()]
        .map(({ codes, ...caller }) => ({
          ...caller,
          sinceStart: byCode(codes, ({ total }) => total),
          recent: byCode(codes, recentOf),
        }))
        .sort((one, other) => other.lastAt - one.lastAt);
    },
  };
}

function byCode(codes: ReadonlyMap<ApiErrorCode, Counts>, count: (counts: Counts) => number) {
  const counted = [...codes].map(([code, counts]) => [code, count(counts)] as const);
  return new Map(counted.filter(([, times]) => times > 0).sort(([one], [other]) => (one < other ? -1 : 1)));
}
