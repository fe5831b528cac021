import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify, webcrypto } from "node:crypto";
import { CompactSign, calculateJwkThumbprint } from "jose";
import { hasRocaFingerprint } from "../partner/rsa-key.ts";
import type { KeyStore } from "../store/keys.ts";
import { isoTimes } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { Secrets } from "./secrets.ts";

export type SigningKeyState = "pending" | "active" | "retired" | "compromised";

/** One key of the JWKS document (contract C11). */
type PublicJwk = { kty: "RSA"; use: "sig"; alg: "RS256"; kid: string; n: string; e: string };

/** A signing key. Each time is in milliseconds since the epoch, or null if the change has not happened. */
export type SigningKey = {
  readonly kid: string;
  readonly state: SigningKeyState;
  readonly jwk: PublicJwk;
  /** The private key (PKCS #8), encrypted and bound to the kid; null after it was destroyed. */
  readonly sealed: Uint8Array | null;
  readonly createdAt: number;
  readonly publishedAt: number;
  readonly activatedAt: number | null;
  readonly retiredAt: number | null;
  readonly compromisedSince: number | null;
};

const publicExponent = new Uint8Array([1, 0, 1]);
const allowedBits = [2048, 3072, 4096];

/** Makes a key pair. @param bits modulus length: 2048, 3072 or 4096. @throws TvsError USAGE for another length */
export async function generateSigningKey(secrets: Secrets, bits: number, now: number): Promise<SigningKey> {
  if (!allowedBits.includes(bits)) throw new TvsError("USAGE", "--bits must be 2048, 3072 or 4096");
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: bits, publicExponent };
  const pair = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const pkcs8 = new Uint8Array(await webcrypto.subtle.exportKey("pkcs8", pair.privateKey));
  const { n = "", e = "" } = await webcrypto.subtle.exportKey("jwk", pair.publicKey);
  return pendingKey({ n, e, pkcs8 }, secrets, now);
}

/**
 * Imports an unencrypted private key in PEM form (PKCS #1 or PKCS #8).
 * @throws TvsError INPUT_UNREADABLE if it is not an RSA private key, REFUSED if it is weak or damaged
 */
export async function importSigningKey(pem: string, secrets: Secrets, now: number): Promise<SigningKey> {
  const { privateKey, jwk } = readPem(pem);
  const { n = "", e = "" } = jwk;
  const bits = privateKey.asymmetricKeyDetails?.modulusLength ?? Buffer.from(n, "base64url").length * 8;
  if (bits < 2048 || bits > 4096) throw new TvsError("REFUSED", "the key must have 2048 to 4096 bits");
  if (e !== "AQAB") throw new TvsError("REFUSED", "the key must have the public exponent 65537");
  // Verifiers refuse a whole JWKS if one key has the ROCA flaw, and a published key stays in the JWKS after retirement.
  if (hasRocaFingerprint(BigInt(`0x${Buffer.from(n, "base64url").toString("hex")}`)))
    throw new TvsError("REFUSED", "the key was made by a generator that is known to be broken (ROCA)");
  if (!signs(privateKey, pem))
    throw new TvsError("REFUSED", "signatures made with the key do not verify; the key is damaged");
  const pkcs8 = new Uint8Array(privateKey.export({ type: "pkcs8", format: "der" }));
  return pendingKey({ n, e, pkcs8 }, secrets, now);
}

/** True if a signature by the key verifies. A damaged private key may be read without an error. */
function signs(privateKey: KeyObject, pem: string): boolean {
  const probe = Buffer.from("tvs");
  try {
    return verify("sha256", probe, createPublicKey(pem), sign("sha256", probe, privateKey));
  } catch {
    return false;
  }
}

function readPem(pem: string) {
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType !== "rsa") throw new Error("not RSA");
    return { privateKey, jwk: createPublicKey(pem).export({ format: "jwk" }) };
  } catch (cause) {
    const message = "the file contains no unencrypted RSA private key in PEM form";
    throw new TvsError("INPUT_UNREADABLE", message, { cause });
  }
}

async function pendingKey(
  { n, e, pkcs8 }: { n: string; e: string; pkcs8: Uint8Array },
  secrets: Secrets,
  now: number,
): Promise<SigningKey> {
  const kid = await calculateJwkThumbprint({ kty: "RSA", n, e }, "sha256");
  const sealed = secrets.seal(pkcs8, kid);
  pkcs8.fill(0);
  return {
    ...{ kid, state: "pending", jwk: { kty: "RSA", use: "sig", alg: "RS256", kid, n, e }, sealed },
    ...{ createdAt: now, publishedAt: now, activatedAt: null, retiredAt: null, compromisedSince: null },
  };
}

/** Makes the first two keys of a new register. @returns false if the register has keys already */
export async function ensureFirstKeys(
  store: KeyStore,
  secrets: Secrets,
  options: { bits: number; now: number },
) {
  if ((await store.list()).length > 0) return false;
  const generate = () => generateSigningKey(secrets, options.bits, options.now);
  const [active, pending] = await Promise.all([generate(), generate()]);
  return store.create({ ...active, state: "active", activatedAt: options.now }, pending);
}

export type KeyRing = {
  readonly keys: readonly SigningKey[];
  readonly active: SigningKey;
  readonly pending: SigningKey;
};

/** Makes a key ring. @throws TvsError INTERNAL if the active or pending key is missing, which the store prevents */
export function keyRingOf(keys: readonly SigningKey[]): KeyRing {
  const active = keys.find((key) => key.state === "active");
  const pending = keys.find((key) => key.state === "pending");
  if (active === undefined || pending === undefined)
    throw new TvsError("INTERNAL", "the key ring has no active or no pending key; restore a backup");
  return { keys, active, pending };
}

/** Makes the JWKS document (contract C11), with the retired keys that old envelopes need, without compromised keys. */
export function jwksOf(ring: KeyRing): { keys: PublicJwk[] } {
  return { keys: ring.keys.filter((key) => key.state !== "compromised").map((key) => key.jwk) };
}

/**
 * Marks a key as compromised since a time. If the key is active, the pending key replaces it immediately.
 * @throws TvsError NOT_KNOWN for an unknown kid, REFUSED for a time in the future
 */
export async function markKeyCompromised(
  store: KeyStore,
  secrets: Secrets,
  change: { kid: string; since: number; bits: number; now: number },
): Promise<void> {
  const key = (await store.list()).find(({ kid }) => kid === change.kid);
  if (key === undefined) throw new TvsError("NOT_KNOWN", "no key has this kid; `tvs keys list` shows them");
  if (change.since > change.now) throw new TvsError("REFUSED", "--since must not be in the future");
  const inUse = key.state === "active" || key.state === "pending";
  const next = inUse ? await generateSigningKey(secrets, change.bits, change.now) : null;
  await store.compromise({ kid: key.kid, since: change.since, at: change.now, next });
}

/**
 * Signs the list of all keys and of their times of use, by which partners verify old envelopes (decision D5.4).
 * @returns a compact JWS of `typ` `key-history+jwt`
 */
export async function signKeyHistory(
  ring: KeyRing,
  options: { issuer: string; secrets: Secrets; now: number },
): Promise<string> {
  const payload = {
    iss: options.issuer,
    iat: Math.floor(options.now / 1000),
    keys: ring.keys.map((key) => ({ ...describeSigningKey(key), jwk: key.jwk })),
  };
  return (await createJwsSigner("key-history+jwt", ring, options.secrets))(payload);
}

/**
 * Prepares signing with the active key by WebCrypto, outside the queue that signs envelopes.
 * @param typ the `typ` of the JOSE header
 * @returns a function that signs claims as a compact JWS
 */
export async function createJwsSigner(typ: string, { active }: KeyRing, secrets: Secrets) {
  const key = await decryptPrivateKey(active, secrets);
  return (claims: object) =>
    new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "RS256", kid: active.kid, typ })
      .sign(key);
}

/** Finds the time of the ring's last change. This time is the key history's `iat`, so all nodes sign the same bytes. */
export function lastKeyChangeAt({ keys }: Pick<KeyRing, "keys">): number {
  const times = keys.flatMap(({ createdAt, publishedAt, activatedAt, retiredAt }) => {
    return [createdAt, publishedAt, activatedAt ?? 0, retiredAt ?? 0];
  });
  return Math.max(...times);
}

export const signingAlgorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

/**
 * Decrypts a private key as PKCS #8 DER. The caller must overwrite the bytes after use.
 * @throws TvsError INTERNAL for a destroyed key, MASTER_KEY_WRONG
 */
export function decryptPkcs8(key: SigningKey, secrets: Secrets): Uint8Array<ArrayBuffer> {
  if (key.sealed === null) throw new TvsError("INTERNAL", "this key's private half was destroyed");
  return secrets.open(key.sealed, key.kid) as Uint8Array<ArrayBuffer>;
}

/** Decrypts a private key into a key object that can sign, but cannot be exported. */
export async function decryptPrivateKey(key: SigningKey, secrets: Secrets): Promise<CryptoKey> {
  const pkcs8 = decryptPkcs8(key, secrets);
  try {
    return await crypto.subtle.importKey("pkcs8", pkcs8, signingAlgorithm, false, ["sign"]);
  } finally {
    pkcs8.fill(0);
  }
}

/** Describes a key without its private half; times in ISO 8601. */
export function describeSigningKey(key: SigningKey) {
  const { kid, state, createdAt, publishedAt, activatedAt, retiredAt, compromisedSince } = key;
  return { kid, state, ...isoTimes({ createdAt, publishedAt, activatedAt, retiredAt, compromisedSince }) };
}
