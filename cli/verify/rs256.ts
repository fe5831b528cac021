/** RS256 as `tvs verify` computes it: synchronous, and tried on a known answer before it is believed. */

import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { RsaPublicJwk } from "../../src/partner/rsa-key.ts";
import type { SyncVerifyOptions } from "../../src/partner/verify-envelope.ts";
import { knownInput, knownKey, knownSignature } from "../../src/signing/known-answer.ts";
import { findLibcrypto, openLibcrypto, type VerifyingKey } from "../../src/signing/libcrypto.ts";

type VerifySignatureSync = SyncVerifyOptions["verifySignature"];

/** The key of each vetted JWK, made once: making it costs more than a verification. */
function keptFor<Key>(make: (jwk: RsaPublicJwk) => Key): (jwk: RsaPublicJwk) => Key {
  const keys = new WeakMap<RsaPublicJwk, Key>();
  return (jwk) => {
    const known = keys.get(jwk);
    if (known !== undefined) return known;
    const key = make(jwk);
    keys.set(jwk, key);
    return key;
  };
}

function keyObjectOf({ n, e }: RsaPublicJwk): KeyObject {
  return createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" });
}

function withNode(): VerifySignatureSync {
  const keyOf = keptFor(keyObjectOf);
  return (_kid, jwk, signingInput, signature) => verify("sha256", signingInput, keyOf(jwk), signature);
}

async function withOpenssl(file: string): Promise<VerifySignatureSync> {
  const libcrypto = await openLibcrypto(file);
  const keyOf = keptFor((jwk): VerifyingKey => {
    const spki = keyObjectOf(jwk).export({ format: "der", type: "spki" });
    const key = libcrypto.loadPublicKey(new Uint8Array(spki));
    if (key === null) throw new Error("OpenSSL does not take the key");
    return key;
  });
  return (_kid, jwk, signingInput, signature) => keyOf(jwk).verify(signingInput, signature);
}

/** Whether it accepts a known signature, and refuses it once a bit of it or of the input is changed. */
function knowsTheAnswer(verifySignature: VerifySignatureSync): boolean {
  const exported = createPublicKey(
    createPrivateKey({ key: Buffer.from(knownKey()), format: "der", type: "pkcs8" }),
  ).export({ format: "jwk" });
  const { n = "", e = "" } = exported;
  const jwk: RsaPublicJwk = { kty: "RSA", use: "sig", alg: "RS256", kid: "known", n, e };
  const input = new TextEncoder().encode(knownInput);
  const signature = new Uint8Array(Buffer.from(knownSignature, "base64url"));
  const changed = (bytes: Uint8Array) => bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1);
  return (
    verifySignature("known", jwk, input, signature) === true &&
    verifySignature("known", jwk, changed(input), signature) === false &&
    verifySignature("known", jwk, input, changed(signature)) === false
  );
}

/**
 * Opens RS256 in this thread. Deno's own takes twelve times as long as OpenSSL's; Bun's, called synchronously, is as
 * fast as OpenSSL through a foreign function, so there the call is saved.
 *
 * @throws Error when nothing here knows the known answer: then no verdict could be believed
 */
export async function openRs256(): Promise<VerifySignatureSync> {
  const file = "Deno" in globalThis ? findLibcrypto() : undefined;
  // A library or a permission that is missing only means that the runtime's own is taken.
  const openssl = file === undefined ? null : await withOpenssl(file).catch(() => null);
  const found = [openssl, withNode()].find((one) => one !== null && knowsTheAnswer(one));
  if (!found) throw new Error("RS256 of this runtime fails its known-answer test");
  return found;
}
