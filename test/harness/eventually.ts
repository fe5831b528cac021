/** Waiting for events in a socket, a thread or another process. */

/** How long to wait by default: long enough for a busy machine. */
const patienceMs = 30_000;
const longestPauseMs = 25;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Polls a condition until it is true or `timeoutMs` has passed. The last check is after that time, so a slow machine
 * makes the result later, never wrong.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  timeoutMs = patienceMs,
): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  for (let pauseMs = 1; performance.now() < end; pauseMs = Math.min(pauseMs + 1, longestPauseMs)) {
    if (await holds()) return true;
    await sleep(pauseMs);
  }
  return holds();
}

/** Polls a condition for one second: within this time a running service applies a command's change (decision D1.4). */
export function withinOneSecond(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  return eventually(holds, 1_000);
}

/** Polls a condition until it is true. @throws Error with the source of the condition if it stays false */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = patienceMs): Promise<void> {
  if (!(await eventually(holds, timeoutMs)))
    throw new Error(`waited ${timeoutMs} ms in vain until ${String(holds)}`);
}

/** Repeats a request until the answer is as expected. @returns the answer */
export async function waitForAnswer<T>(ask: () => Promise<T>, isIt: (answer: T) => boolean): Promise<T> {
  let answer = await ask();
  await until(async () => {
    if (isIt(answer)) return true;
    answer = await ask();
    return isIt(answer);
  });
  return answer;
}

/** Adds a time limit to a promise. @param what describes for the error what did not come */
export function withTimeout<T>(promise: Promise<T>, what: () => string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`after ${patienceMs} ms: ${what()}`)), patienceMs);
  const kept = Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
  // If no test awaits the promise, its rejection is not reported.
  kept.catch(() => {});
  return kept;
}
