import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createPrivateKey, generateKeyPairSync, hash } from "node:crypto";
import { type CryptoMb, laneCount } from "../../src/signing/crypto-mb.ts";
import { copyTestKey, selfTestHash, selfTestSignature } from "../../src/signing/engine.ts";
import { findLibcrypto, type LibcryptoKey, openLibcrypto, signHashes } from "../../src/signing/openssl.ts";
import { cryptoMb } from "./machine.ts";

const libcrypto = cryptoMb === null ? null : await openLibcrypto(findLibcrypto() ?? "");

/** Makes a private key, PKCS #8 DER. */
function generate(modulusLength: number, publicExponent = 65_537): Uint8Array<ArrayBuffer> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength, publicExponent });
  return new Uint8Array(privateKey.export({ format: "der", type: "pkcs8" }));
}

const inOpenssl = (pkcs8: Uint8Array) => libcrypto?.loadKey(pkcs8) as LibcryptoKey;

const hashes = (count: number) =>
  Array.from({ length: count }, (_, at) => new Uint8Array(hash("sha256", `${at}`, "buffer")));

/** Copies a private key with one bit of one of its numbers flipped, as a hardware fault would. */
function withFault(pkcs8: Uint8Array, name: "p" | "q" | "dp" | "dq" | "qi"): Uint8Array {
  const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
  const number = Buffer.from(key.export({ format: "jwk" })[name] ?? "", "base64url");
  const faulty = Buffer.from(pkcs8);
  const at = faulty.indexOf(number) + number.length - 21;
  faulty.writeUInt8(faulty.readUInt8(at) ^ 1, at);
  return new Uint8Array(faulty);
}

// signer.test.ts tests the fallback of a machine that lacks crypto_mb or AVX-512 IFMA.
describe.if(cryptoMb !== null)("eight signatures at once", () => {
  const inLanes = (pkcs8: Uint8Array) => (cryptoMb as CryptoMb).loadKey(pkcs8);

  test("crypto_mb makes the known signature in each of its eight lanes", () => {
    const key = inLanes(copyTestKey());
    const made = key?.sign(new Array(laneCount).fill(selfTestHash)) ?? [];
    expect(made.map((one) => Buffer.from(one).toString("base64url"))).toEqual(
      new Array(laneCount).fill(selfTestSignature),
    );
  });

  test.each([2048, 3072, 4096])(
    "crypto_mb makes the same signatures as OpenSSL with a key of %d bits",
    (bits) => {
      const pkcs8 = generate(bits);
      const [openssl, key] = [inOpenssl(pkcs8), inLanes(pkcs8)];
      for (const count of [1, 4, 7, laneCount]) {
        const wanted = hashes(count);
        expect(key?.sign(wanted)).toEqual(wanted.map((one) => openssl.sign(one) as Uint8Array));
      }
    },
  );

  test("crypto_mb refuses a key of an unsupported size, or with a public exponent other than 65537", () => {
    expect(inLanes(generate(2176))).toBeNull();
    expect(inLanes(generate(2048, 3))).toBeNull();
  });

  const numbers = ["p", "q", "dp", "dq", "qi"] as const;
  test.each(numbers)("OpenSSL signs if crypto_mb's copy of the key has a wrong %s", (name) => {
    const openssl = inOpenssl(copyTestKey());
    const key = { loaded: openssl, lanes: inLanes(withFault(copyTestKey(), name)) };
    const asked = hashes(laneCount);
    expect(key.lanes?.sign(asked)).toBeNull();
    expect(signHashes(key, asked)).toEqual(asked.map((one) => openssl.sign(one) as Uint8Array));
    expect(key.lanes).toBeNull();
  });
});
