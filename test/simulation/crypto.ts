/**
 * WebCrypto answers from other threads, in an order that no seed decides. So its answers come in the order in which it was
 * asked, each in a turn of the event loop of its own, and whoever waits until nothing moves is told what is under way.
 */
export function createCrypto() {
  const { subtle } = globalThis.crypto;
  const own = subtle as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  let underWay = 0;
  let last: Promise<unknown> = Promise.resolve();
  const names = ["digest", "importKey", "verify"] as const;
  for (const name of names) {
    const act = own[name];
    own[name] = async (...args) => {
      underWay++;
      const answer = Promise.resolve(act?.apply(subtle, args));
      const turn = Promise.allSettled([last, answer]).then(() => new Promise((done) => setImmediate(done)));
      last = turn;
      await turn;
      underWay--;
      return answer;
    };
  }
  return {
    isBusy: () => underWay > 0,
    restore() {
      for (const name of names) delete own[name];
    },
  };
}
