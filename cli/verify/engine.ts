/** Chooses the implementation of RS256 that `tvs verify` judges with, and tries it before it is believed. */

import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { RsaPublicJwk } from "../../src/partner/rsa-key.ts";
import type { SyncVerifyOptions } from "../../src/partner/verify-envelope.ts";
import { knownInput, knownKey, knownSignature } from "../../src/signing/known-answer.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { openVerifierWithDeno } from "./libcrypto.ts";

export type VerifyNow = SyncVerifyOptions["verifySignature"];
export type Engine = { readonly name: "openssl" | "node"; readonly verifySignature: VerifyNow };

/** Key objects by vetted key: making one costs more than a verification. */
const keyObjects = new WeakMap<RsaPublicJwk, KeyObject>();

function keyObjectOf(jwk: RsaPublicJwk): KeyObject {
  let key = keyObjects.get(jwk);
  if (key === undefined) {
    key = createPublicKey({ key: { kty: "RSA", n: jwk.n, e: jwk.e }, format: "jwk" });
    keyObjects.set(jwk, key);
  }
  return key;
}

function encode(jwk: RsaPublicJwk): Uint8Array {
  return new Uint8Array(keyObjectOf(jwk).export({ format: "der", type: "spki" }));
}

const node: Engine = {
  name: "node",
  verifySignature: (_kid, jwk, signingInput, signature) =>
    verify("sha256", signingInput, keyObjectOf(jwk), signature),
};

/** Whether the engine accepts a known signature, and refuses it once a bit of it or of the input is changed. */
function knowsTheAnswer({ verifySignature }: Engine): boolean {
  const exported = createPublicKey(
    createPrivateKey({ key: Buffer.from(knownKey()), format: "der", type: "pkcs8" }),
  ).export({ format: "jwk" });
  const { n = "", e = "" } = exported;
  const jwk: RsaPublicJwk = { kty: "RSA", use: "sig", alg: "RS256", kid: "known", n, e };
  const input = new TextEncoder().encode(knownInput);
  const signature = new Uint8Array(Buffer.from(knownSignature, "base64url"));
  const changed = (bytes: Uint8Array) => {
    const copy = new Uint8Array(bytes);
    copy[copy.length - 1] = (copy[copy.length - 1] ?? 0) ^ 1;
    return copy;
  };
  return (
    verifySignature("known", jwk, input, signature) === true &&
    verifySignature("known", jwk, changed(input), signature) === false &&
    verifySignature("known", jwk, input, changed(signature)) === false
  );
}

/**
 * Deno's own RSA takes eight times as long as OpenSSL's; Bun's, called synchronously, is as fast as OpenSSL
 * through a foreign function, so there the call is saved.
 */
function* candidates(): Generator<() => Engine> {
  const file = "Deno" in globalThis ? findLibcrypto() : undefined;
  if (file !== undefined)
    yield () => ({ name: "openssl", verifySignature: openVerifierWithDeno(file, encode) });
  yield () => node;
}

/**
 * Chooses the engine of this thread.
 *
 * @returns the first that passes the known-answer test; null when none does, and WebCrypto is left
 */
export function chooseEngine(): Engine | null {
  for (const make of candidates()) {
    try {
      const engine = make();
      if (knowsTheAnswer(engine)) return engine;
    } catch {
      // A library or a permission that is missing only means that the next one is tried.
    }
  }
  return null;
}
