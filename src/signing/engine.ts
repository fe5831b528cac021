import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import known from "../../data/signing-known-answer.json" with { type: "json" };
import { TvsError } from "../domain/errors.ts";
import { signingAlgorithm } from "../domain/keys.ts";

/** A message to sign: the JWS signing input (ASCII), and its SHA-256. */
export type Message = { readonly input: string; readonly hash: Uint8Array };

/** One implementation of RS256, with the keys that it was given. */
export type Engine = {
  readonly name: "openssl" | "crypto_mb" | "webcrypto";
  /** In words, for the operator, such as `OpenSSL 3.0.13`. */
  readonly description: string;
  /** How long one signature took in the known-answer test, in milliseconds. */
  readonly signatureMs: number;
  /** How many signatures the engine makes together at most. */
  readonly groupSize: number;
  /** Adds a key, and overwrites its PKCS #8 DER. @throws TvsError SIGNER_UNAVAILABLE, or the runtime's error */
  load(kid: string, pkcs8: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Overwrites and forgets all keys but these. */
  keep(kids: ReadonlySet<string>): void;
  /** Makes a signature of each message, in their order. @throws TvsError SIGNER_UNAVAILABLE */
  sign(kid: string, messages: readonly Message[]): Uint8Array[] | Promise<Uint8Array[]>;
};

/** An engine that signs hashes in the thread that calls. */
export type HashEngine = Omit<Engine, "sign"> & {
  sign(kid: string, messages: readonly Pick<Message, "hash">[]): Uint8Array[];
};

/** The error for a kid that is not in the ring, or has just left it. */
export const keyNotLoaded = () =>
  new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");

/**
 * A fixed key, input and signature. RS256 is deterministic (RFC 8017, 8.2.1), so an engine that gives other bytes must
 * not sign. The key is public with the source and signs nothing else.
 */
export const { input: knownInput, signature: knownSignature } = known;
export const hashBytes = 32;
export const knownHash: Uint8Array = hash("sha256", knownInput, "buffer");

/** Copies the key of the known answer, PKCS #8 DER: an engine overwrites the bytes that it loads. */
export const knownKey = () => new Uint8Array(Buffer.from(known.pkcs8, "base64url"));

const trialCount = 9;

/**
 * Proves an engine: makes the known signature several times.
 * @param name the engine's name in the error
 * @returns the milliseconds of the quickest, since other programs only lengthen one
 * @throws Error for another signature
 */
export async function proveSigning(name: string, sign: () => Uint8Array | null | Promise<Uint8Array>) {
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

/** Signs with WebCrypto, on the runtime's own threads. @throws Error when it cannot sign with RSA, or signs wrongly */
export async function openWebCrypto(): Promise<Engine> {
  const known = await importKey(knownKey());
  const signatureMs = await proveSigning("WebCrypto", () => signWith(known, knownInput));
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
      if (key === undefined) throw keyNotLoaded();
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
  const bytes = new Uint8Array(Buffer.from(input));
  return new Uint8Array(await crypto.subtle.sign(signingAlgorithm.name, key, bytes));
}
