import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { compactVerify, importJWK } from "jose";
import {
  decryptPrivateKey,
  ensureFirstKeys,
  generateSigningKey,
  importSigningKey,
  jwksOf,
  keyRingOf,
  markKeyCompromised,
  signKeyHistory,
} from "../../src/domain/keys.ts";
import { rotateSigningKeys } from "../../src/domain/rotation.ts";
import { deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";
import { fillRing, fixtureKey, readKey } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { aSigningKey, secrets } from "../harness/samples.ts";
import { withStores } from "../harness/store.ts";

const now = Date.parse("2026-03-01T12:00:00.250Z");
const dayMs = 86_400_000;
const rotation = { bits: 2048, immediately: false, now: now + dayMs };

test("a signing key's id is its RFC 7638 thumbprint, and its published form has no private half", async () => {
  const key = await generateSigningKey(secrets, 2048, now);
  const { n, e } = key.jwk;
  const thumbprint = createHash("sha256").update(`{"e":"${e}","kty":"RSA","n":"${n}"}`).digest("base64url");
  const times = { createdAt: now, publishedAt: now, activatedAt: null };
  expect(key).toMatchObject({ kid: thumbprint, state: "pending", ...times });
  expect(key.jwk).toEqual({ kty: "RSA", use: "sig", alg: "RS256", kid: thumbprint, n, e: "AQAB" });
  expect(Buffer.from(n, "base64url")).toHaveLength(256);
});

test.each([0, 512, 1024, 2047, 8192])("a signing key of %d bits is refused", async (bits) => {
  expect(await catchError(generateSigningKey(secrets, bits, now))).toMatchObject({ code: "USAGE" });
});

test("a sealed private key can be opened only with its key id and master key, and the opened key can only sign", async () => {
  const key = await fixtureKey("active", now);
  const other = await fixtureKey("pending", now);
  const der = createPrivateKey(readKey("active")).export({ type: "pkcs8", format: "der" });
  expect(Buffer.from(secrets.open(key.sealed ?? new Uint8Array(), key.kid)).equals(der)).toBe(true);
  expect(Buffer.from(key.sealed ?? []).includes(der.subarray(-64))).toBe(false);
  const opened = await decryptPrivateKey(key, secrets);
  expect([opened.extractable, opened.usages]).toEqual([false, ["sign"]]);
  const wrong = { code: "MASTER_KEY_WRONG" };
  const exchanged = { ...key, sealed: other.sealed };
  expect(await catchError(decryptPrivateKey(exchanged, secrets))).toMatchObject(wrong);
  expect(await catchError(decryptPrivateKey(key, deriveSecrets(generateMasterKey())))).toMatchObject(wrong);
  const destroyed = { ...key, sealed: null };
  expect(await catchError(decryptPrivateKey(destroyed, secrets))).toMatchObject({ code: "INTERNAL" });
});

test("a private key in the form PKCS #1 or PKCS #8 can be imported", async () => {
  const pem = createPrivateKey(readKey("active")).export({ type: "pkcs1", format: "pem" });
  expect((await importSigningKey(pem.toString(), secrets, now)).kid).toBe(
    (await fixtureKey("active", now)).kid,
  );
});

const pemOf = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();
const { privateKey: ofExponent3 } = generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 3 });
test.each<[why: string, pem: string, says: string]>([
  ["it is short", readKey("short"), "2048"],
  ["it has another public exponent", pemOf(ofExponent3), "exponent"],
  ["its generator is broken, so that partners would refuse the whole key set", readKey("roca"), "ROCA"],
])("the import of a key is refused if %s", async (_why, pem, says) => {
  const message = expect.stringContaining(says);
  expect(await catchError(importSigningKey(pem, secrets, now))).toMatchObject({ code: "REFUSED", message });
});

test("the import of a damaged key is refused, because no verifier would accept its envelopes", async () => {
  const jwkOf = (name: string) => createPrivateKey(readKey(name)).export({ format: "jwk" });
  const [sound, { d = "", dp = "", dq = "" }] = [jwkOf("active"), jwkOf("pending")];
  const damaged = createPrivateKey({ key: { ...sound, d, dp, dq }, format: "jwk" });
  // Bun or Deno finds the damage when it reads the file, the other runtime when it signs.
  const refusal = await catchError(importSigningKey(pemOf(damaged), secrets, now));
  expect(["REFUSED", "INPUT_UNREADABLE"]).toContain((refusal as { code: string }).code);
});

test("an encrypted key, and a key that is not a private RSA key, cannot be imported", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const encrypted = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" } as const;
  const locked = createPrivateKey(readKey("active")).export(encrypted);
  const publicPem = publicKey.export({ type: "spki", format: "pem" }).toString();
  for (const pem of [
    "",
    "hello",
    pemOf(privateKey),
    publicPem,
    locked.toString(),
    readKey("active").slice(0, 400),
  ]) {
    const message = "the file contains no unencrypted RSA private key in PEM form";
    const error = await catchError(importSigningKey(pem, secrets, now));
    expect(error).toMatchObject({ code: "INPUT_UNREADABLE", message });
  }
});

test("the key ring is initialised once, with one active and one pending key", () =>
  withStores(async ({ keys }) => {
    await ensureFirstKeys(keys, secrets, { bits: 2048, now });
    const { active, pending } = keyRingOf(await keys.list());
    expect(active).toMatchObject({ activatedAt: now, publishedAt: now });
    expect(pending).toMatchObject({ activatedAt: null, publishedAt: now });
    await ensureFirstKeys(keys, secrets, { bits: 2048, now: now + 1 });
    expect(await keys.list()).toHaveLength(2);
  }));

test("a key ring without an active or a pending key is refused", () => {
  for (const keys of [[], [aSigningKey("A", "active")], [aSigningKey("B", "pending")]]) {
    expect(() => keyRingOf(keys)).toThrow("restore a backup");
  }
});

test("every key except a compromised one is published", () => {
  const keys = [
    { ...aSigningKey("R", "active"), state: "retired" as const },
    { ...aSigningKey("C", "active"), state: "compromised" as const },
    aSigningKey("A", "active"),
    aSigningKey("P", "pending"),
  ];
  expect(jwksOf(keyRingOf(keys)).keys.map((key) => key.kid)).toEqual(["R", "A", "P"]);
});

const since = now - 5 * dayMs;
const change = { since, bits: 2048, now };

test.each<["active" | "pending", object]>([
  ["active", { state: "compromised", compromisedSince: since, retiredAt: now, sealed: null }],
  ["pending", { state: "compromised", compromisedSince: since, retiredAt: null, sealed: null }],
])("a compromised %s key is replaced, and is not published", (which, record) =>
  withStores(async ({ keys }) => {
    const before = await fillRing(keys, now);
    const { kid } = before[which];
    await markKeyCompromised(keys, secrets, { ...change, kid });
    const ring = keyRingOf(await keys.list());
    const other = which === "active" ? before.pending : before.active;
    expect(ring.active.kid).toBe(other.kid);
    expect([kid, other.kid]).not.toContain(ring.pending.kid);
    expect(jwksOf(ring).keys.map((key) => key.kid)).not.toContain(kid);
    expect(ring.keys.find((key) => key.kid === kid)).toMatchObject(record);
  }),
);

test("a retired key can be marked as compromised, and keeps the earliest time of compromise", () =>
  withStores(async ({ keys }) => {
    const { active } = await fillRing(keys, now);
    await rotateSigningKeys(keys, secrets, rotation);
    for (const time of [since, since + dayMs, since - dayMs])
      await markKeyCompromised(keys, secrets, { ...change, kid: active.kid, since: time });
    const ring = keyRingOf(await keys.list());
    expect(ring.keys).toHaveLength(3);
    const flagged = ring.keys.find((key) => key.kid === active.kid);
    const times = { compromisedSince: since - dayMs, retiredAt: now + dayMs };
    expect(flagged).toMatchObject({ state: "compromised", ...times });
  }));

test("a key can be marked as compromised if it is known and the time is in the past", () =>
  withStores(async ({ keys }) => {
    const { active } = await fillRing(keys, now);
    const before = await keys.list();
    const refusalOf = (asked: object) =>
      catchError(markKeyCompromised(keys, secrets, { ...change, kid: active.kid, ...asked }));
    expect(await refusalOf({ kid: "nobody" })).toMatchObject({ code: "NOT_KNOWN" });
    expect(await refusalOf({ since: now + 1 })).toMatchObject({ code: "REFUSED" });
    expect(await keys.list()).toEqual(before);
  }));

test("the key history is signed by the active key and lists every key with its period, without private halves", () =>
  withStores(async ({ keys }) => {
    const { active, pending } = await fillRing(keys, now);
    await markKeyCompromised(keys, secrets, { kid: active.kid, since: now - dayMs, bits: 2048, now });
    const ring = keyRingOf(await keys.list());
    const jws = await signKeyHistory(ring, { issuer: "https://teachers.example", secrets, now });
    const { payload, protectedHeader } = await compactVerify(jws, await importJWK(pending.jwk, "RS256"));
    expect(protectedHeader).toEqual({ alg: "RS256", kid: pending.kid, typ: "key-history+jwt" });
    const history = JSON.parse(new TextDecoder().decode(payload));
    expect(history).toMatchObject({ iss: "https://teachers.example", iat: Math.floor(now / 1000) });
    expect(history.keys).toHaveLength(3);
    const at = "2026-03-01T12:00:00.250Z";
    expect(history.keys.find((key: { kid: string }) => key.kid === active.kid)).toEqual({
      ...{ kid: active.kid, state: "compromised", jwk: active.jwk },
      ...{ createdAt: at, publishedAt: at, activatedAt: at, retiredAt: at },
      compromisedSince: "2026-02-28T12:00:00.250Z",
    });
    expect(Object.keys(history.keys[0].jwk).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
  }));
