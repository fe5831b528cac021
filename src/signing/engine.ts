import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import known from "../../data/signing-known-answer.json" with { type: "json" };
import { TvsError } from "../domain/errors.ts";
import { signingAlgorithm } from "../domain/keys.ts";

/** A message to sign: the JWS signing input (ASCII), and its SHA-256 hash. */
export type SigningInput = { readonly input: string; readonly hash: Uint8Array };

/** One implementation of RS256, with the private keys that were loaded into it. */
export type Engine = {
  readonly name: "openssl" | "crypto_mb" | "webcrypto";
  /** The engine's name and version for the operator, such as `OpenSSL 3.0.13`. */
  readonly description: string;
  /** How long one signature took in the known-answer test, in milliseconds. */
  readonly signatureMs: number;
  /** The most signatures that the engine makes in one call. */
  readonly groupSize: number;
  /** Loads a private key, and overwrites `pkcs8` (DER). @throws TvsError SIGNER_UNAVAILABLE, or the runtime's error */
  load(kid: string, pkcs8: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Forgets all keys except these. An engine that holds keys in its own memory overwrites the forgotten keys. */
  keep(kids: ReadonlySet<string>): void;
  /** Signs each message. @returns the signatures in the messages' order @throws TvsError SIGNER_UNAVAILABLE */
  sign(kid: string, messages: readonly SigningInput[]): Uint8Array[] | Promise<Uint8Array[]>;
};

/** An engine that signs hashes synchronously, in the calling thread. */
export type HashSigner = Omit<Engine, "sign"> & {
  sign(kid: string, messages: readonly Pick<SigningInput, "hash">[]): Uint8Array[];
};

/** Makes the error for a key that is not loaded, perhaps because a rotation has just removed the key. */
export const noKeyError = () =>
  new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");

/**
 * The input and the signature of the known-answer test. RS256 is deterministic (RFC 8017, 8.2.1), so an engine that
 * gives other bytes must not sign. The test's private key is public in the source, and signs nothing else.
 */
export const { input: selfTestInput, signature: selfTestSignature } = known;
export const hashLength = 32;
export const selfTestHash: Uint8Array = hash("sha256", selfTestInput, "buffer");

/** Copies the known-answer test's private key (PKCS #8 DER): an engine overwrites the bytes that it loads. */
export const copyTestKey = () => new Uint8Array(Buffer.from(known.pkcs8, "base64url"));

const trialCount = 9;

/**
 * Runs the known-answer test of an engine several times. @throws Error if a signature is not the known one
 * @returns the time of the quickest signature in milliseconds, because other programs can only slow a signature down
 */
export async function runSelfTest(name: string, sign: () => Uint8Array | null | Promise<Uint8Array>) {
  let quickest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < trialCount; i++) {
    const startedAt = performance.now();
    const signature = await sign();
    quickest = Math.min(quickest, performance.now() - startedAt);
    if (Buffer.from(signature ?? []).toString("base64url") !== selfTestSignature)
      throw new Error(`${name} gave a wrong signature in the known-answer test`);
  }
  return quickest;
}

/** Opens WebCrypto, which signs on the runtime's own threads. @throws Error if it fails the known-answer test */
export async function openWebCrypto(): Promise<Engine> {
  const known = await importKey(copyTestKey());
  const signatureMs = await runSelfTest("WebCrypto", () => signWith(known, selfTestInput));
  const keys = new Map<string, CryptoKey>();
  return {
    name: "webcrypto",
    description: "WebCrypto",
    signatureMs,
    groupSize: 1,
    async load(kid, pkcs8) {
      keys.set(kid, await importKey(pkcs8));
    },
    keep(kids) {
      for (const kid of keys.keys()) if (!kids.has(kid)) keys.delete(kid);
    },
    async sign(kid, messages) {
      const key = keys.get(kid);
      if (key === undefined) throw noKeyError();
      return Promise.all(messages.map(({ input }) => signWith(key, input)));
    },
  };
}

async function importKey(pkcs8: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey("pkcs8", pkcs8, signingAlgorithm, false, ["sign"]);
  } finally {
    pkcs8.fill(0);
  }
}

async function signWith(key: CryptoKey, input: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign(signingAlgorithm.name, key, Buffer.from(input)));
}
