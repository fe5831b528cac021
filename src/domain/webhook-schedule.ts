/** When a delivery that failed is tried again, and when it is given up (decision D10.2). */

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The wait after the first failed attempt, after the second, and so on. After one more failure it is dead. */
export const retryStepsMs: readonly number[] = [
  5 * secondMs,
  30 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
];

/** An endpoint that has failed for so long, with no success in between, is disabled and its deliveries held. */
export const endpointFailureLimitMs = 5 * 24 * hourMs;

/** Jitter only ever lengthens a step, so that no delivery comes before its time. */
const maxJitterShare = 0.2;
const maxRetryAfterSteps = 2;

type FailedAttempt = {
  /** The number of the attempt that just failed, the first being 1. */
  readonly attempt: number;
  /** What the answer's `Retry-After` asks for, or null. */
  readonly retryAfterSeconds: number | null;
  /** A source of numbers from 0 to below 1. */
  readonly random: () => number;
};

/**
 * How long to wait before the next attempt, in whole milliseconds, or `"dead"` when it was the last one.
 *
 * A `Retry-After` above the jittered step takes its place, up to twice the plain step: a receiver can ask
 * for time, not for a delivery to be parked. One below the step never hurries a retry.
 * @throws RangeError when `attempt` is not a whole number from 1
 */
export function nextAttempt({ attempt, retryAfterSeconds, random }: FailedAttempt): number | "dead" {
  if (!Number.isSafeInteger(attempt) || attempt < 1) throw new RangeError("attempts are counted from 1");
  const stepMs = retryStepsMs[attempt - 1];
  if (stepMs === undefined) return "dead";
  const jitteredMs = Math.floor(stepMs * (1 + maxJitterShare * random()));
  const askedMs = (retryAfterSeconds ?? 0) * secondMs;
  return Math.max(jitteredMs, Math.min(askedMs, maxRetryAfterSteps * stepMs));
}

/** 410 Gone: the receiver says that this endpoint will not come back, so nothing more is sent to it. */
export function disablesEndpoint(status: number | null): boolean {
  return status === 410;
}
