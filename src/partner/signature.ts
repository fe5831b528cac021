/** RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 section 3.3) by WebCrypto: browsers, Bun, Deno and Node. */

import type { RsaPublicJwk, VettedKey } from "./rsa-key.ts";

/**
 * Checks one signature. A host with faster cryptography injects its own.
 *
 * @param kid the key id, for caches
 * @param jwk the vetted public key
 * @param signingInput the bytes of `header.payload`
 * @param signature the signature, as long as the modulus
 */
export type VerifySignature = (
  kid: string,
  jwk: RsaPublicJwk,
  signingInput: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
) => boolean | Promise<boolean>;

const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

/** Importing costs as much as several verifications, so each vetted key is imported once. */
const imported = new WeakMap<RsaPublicJwk, Promise<CryptoKey>>();

function importOnce(jwk: RsaPublicJwk): Promise<CryptoKey> {
  const known = imported.get(jwk);
  if (known !== undefined) return known;
  const key = crypto.subtle.importKey("jwk", { kty: "RSA", n: jwk.n, e: jwk.e }, algorithm, false, [
    "verify",
  ]);
  imported.set(jwk, key);
  return key;
}

/** Checks a signature with WebCrypto. Browsers offer it in secure contexts only: https or localhost. */
export async function verifyWithWebCrypto(
  _kid: string,
  jwk: RsaPublicJwk,
  signingInput: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return crypto.subtle.verify(algorithm.name, await importOnce(jwk), signature, signingInput);
}

/** A signature is exactly as long as the modulus (RFC 8017 section 8.2.2, step 1). */
export function hasSignatureLength(key: VettedKey, signature: Uint8Array): boolean {
  return signature.length === key.modulusBytes;
}
