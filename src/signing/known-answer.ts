import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import known from "../../data/signing-known-answer.json" with { type: "json" };

/**
 * A fixed key, input and signature. RS256 is deterministic (RFC 8017, 8.2.1), so an engine either gives these very
 * bytes or must not sign. The key was made for this test, is public with the source, and signs nothing else.
 */
export const { input: knownInput, signature: knownSignature } = known;
export const knownHash: Uint8Array = hash("sha256", knownInput, "buffer");

/** The key of the known answer, PKCS #8 DER. A fresh copy, because who loads a key overwrites the bytes. */
export function knownKey(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(known.pkcs8, "base64url"));
}

const trialCount = 9;

/**
 * Proves an engine: makes the known signature several times.
 * @param name what the engine is called in the error
 * @param sign makes the signature
 * @returns how long one takes, in milliseconds: the quickest, since others on the machine only ever lengthen it
 * @throws Error when one is not the known signature
 */
export async function proveSigning(
  name: string,
  sign: () => Uint8Array | null | Promise<Uint8Array>,
): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < trialCount; i++) {
    const startedAt = performance.now();
    const signature = await sign();
    quickest = Math.min(quickest, performance.now() - startedAt);
    if (Buffer.from(signature ?? []).toString("base64url") !== knownSignature)
      throw new Error(`${name} gave a wrong signature in the known-answer test`);
  }
  return quickest;
}
