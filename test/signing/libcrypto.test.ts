import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { copyTestKey, selfTestHash, selfTestSignature } from "../../src/signing/engine.ts";
import { findLibcrypto, openLibcrypto } from "../../src/signing/openssl.ts";

const file = findLibcrypto();

test.if(file !== undefined)(
  "OpenSSL overwrites no JavaScript array, even after garbage collection",
  async () => {
    const key = (await openLibcrypto(file ?? "")).loadKey(copyTestKey());
    let overwritten = 0;
    for (let round = 0; round < 10; round++) {
      await new Promise((done) => setImmediate(done));
      Bun.gc(true);
      // There are so many small arrays that some of them use freed memory.
      const others = Array.from({ length: 50_000 }, () => new Uint8Array(32).fill(0xaa));
      expect(Buffer.from(key.sign(selfTestHash)).toString("base64url")).toBe(selfTestSignature);
      overwritten += others.filter((other) => other.some((byte) => byte !== 0xaa)).length;
    }
    key.free();
    expect(overwritten).toBe(0);
  },
);
