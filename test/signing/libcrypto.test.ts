import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { knownHash, knownKey, knownSignature } from "../../src/signing/engine.ts";
import { findLibcrypto, type LoadedKey, openLibcrypto } from "../../src/signing/openssl.ts";

const file = findLibcrypto();

/** As many small arrays as make it sure that some lie where memory was given back. */
function manyArrays(): Uint8Array[] {
  return Array.from({ length: 50_000 }, () => new Uint8Array(32).fill(0xaa));
}

async function withKnownKey(act: (key: LoadedKey) => void | Promise<void>): Promise<void> {
  const key = (await openLibcrypto(file ?? "")).loadKey(knownKey()) as LoadedKey;
  try {
    await act(key);
  } finally {
    key.free();
  }
}

describe.if(file !== undefined)("OpenSSL in this thread", () => {
  test("OpenSSL writes into its own memory only, also after a garbage collection", () =>
    withKnownKey(async (key) => {
      let overwritten = 0;
      for (let round = 0; round < 10; round++) {
        await new Promise((done) => setImmediate(done));
        Bun.gc(true);
        const others = manyArrays();
        expect(Buffer.from(key.sign(knownHash) ?? []).toString("base64url")).toBe(knownSignature);
        overwritten += others.filter((other) => other.some((byte) => byte !== 0xaa)).length;
      }
      expect(overwritten).toBe(0);
    }));
});
