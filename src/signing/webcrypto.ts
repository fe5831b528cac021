import { Buffer } from "node:buffer";
import { availableParallelism } from "node:os";
import { privateKeyOf, signingAlgorithm } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createAdmission, createLoad, type Load } from "./admission.ts";
import { createCalls, type Job } from "./calls.ts";
import { type Engine, keyNotLoaded } from "./engine.ts";
import { knownInput, knownKey, proveSigning } from "./known-answer.ts";

/** Single checks that the runtime is given at a time, a core. */
const singlesPerCore = 32;
/** Items of batches, a core: the runtime knows no order, so what it was given stands before a single check. */
const bulkPerCore = 4;

type WebCryptoOptions = {
  readonly secrets: Secrets;
  /** What the process has to sign; without it, this signer is the only one. */
  readonly load?: Load | undefined;
};

/**
 * Signs with WebCrypto, which both runtimes run on threads of their own.
 * @throws Error when the runtime cannot sign with RSA, or signs wrongly
 */
export async function openWebCrypto({ secrets, load }: WebCryptoOptions): Promise<Engine> {
  const cores = availableParallelism();
  const signatureMs = await tryOut();
  const admission = createAdmission(load ?? createLoad(cores), signatureMs);
  const calls = createCalls<CryptoKey>(admission);
  const room = { single: singlesPerCore * cores, bulk: bulkPerCore * cores };
  let keys = new Map<string, CryptoKey>();
  let underWay = 0;

  async function sign({ key, input, resolve, reject }: Job<CryptoKey>): Promise<void> {
    const startedAt = performance.now();
    underWay++;
    // One that waits for its turn in the runtime takes longer by as many as are before it.
    const share = Math.max(1, underWay / cores);
    try {
      resolve(await signWith(key, input));
      admission.learn((performance.now() - startedAt) / share);
    } catch (error) {
      reject(error);
    } finally {
      underWay--;
    }
  }

  function pump(bulk: boolean): void {
    const sort = bulk ? "bulk" : "single";
    while (room[sort] > 0) {
      const job = calls.take(bulk);
      if (job === undefined) return;
      room[sort]--;
      void sign(job).then(() => {
        room[sort]++;
        pump(bulk);
      });
    }
  }

  return {
    name: "webcrypto",
    description: "WebCrypto",
    signatureMs,
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
      // A call keeps its key: what was asked before a rotation is still signed after it.
      const key = keys.get(kid);
      if (key === undefined) throw keyNotLoaded();
      const bulk = signOptions?.bulk === true;
      const signatures = calls.add({ kid, key, inputs, bulk });
      pump(bulk);
      return signatures;
    },
    async close() {
      calls.refuseAll();
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
 */
async function tryOut(): Promise<number> {
  const key = await crypto.subtle.importKey("pkcs8", knownKey(), signingAlgorithm, false, ["sign"]);
  return proveSigning("WebCrypto", () => signWith(key, knownInput));
}
