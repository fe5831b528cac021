import { log } from "../logger.ts";

/** How often an operator is told of what clients may bring about as often as they like. */
const everyMs = 60_000;

/** A warning that is given once in a while. @returns gives it, and says whether it was given now */
export function createWarning(
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
