export function concatenateBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Reads a stream to its end; null if the stream has more than `maxBytes`. */
export async function readBoundedStream(stream: ReadableStream<Uint8Array>, maxBytes: number) {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length;
      if (size > maxBytes) return null;
      parts.push(next.value);
    }
    return concatenateBytes(parts);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Encodes bytes as lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Decodes pairs of hexadecimal digits. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Makes a function that imports each key object only once: an import takes as long as several verifications. */
export function createKeyImporter<K extends object>(importKey: (key: K) => Promise<CryptoKey>) {
  const imported = new WeakMap<K, Promise<CryptoKey>>();
  return (key: K): Promise<CryptoKey> => {
    const found = imported.get(key) ?? importKey(key);
    imported.set(key, found);
    // A failure of this machine's cryptography may be temporary, so a failed import is not cached.
    found.catch(() => imported.delete(key));
    return found;
  };
}
