/** The schedule of a failed delivery's retries (decision D10.2). */

const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000];

/** The wait after each of ten failed attempts. After the eleventh failure the delivery is dead. */
export const retryDelaysMs: readonly number[] = [
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

/** An endpoint that fails for this time without a success is disabled, and its deliveries are held. */
export const endpointFailureLimitMs = 5 * 24 * hourMs;

/** The most jitter, as a share of the delay. Jitter only lengthens a delay, so no delivery comes early. */
const maxJitterShare = 0.2;
const maxRetryAfterSteps = 2;

/** `attempt` counts from 1. `retryAfterSeconds` is the response's `Retry-After`. `random` gives 0 to below 1. */
type FailedAttempt = { attempt: number; retryAfterSeconds: number | null; random: () => number };

/**
 * Gives the delay before the next attempt in whole milliseconds, or `"dead"` after the last attempt. A `Retry-After`
 * longer than this delay is used instead, up to twice the delay without jitter. A shorter `Retry-After` is ignored.
 */
export function nextAttemptDelayMs({ attempt, retryAfterSeconds, random }: FailedAttempt): number | "dead" {
  const stepMs = retryDelaysMs[attempt - 1];
  if (stepMs === undefined) return "dead";
  const jitteredMs = Math.floor(stepMs * (1 + maxJitterShare * random()));
  const askedMs = (retryAfterSeconds ?? 0) * secondMs;
  return Math.max(jitteredMs, Math.min(askedMs, maxRetryAfterSteps * stepMs));
}
