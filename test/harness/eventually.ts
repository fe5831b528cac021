/** Waiting for what happens elsewhere: in a socket, a thread or another process. */

/** By then a machine that is busy with other things has come round to it. */
const patienceMs = 30_000;
const longestPauseMs = 25;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Whether something comes to hold within `timeoutMs`. It is asked once more after that time has passed, so a slow
 * machine makes the answer later, never wrong.
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

/** What a command changes, a running service honours within one second (decision D1.4). */
export function withinOneSecond(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  return eventually(holds, 1_000);
}

/** Waits until something holds, and fails with its text when it does not come. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = patienceMs): Promise<void> {
  if (!(await eventually(holds, timeoutMs)))
    throw new Error(`waited ${timeoutMs} ms in vain until ${String(holds)}`);
}

/** Asks until the answer is the one that is waited for, and gives it. */
export async function untilAnswer<T>(ask: () => Promise<T>, isIt: (answer: T) => boolean): Promise<T> {
  let answer = await ask();
  await until(async () => {
    if (isIt(answer)) return true;
    answer = await ask();
    return isIt(answer);
  });
  return answer;
}

/** The same promise, but that it fails, and says what was waited for, when it is not kept in time. */
export function inTime<T>(promise: Promise<T>, what: () => string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`after ${patienceMs} ms: ${what()}`)), patienceMs);
  const kept = Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
  // A rejection that no test awaits is not reported.
  kept.catch(() => {});
  return kept;
}
