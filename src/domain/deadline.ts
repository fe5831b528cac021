/**
 * Waits for what may take too long, and no longer than so. What was begun cannot be called off: it goes on, and its late
 * result is dropped.
 * @param options `late` makes the failure after `ms` milliseconds
 */
export async function inTime<T>(
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

/** Waits for what may take too long, as {@link inTime} does. @returns whether it came to a good end by then */
export function endsIn(ms: number, promise: Promise<unknown>): Promise<boolean> {
  return inTime(promise, { ms, late: () => new Error("late") }).then(
    () => true,
    () => false,
  );
}
