import { expect, spyOn, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  hasRocaFingerprint,
  isSignedBy,
  isThumbprint,
  thumbprintOf,
  type VettedKey,
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

test("vetRsaKey returns the members that verifying needs, and the key id is the thumbprint", async () => {
  const vetted = vetRsaKey({ ...good, x5t: "x" }) as VettedKey;
  expect(vetted).toEqual({ jwk: { ...good, use: "sig", alg: "RS256" } as never, modulusBytes: 256 });
  expect(await thumbprintOf(vetted.jwk)).toBe(kid);
  expect([kid, `${kid}A`, kid.slice(1), `${kid.slice(1)}=`].map(isThumbprint)).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(vetRsaKey(active)).not.toHaveProperty("reason");
});

test.each<[changes: JsonObject]>([
  [{ use: "sig", alg: "RS256", key_ops: ["verify"] }],
  [{ e: "Aw" }],
  [{ e: "AQE" }],
  [{ e: "AQAAAQ" }],
  [{ n: modulus(0x80, 256) }],
  [{ n: modulus(0xff, 1024) }],
])("an RSA key with %j is accepted", (changes) => {
  expect(vetRsaKey({ ...good, ...changes })).toHaveProperty("modulusBytes");
});

const malformed = [
  "KEY_SET_KEY_MALFORMED",
  `Key ${kid} is not a well-formed RSA key for RS256 signatures.`,
] as const;
const exponent = ["KEY_SET_EXPONENT", `The public exponent of key ${kid} is even, 1 or oversized.`] as const;
test.each<[changes: JsonObject, reason: string, detail: string]>([
  [{ kty: "oct" }, "KEY_SET_SYMMETRIC_KEY", "The key set holds a symmetric key."],
  [{ k: "" }, "KEY_SET_SYMMETRIC_KEY", "The key set holds a symmetric key."],
  ...["d", "p", "q", "dp", "dq", "qi", "oth"].map((member): [JsonObject, string, string] => [
    { [member]: "" },
    ...(["KEY_SET_PRIVATE_KEY", "The key set holds a private key."] as const),
  ]),
  [{ kty: 7 }, "KEY_SET_KEY_MALFORMED", "A key of the set has no type (kty)."],
  [{ kid: "" }, "KEY_SET_KID_MISSING", "The key set holds an RSA key without a key id."],
  [{ kid: 7 }, "KEY_SET_KID_MISSING", "The key set holds an RSA key without a key id."],
  ...["", 7, "AAE", "AB", "="].flatMap((value): [JsonObject, string, string][] => [
    [{ n: value }, ...malformed],
    [{ e: value }, ...malformed],
  ]),
  ...[{ use: "enc" }, { use: null }, { alg: "RS512" }, { alg: null }, { key_ops: "verify" }].map(
    (changes): [JsonObject, string, string] => [changes as JsonObject, ...malformed],
  ),
  ...[[], ["sign"], ["verify", "sign"]].map((key_ops): [JsonObject, string, string] => [
    { key_ops },
    ...malformed,
  ]),
  ...["AQ", "Ag", "AQAAAAE", "AQAA"].map((e): [JsonObject, string, string] => [{ e }, ...exponent]),
  [{ n: modulus(0x7f, 256) }, "KEY_SET_MODULUS_SIZE", `Key ${kid} has 2047 bits, not 2048 to 8192.`],
  [{ n: modulus(0x01, 1025) }, "KEY_SET_MODULUS_SIZE", `Key ${kid} has 8193 bits, not 2048 to 8192.`],
  [{ n: `${good.n.slice(0, -2)}AA` }, "KEY_SET_KEY_MALFORMED", `The modulus of key ${kid} is even.`],
  [
    { n: String(keysOf("jwks-roca.json").at(-1)?.n) },
    "KEY_SET_ROCA",
    `Key ${kid} was made by a generator known to be broken: it can be factored.`,
  ],
])("an RSA key with %j is refused as %s", (changes, reason, detail) => {
  expect(vetRsaKey({ ...good, ...changes })).toMatchObject({ reason, detail } as never);
});

test("an RSA key verifies only what it signed, even after the cryptography library has failed once", async () => {
  const key = vetRsaKey(good) as VettedKey;
  const [input, other] = [Uint8Array.of(1, 2), Uint8Array.of(1, 3)];
  const signature = new Uint8Array(sign("sha256", input, keys.active.privateKey));
  const failing = spyOn(crypto.subtle, "importKey").mockRejectedValueOnce(new DOMException("not now"));
  await expect(isSignedBy(key, { signingInput: input, signature })).rejects.toThrow(DOMException);
  failing.mockRestore();
  const verdicts = [input, other, input].map((signingInput) => isSignedBy(key, { signingInput, signature }));
  expect(await Promise.all(verdicts)).toEqual([true, false, true]);
  const verifying = spyOn(crypto.subtle, "verify");
  for (const wrong of [signature.slice(1), Uint8Array.of(...signature, 0)])
    expect(await isSignedBy(key, { signingInput: input, signature: wrong })).toBe(false);
  expect(verifying).not.toHaveBeenCalled();
  verifying.mockRestore();
});

test("vetRsaKey returns null for a key that is not RSA", () =>
  expect(vetRsaKey({ kty: "EC", crv: "P-256" })).toBeNull());
