import { expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasRocaFingerprint } from "../../src/partner/rsa-key.ts";
import { folder } from "../fixtures/envelope-tokens.ts";

function modulusOf(jwk: { n?: string }): bigint {
  return BigInt(`0x${Buffer.from(jwk.n ?? "", "base64url").toString("hex")}`);
}

function keysOf(name: string): { n: string }[] {
  return JSON.parse(readFileSync(join(folder, "keys", name), "utf8")).keys;
}

test("ordinary keys do not carry the fingerprint", () => {
  for (const key of keysOf("jwks.json")) expect(hasRocaFingerprint(modulusOf(key))).toBe(false);
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  expect(hasRocaFingerprint(modulusOf(publicKey.export({ format: "jwk" })))).toBe(false);
});

test("a modulus of the broken generator does, and so does a product of two of its primes", () => {
  const weak = modulusOf(keysOf("jwks-roca.json").at(-1) ?? {});
  expect(weak.toString(2)).toHaveLength(2048);
  expect(hasRocaFingerprint(weak)).toBe(true);
  expect(hasRocaFingerprint(weak * 65537n)).toBe(true);
  expect(hasRocaFingerprint(weak + 2n)).toBe(false);
});
