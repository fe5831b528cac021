import { log } from "../logger.ts";

/** The shortest time between two warnings: a client can cause a warning with each call. */
const everyMs = 60_000;

/** Makes a warning that is logged at most once a minute. @returns a function that returns whether it logged the warning */
export function createThrottledWarning(
  message: string,
): (facts: Readonly<Record<string, number | string>>) => boolean {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  return (facts) => {
    const nowMs = performance.now();
    if (nowMs - warnedAtMs < everyMs) return false;
    warnedAtMs = nowMs;
    log.warn(message, facts);
    return true;
  };
}
