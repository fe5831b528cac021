/**
 * Waits for a promise, at most `ms` milliseconds. Its work is not cancelled; a late result is ignored.
 * @param options `late` makes the error after the time limit
 */
export async function withTimeout<T>(
  promise: Promise<T>,
  { ms, late }: { ms: number; late: () => Error },
): Promise<T> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** @returns whether the promise is fulfilled within `ms` milliseconds */
export function resolvesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  return withTimeout(promise, { ms, late: () => new Error("late") }).then(
    () => true,
    () => false,
  );
}
