import { Buffer } from "node:buffer";
import { signingAlgorithm } from "../domain/keys.ts";
import { type Engine, keyNotLoaded } from "./engine.ts";
import { knownInput, knownKey, proveSigning } from "./known-answer.ts";

/**
 * Signs with WebCrypto, which both runtimes run on threads of their own.
 * @throws Error when the runtime cannot sign with RSA, or signs wrongly
 */
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
