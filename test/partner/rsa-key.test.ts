import { expect, spyOn, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  hasRocaFingerprint,
  isThumbprint,
  thumbprintOf,
  type VettedRsaKey,
  verifyRsaSignature,
  vetRsaKey,
} from "../../src/partner/rsa-key.ts";
import type { JsonObject } from "../../src/partner/strict-json.ts";
import { folder, keys } from "../fixtures/envelope-tokens.ts";

function modulusOf(jwk: { n?: string }): bigint {
  return BigInt(`0x${Buffer.from(jwk.n ?? "", "base64url").toString("hex")}`);
}

function keysOf(name: string): { n: string }[] {
  return JSON.parse(readFileSync(join(folder, "keys", name), "utf8")).keys;
}

test("ordinary RSA keys do not have the ROCA fingerprint", () => {
  for (const key of keysOf("jwks.json")) expect(hasRocaFingerprint(modulusOf(key))).toBe(false);
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  expect(hasRocaFingerprint(modulusOf(publicKey.export({ format: "jwk" })))).toBe(false);
});

test("an RSA modulus of the broken generator has the ROCA fingerprint", () => {
  const weak = modulusOf(keysOf("jwks-roca.json").at(-1) ?? {});
  expect(weak.toString(2)).toHaveLength(2048);
  expect(hasRocaFingerprint(weak)).toBe(true);
  expect(hasRocaFingerprint(weak * 65537n)).toBe(true);
  expect(hasRocaFingerprint(weak + 2n)).toBe(false);
});

const active = keysOf("jwks.json")[0] as unknown as JsonObject;
const { kid } = keys.active;
const good = { kty: "RSA", kid, n: keys.active.jwk.n as string, e: "AQAB" };
const modulus = (first: number, bytes: number) =>
  Buffer.concat([Buffer.of(first), Buffer.alloc(bytes - 1, 0xff)]).toString("base64url");

test("vetRsaKey returns the members that a verifier needs, and thumbprintOf computes the key id from them", async () => {
  const vetted = vetRsaKey({ ...good, x5t: "x" }) as VettedRsaKey;
  expect(vetted).toEqual({ jwk: { ...good, use: "sig", alg: "RS256" } as never, modulusBytes: 256 });
  expect(await thumbprintOf(vetted.jwk)).toBe(kid);
  expect(isThumbprint(kid)).toBe(true);
  for (const other of [`${kid}A`, kid.slice(1), `${kid.slice(1)}=`]) expect(isThumbprint(other)).toBe(false);
  expect(vetRsaKey(active)).not.toHaveProperty("reason");
});

test.each<JsonObject>([
  { use: "sig", alg: "RS256", key_ops: ["verify"] },
  ...["Aw", "AQE", "AQAAAQ"].map((e) => ({ e })),
  ...[modulus(0x80, 256), modulus(0xff, 1024)].map((n) => ({ n })),
])("an RSA key with %j is accepted", (changes) => {
  expect(vetRsaKey({ ...good, ...changes })).toHaveProperty("modulusBytes");
});

const malformed = `Key ${kid} is not a well-formed RSA key for RS256 signatures.`;
const roca = `Key ${kid} was made by a generator known to be broken: it can be factored.`;
const symmetric = "The key set holds a symmetric key.";
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth"];
test.each<[reason: string, detail: string, ...changes: JsonObject[]]>([
  ["KEY_SET_SYMMETRIC_KEY", symmetric, { kty: "oct" }, { k: "" }],
  [
    "KEY_SET_PRIVATE_KEY",
    "The key set holds a private key.",
    ...privateMembers.map((member) => ({ [member]: "" })),
  ],
  ["KEY_SET_KEY_MALFORMED", "A key of the set has no type (kty).", { kty: 7 }],
  ["KEY_SET_KID_MISSING", "The key set holds an RSA key without a key id.", { kid: "" }, { kid: 7 }],
  [
    "KEY_SET_KEY_MALFORMED",
    malformed,
    ...["", 7, "AAE", "AB", "="].flatMap((value) => [{ n: value }, { e: value }]),
    ...[{ use: "enc" }, { use: null }, { alg: "RS512" }, { alg: null }],
    ...["verify", [], ["sign"], ["verify", "sign"]].map((key_ops) => ({ key_ops })),
  ],
  [
    "KEY_SET_EXPONENT",
    `The public exponent of key ${kid} is even, 1 or oversized.`,
    ...["AQ", "Ag", "AQAAAAE", "AQAA"].map((e) => ({ e })),
  ],
  ["KEY_SET_MODULUS_SIZE", `Key ${kid} has 2047 bits, not 2048 to 8192.`, { n: modulus(0x7f, 256) }],
  ["KEY_SET_MODULUS_SIZE", `Key ${kid} has 8193 bits, not 2048 to 8192.`, { n: modulus(0x01, 1025) }],
  ["KEY_SET_KEY_MALFORMED", `The modulus of key ${kid} is even.`, { n: `${good.n.slice(0, -2)}AA` }],
  ["KEY_SET_ROCA", roca, { n: String(keysOf("jwks-roca.json").at(-1)?.n) }],
])("a wrong RSA key is refused as %s: %s", (reason, detail, ...changes) => {
  const found = changes.map((change) => vetRsaKey({ ...good, ...change }));
  expect(found).toMatchObject(changes.map(() => ({ reason, detail })) as never);
});

test("an RSA key verifies only its own signatures, even if its first import failed", async () => {
  const key = vetRsaKey(good) as VettedRsaKey;
  const [input, other] = [Uint8Array.of(1, 2), Uint8Array.of(1, 3)];
  const signature = new Uint8Array(sign("sha256", input, keys.active.privateKey));
  const failing = spyOn(crypto.subtle, "importKey").mockRejectedValueOnce(new DOMException("not now"));
  await expect(verifyRsaSignature(key, { signingInput: input, signature })).rejects.toThrow(DOMException);
  failing.mockRestore();
  const verdicts = [input, other, input].map((signingInput) =>
    verifyRsaSignature(key, { signingInput, signature }),
  );
  expect(await Promise.all(verdicts)).toEqual([true, false, true]);
  const verifying = spyOn(crypto.subtle, "verify");
  for (const wrong of [signature.slice(1), Uint8Array.of(...signature, 0)])
    expect(await verifyRsaSignature(key, { signingInput: input, signature: wrong })).toBe(false);
  expect(verifying).not.toHaveBeenCalled();
  verifying.mockRestore();
});

test("vetRsaKey returns null for a key that is not RSA", () =>
  expect(vetRsaKey({ kty: "EC", crv: "P-256" })).toBeNull());
