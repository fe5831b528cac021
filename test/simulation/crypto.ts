/**
 * WebCrypto answers from other threads, in an order that no seed decides; so whoever waits until nothing moves has to know
 * what is under way there.
 */
export function createCrypto() {
  const { subtle } = globalThis.crypto;
  const own = subtle as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  let underWay = 0;
  const names = ["digest", "importKey", "verify"] as const;
  for (const name of names) {
    const act = own[name];
    own[name] = async (...args) => {
      underWay++;
      try {
        return await act?.apply(subtle, args);
      } finally {
        underWay--;
      }
    };
  }
  return {
    isBusy: () => underWay > 0,
    restore() {
      for (const name of names) delete own[name];
    },
  };
}
