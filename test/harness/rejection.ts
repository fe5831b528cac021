/**
 * What a promise is rejected with, or undefined.
 *
 * `expect(promise).rejects` spins the event loop, and in Bun 1.4.5 messages of a worker thread then
 * no longer arrive: a rejection that takes several turns hangs the test.
 */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
