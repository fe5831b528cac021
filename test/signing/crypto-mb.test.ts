import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, hash } from "node:crypto";
import { type CryptoMb, lanes } from "../../src/signing/crypto-mb.ts";
import { knownHash, knownKey, knownSignature } from "../../src/signing/known-answer.ts";
import { findLibcrypto, type LoadedKey, openLibcrypto } from "../../src/signing/libcrypto.ts";
import { signAll } from "../../src/signing/openssl.ts";
import { cryptoMb } from "./machine.ts";

const libcrypto = cryptoMb === null ? null : await openLibcrypto(findLibcrypto() ?? "");

function loadKey(pkcs8: Uint8Array): LoadedKey {
  return libcrypto?.loadKey(pkcs8) as LoadedKey;
}

function generate(modulusLength: number, publicExponent = 65_537): LoadedKey {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength, publicExponent });
  return loadKey(new Uint8Array(privateKey.export({ format: "der", type: "pkcs8" })));
}

const hashes = (count: number) =>
  Array.from({ length: count }, (_, at) => new Uint8Array(hash("sha256", `${at}`, "buffer")));

/** A key of which one number comes out with one bit changed, as a fault of the machine would have it. */
function withFault(key: LoadedKey, name: string): LoadedKey {
  return {
    ...key,
    read(wanted) {
      const isRead = key.read(wanted);
      const number = wanted[name];
      if (number !== undefined) number[20] = (number[20] ?? 0) ^ 1;
      return isRead;
    },
  };
}

// Where library or processor are missing, signer.test.ts shows what happens then.
describe.if(cryptoMb !== null)("eight signatures at once", () => {
  const inLanes = (key: LoadedKey) => (cryptoMb as CryptoMb).loadKey(key);

  test("are the known one, in every lane", () => {
    const key = inLanes(loadKey(knownKey()));
    const made = key?.sign(new Array(lanes).fill(knownHash)) ?? [];
    expect(made.map((one) => Buffer.from(one).toString("base64url"))).toEqual(
      new Array(lanes).fill(knownSignature),
    );
  });

  test.each([2048, 3072, 4096])(
    "are OpenSSL's bytes, of keys of %d bits, however many are wanted",
    (bits) => {
      const openssl = generate(bits);
      const key = inLanes(openssl);
      for (const count of [1, 4, 7, lanes]) {
        const wanted = hashes(count);
        expect(key?.sign(wanted)).toEqual(wanted.map((one) => openssl.sign(one) as Uint8Array));
      }
    },
  );

  test("are not made by a key of another size, or with another public exponent", () => {
    expect(inLanes(generate(2176))).toBeNull();
    expect(inLanes(generate(2048, 3))).toBeNull();
  });

  test.each(["rsa-factor1", "rsa-factor2", "rsa-exponent1", "rsa-exponent2", "rsa-coefficient1"])(
    "are given to nobody when %s was wrong, and OpenSSL makes them",
    (name) => {
      const openssl = loadKey(knownKey());
      const key = { loaded: openssl, lanes: inLanes(withFault(openssl, name)) };
      expect(key.lanes?.sign(hashes(lanes))).toBeNull();
      expect(signAll(key, hashes(lanes))).toEqual(
        hashes(lanes).map((one) => openssl.sign(one) as Uint8Array),
      );
      expect(key.lanes).toBeNull();
    },
  );
});
