import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { knownInput, knownKey, knownSignature } from "../../src/signing/known-answer.ts";
import { findLibcrypto, type LoadedKey, openLibcrypto } from "../../src/signing/libcrypto.ts";

const file = findLibcrypto();

/** As many small arrays as make it sure that some lie where memory was given back. */
function manyArrays(): Uint8Array[] {
  return Array.from({ length: 50_000 }, () => new Uint8Array(32).fill(0xaa));
}

describe.if(file !== undefined)("OpenSSL in this thread", () => {
  test("writes into memory of its own only, also after the garbage was collected", async () => {
    const libcrypto = await openLibcrypto(file ?? "");
    const input = new Uint8Array(Buffer.from(knownInput));
    const output = new Uint8Array(256);
    const place = libcrypto.place(input, output);
    const key = libcrypto.loadKey(knownKey()) as LoadedKey;
    let overwritten = 0;
    for (let round = 0; round < 10; round++) {
      await new Promise((done) => setImmediate(done));
      Bun.gc(true);
      const others = manyArrays();
      const length = place.sign(key, input.length, { hashed: false });
      expect(Buffer.from(output).toString("base64url", 0, length)).toBe(knownSignature);
      overwritten += others.filter((other) => other.some((byte) => byte !== 0xaa)).length;
    }
    key.free();
    expect(overwritten).toBe(0);
  });

  test("reads no further than the place reaches", async () => {
    const libcrypto = await openLibcrypto(file ?? "");
    const place = libcrypto.place(new Uint8Array(32), new Uint8Array(256));
    const key = libcrypto.loadKey(knownKey()) as LoadedKey;
    expect(place.sign(key, 32, { hashed: false })).toBe(256);
    expect(place.sign(key, 33, { hashed: false })).toBe(0);
    key.free();
  });
});
