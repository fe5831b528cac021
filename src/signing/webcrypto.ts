import { Buffer } from "node:buffer";
import { availableParallelism } from "node:os";
import { privateKeyOf, signingAlgorithm } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createJobQueue, type Engine, type Job, keyNotLoaded } from "./engine.ts";
import { knownInput, knownKey, proveSigning } from "./known-answer.ts";

/** Single checks that the runtime is given at a time, a core. */
const singlesPerCore = 32;
/** Items of batches, a core: the runtime knows no order, so what it was given stands before a single check. */
const bulkPerCore = 4;

type KeyedJob = Job & { readonly key: CryptoKey };

/** Signs with WebCrypto, which both runtimes run on threads of their own. */
export function createWebCryptoSigner(
  secrets: Secrets,
  options: { waitAtMost?: number | undefined } = {},
): Engine {
  let keys = new Map<string, CryptoKey>();
  const room = {
    single: singlesPerCore * availableParallelism(),
    bulk: bulkPerCore * availableParallelism(),
  };

  function accept(job: KeyedJob): boolean {
    const sort = job.bulk ? "bulk" : "single";
    if (room[sort] === 0) return false;
    room[sort]--;
    signWith(job.key, job.input)
      .then(job.resolve, job.reject)
      .finally(() => {
        room[sort]++;
        queue.pump();
      });
    return true;
  }
  const queue = createJobQueue(accept, options);

  return {
    name: "webcrypto",
    description: "WebCrypto",
    async load(ring) {
      const wanted = [ring.active, ring.pending];
      const loaded = await Promise.all(
        wanted.map(
          async (key) => [key.kid, keys.get(key.kid) ?? (await privateKeyOf(key, secrets))] as const,
        ),
      );
      keys = new Map(loaded);
    },
    async sign(kid, inputs, signOptions) {
      // A job keeps its key: what was asked before a rotation is still signed after it.
      const key = keys.get(kid);
      if (key === undefined) throw keyNotLoaded();
      const bulk = signOptions?.bulk === true;
      const signOne = (input: string) =>
        new Promise<string>((resolve, reject) => queue.add({ kid, input, key, bulk, resolve, reject }));
      return Promise.all(inputs.map(signOne));
    },
    async close() {
      keys = new Map();
    },
  };
}

async function signWith(key: CryptoKey, input: string): Promise<string> {
  const bytes = new Uint8Array(Buffer.from(input));
  const signature = await crypto.subtle.sign(signingAlgorithm.name, key, bytes);
  return Buffer.from(signature).toString("base64url");
}

/**
 * Signs the known input with the known key.
 * @returns how long one signature takes, in milliseconds
 * @throws Error when the runtime cannot sign with RSA, or signs wrongly
 */
export async function tryWebCrypto(): Promise<number> {
  const key = await crypto.subtle.importKey("pkcs8", knownKey(), signingAlgorithm, false, ["sign"]);
  return proveSigning("WebCrypto", () => signWith(key, knownInput));
}
