/** Awaits a promise for at most `ms` milliseconds, then throws the error of `late`. The promise's work goes on. */
export async function withTimeout<T>(promise: Promise<T>, { ms, late }: { ms: number; late: () => Error }) {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** True if the promise is fulfilled within `ms` milliseconds. */
export function resolvesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  return withTimeout(promise, { ms, late: () => new Error("late") }).then(
    () => true,
    () => false,
  );
}
