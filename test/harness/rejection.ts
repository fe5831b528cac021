/**
 * Returns the error with which a promise is rejected, or undefined. `expect(promise).rejects` is not usable: it spins
 * the event loop, and in Bun 1.4.5 messages of a worker thread then do not arrive. A rejection that takes several turns
 * hangs the test.
 */
export function catchError(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
