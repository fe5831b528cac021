/** Checks RSA public keys (JSON Web Keys, RFC 7517, RFC 7518 section 6.3), and verifies signatures with them. */

import { decodeBase64url, encodeBase64url } from "./base64.ts";
import { createKeyImporter, toHex } from "./bytes.ts";
import { type Refusal, refuse } from "./reasons.ts";
import type { JsonObject } from "./strict-json.ts";

type RsaPublicJwk = {
  readonly kty: "RSA";
  readonly use: "sig";
  readonly alg: "RS256";
  readonly kid: string;
  /** Modulus, canonical base64url. */
  readonly n: string;
  /** Public exponent, canonical base64url. */
  readonly e: string;
};

/** A checked key. `modulusBytes` is also the length of each signature of this key (RFC 8017 section 8.2.2). */
export type VettedRsaKey = { readonly jwk: RsaPublicJwk; readonly modulusBytes: number };

const minModulusBits = 2048;
/** A larger key is refused, because it would only cost time: the service's keys have at most 4096 bits. */
const maxModulusBits = 8192;
/** A key with a longer exponent is refused, because some browsers' WebCrypto cannot use it. */
const maxExponentBytes = 4;

const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth"];

/** Decodes a Base64urlUInt (RFC 7518 section 2); null if it is empty, not canonical or has leading zero bytes. */
function readUnsigned(value: unknown): Uint8Array | null {
  if (typeof value !== "string" || value === "") return null;
  const bytes = decodeBase64url(value);
  return bytes === null || bytes[0] === 0 ? null : bytes;
}

function vetExponent(bytes: Uint8Array, kid: string): Refusal | null {
  const last = bytes[bytes.length - 1] ?? 0;
  const isOne = bytes.length === 1 && last === 1;
  if (bytes.length <= maxExponentBytes && last % 2 === 1 && !isOne) return null;
  return refuse("KEY_SET_EXPONENT", `The public exponent of key ${kid} is even, 1 or oversized.`);
}

function vetModulus(bytes: Uint8Array, kid: string): Refusal | null {
  const modulus = BigInt(`0x${toHex(bytes)}`);
  const bits = bytes.length * 8 - (Math.clz32(bytes[0] ?? 0) - 24);
  if (bits < minModulusBits || bits > maxModulusBits)
    return refuse("KEY_SET_MODULUS_SIZE", `Key ${kid} has ${bits} bits, not 2048 to 8192.`);
  if (modulus % 2n === 0n) return refuse("KEY_SET_KEY_MALFORMED", `The modulus of key ${kid} is even.`);
  if (!hasRocaFingerprint(modulus)) return null;
  return refuse("KEY_SET_ROCA", `Key ${kid} was made by a generator known to be broken: it can be factored.`);
}

/** Refuses a private or symmetric key: everybody who has read the key set could sign with it. */
function findSecret(jwk: JsonObject): Refusal | null {
  if (jwk.kty === "oct" || Object.hasOwn(jwk, "k")) return refuse("KEY_SET_SYMMETRIC_KEY");
  if (privateMembers.some((member) => Object.hasOwn(jwk, member))) return refuse("KEY_SET_PRIVATE_KEY");
  return null;
}

function isForSignatures(jwk: JsonObject): boolean {
  if (Object.hasOwn(jwk, "use") && jwk.use !== "sig") return false;
  if (Object.hasOwn(jwk, "alg") && jwk.alg !== "RS256") return false;
  if (!Object.hasOwn(jwk, "key_ops")) return true;
  return Array.isArray(jwk.key_ops) && jwk.key_ops.length === 1 && jwk.key_ops[0] === "verify";
}

/**
 * Checks one element of `keys` in a JWKS.
 * @returns the key, or the refusal of the whole set; null for a key of another type, which is ignored (RFC 7517 section 5)
 */
export function vetRsaKey(jwk: JsonObject): VettedRsaKey | Refusal | null {
  const secret = findSecret(jwk);
  if (secret !== null) return secret;
  if (typeof jwk.kty !== "string")
    return refuse("KEY_SET_KEY_MALFORMED", "A key of the set has no type (kty).");
  if (jwk.kty !== "RSA") return null;
  const kid = jwk.kid;
  if (typeof kid !== "string" || kid === "") return refuse("KEY_SET_KID_MISSING");
  const [n, e] = [readUnsigned(jwk.n), readUnsigned(jwk.e)];
  if (n === null || e === null || !isForSignatures(jwk))
    return refuse("KEY_SET_KEY_MALFORMED", `Key ${kid} is not a well-formed RSA key for RS256 signatures.`);
  const problem = vetModulus(n, kid) ?? vetExponent(e, kid);
  if (problem !== null) return problem;
  const read = { kid, n: String(jwk.n), e: String(jwk.e) };
  return { jwk: { kty: "RSA", use: "sig", alg: "RS256", ...read }, modulusBytes: n.length };
}

export function isThumbprint(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Computes a key's RFC 7638 thumbprint, which is the key's id in the service: a JWK could state another `kid`. */
export async function thumbprintOf({ e, n }: RsaPublicJwk): Promise<string> {
  const members = new TextEncoder().encode(JSON.stringify({ e, kty: "RSA", n }));
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", members)));
}

/**
 * The ROCA fingerprint (CVE-2017-15361; Nemec et al., "The Return of Coppersmith's Attack", 2017). The broken generator
 * makes primes `k·M + (65537^a mod M)`, where M is a product of small primes. So the modulus of a broken key is a power of
 * 65537 modulo each small prime. A random modulus passes the published test, which has these primes, once in 2^28.
 */
const generator = 65537;
const discriminators = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157];

function powersModulo(prime: number): Set<number> {
  const powers = new Set<number>();
  let power = 1;
  while (!powers.has(power)) {
    powers.add(power);
    power = (power * generator) % prime;
  }
  return powers;
}

const subgroups = discriminators.map((prime) => ({ prime: BigInt(prime), powers: powersModulo(prime) }));

export function hasRocaFingerprint(modulus: bigint): boolean {
  return subgroups.every(({ prime, powers }) => powers.has(Number(modulus % prime)));
}

const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

const importOnce = createKeyImporter(({ n, e }: RsaPublicJwk) =>
  crypto.subtle.importKey("jwk", { kty: "RSA", n, e }, algorithm, false, ["verify"]),
);

type SignedBytes = Readonly<Record<"signingInput" | "signature", Uint8Array<ArrayBuffer>>>;

/**
 * Checks the signature of a JWS: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 section 3.3). A signature that is not as long as
 * the modulus is not valid (RFC 8017 section 8.2.2, step 1).
 * @throws DOMException without WebCrypto, which browsers have in secure contexts only (https or localhost)
 */
export async function verifyRsaSignature(
  key: VettedRsaKey,
  { signingInput, signature }: SignedBytes,
): Promise<boolean> {
  const { jwk, modulusBytes } = key;
  if (signature.length !== modulusBytes) return false;
  return crypto.subtle.verify(algorithm.name, await importOnce(jwk), signature, signingInput);
}
