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
    const buffers = libcrypto.bindBuffers(input, output);
    const key = libcrypto.loadKey(knownKey()) as LoadedKey;
    let overwritten = 0;
    for (let round = 0; round < 10; round++) {
      await new Promise((done) => setImmediate(done));
      Bun.gc(true);
      const others = manyArrays();
      const length = buffers.sign(key, input.length, { hashed: false });
      expect(Buffer.from(output).toString("base64url", 0, length)).toBe(knownSignature);
      overwritten += others.filter((other) => other.some((byte) => byte !== 0xaa)).length;
    }
    key.free();
    expect(overwritten).toBe(0);
  });

  test("keeps to the same memory when a part of a small buffer is looked at", async () => {
    const libcrypto = await openLibcrypto(file ?? "");
    const input = new Uint8Array(100);
    const output = new Uint8Array(256);
    const buffers = libcrypto.bindBuffers(input, output);
    const key = libcrypto.loadKey(knownKey()) as LoadedKey;
    for (const text of ["another", knownInput]) {
      const { written } = new TextEncoder().encodeInto(text, input.subarray(0, 90));
      buffers.sign(key, written, { hashed: false });
      expect(Buffer.from(output.subarray(0, 256)).toString("base64url") === knownSignature).toBe(
        text === knownInput,
      );
    }
    key.free();
  });

  test("reads no further than the buffers reach", async () => {
    const libcrypto = await openLibcrypto(file ?? "");
    const buffers = libcrypto.bindBuffers(new Uint8Array(32), new Uint8Array(256));
    const key = libcrypto.loadKey(knownKey()) as LoadedKey;
    expect(buffers.sign(key, 32, { hashed: false })).toBe(256);
    expect(buffers.sign(key, 33, { hashed: false })).toBe(0);
    key.free();
  });
});
