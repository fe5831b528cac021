/** Signing keys of the fixtures, because making a new one takes a tenth of a second. */

import { Buffer } from "node:buffer";
import { createPublicKey, createVerify } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Signer } from "../../src/domain/envelopes.ts";
import { importSigningKey, type KeyRing, keyRingOf, type SigningKey } from "../../src/domain/keys.ts";
import type { KeyStore } from "../../src/store/keys.ts";
import { secrets } from "./samples.ts";

export type KeyName = "active" | "pending" | "stranger" | "retired" | "compromised";

/** Reads a private key of the fixtures, as a pending key. */
export function fixtureKey(name: KeyName, now: number): Promise<SigningKey> {
  return importSigningKey(readKey(name), secrets, now);
}

export function readKey(name: string): string {
  return readFileSync(new URL(`../fixtures/envelopes/keys/${name}.pem`, import.meta.url), "utf8");
}

export async function fillRing(
  keys: KeyStore,
  now: number,
): Promise<{ active: SigningKey; pending: SigningKey }> {
  const [active, pending] = [await fixtureKey("active", now), await fixtureKey("pending", now)];
  await keys.create({ ...active, state: "active", activatedAt: now }, pending);
  return { active, pending };
}

export async function aRing(activeName: KeyName, pendingName: KeyName): Promise<KeyRing> {
  const active = { ...(await fixtureKey(activeName, 0)), state: "active" as const };
  return keyRingOf([active, await fixtureKey(pendingName, 0)]);
}

export async function signOne(
  signer: Signer,
  kid: string,
  input: string,
  options?: { bulk?: boolean },
): Promise<string> {
  const [signature] = await signer.sign(kid, [input], options);
  return signature ?? "";
}

/** Whether a signature is valid, checked by `node:crypto`, which no engine signs with. */
export function isSignedBy(ring: KeyRing, kid: string, asked: { input: string; signature: string }): boolean {
  const jwk = ring.keys.find((key) => key.kid === kid)?.jwk;
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
  return createVerify("RSA-SHA256")
    .update(asked.input)
    .verify(key, Buffer.from(asked.signature, "base64url"));
}
