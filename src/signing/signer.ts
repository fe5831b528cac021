import { availableParallelism } from "node:os";
import type { SigningEngineChoice } from "../config.ts";
import type { Signer } from "../domain/envelopes.ts";
import { TvsError } from "../domain/errors.ts";
import { decryptPkcs8, type KeyRing, type SigningKey } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createSerialQueue } from "../domain/serial.ts";
import { log } from "../logger.ts";
import { canProcessorRunCryptoMb, findCryptoMb } from "./crypto-mb.ts";
import { type Engine, type HashSigner, noKeyError, openWebCrypto } from "./engine.ts";
import { type OpensslOptions, openOpenssl } from "./openssl.ts";
import { createSigningQueue, type SigningHelper } from "./queue.ts";
import { createSignerThreads, type SignerThreadOptions } from "./threads.ts";

export type SignerOptions = Pick<OpensslOptions, "library"> & {
  readonly secrets: Secrets;
  /** `auto` chooses OpenSSL, with crypto_mb for groups, or WebCrypto if OpenSSL fails its test or is slower. */
  readonly engine: SigningEngineChoice;
  /** The path of Intel's crypto_mb library. If undefined, the folders of Linux distributions are searched. */
  readonly cryptoMbFile?: string | undefined;
  /** The signer threads; unused if WebCrypto signs, which has the runtime's own threads. */
  readonly threads?: Pick<SignerThreadOptions, "count" | "start" | "clock">;
};

export type ServiceSigner = Awaited<ReturnType<typeof openSigner>>;

/** WebCrypto is chosen only if OpenSSL takes more than this multiple of WebCrypto's time, which is measured roughly. */
const maxTimeRatio = 1.1;
/** The most signatures for each core that WebCrypto has at a time. Further signatures wait in our queue, by priority. */
const signaturesPerCore = 4;

/**
 * Opens a service's signer with an engine that has passed the known-answer test, and logs which engine `auto` chose.
 * @throws TvsError CONFIG_INVALID if OpenSSL or crypto_mb is demanded and cannot be used
 */
export async function openSigner(options: SignerOptions) {
  const { secrets, library, cryptoMbFile: file = findCryptoMb() } = options;
  const { engine, inPlace, reason } = await openEngine(options, file);
  /** The active and the pending key of the ring that was loaded last. */
  let keys: readonly SigningKey[] = [];
  /** The keys of earlier rings, because waiting calls may have to be signed with them. */
  let earlier: readonly SigningKey[] = [];
  const kids = () => new Set(keys.map(({ kid }) => kid));
  const cryptoMb = engine.name === "crypto_mb" ? { file, isInsisted: true } : undefined;
  const threads =
    inPlace &&
    options.threads &&
    createSignerThreads({
      ...{ ...options.threads, data: { library, cryptoMb } },
      keys: () => [...earlier, ...keys].map((key) => [key.kid, decryptPkcs8(key, secrets)] as const),
    });
  const queue = createSigningQueue({
    ...engine,
    helpers: inPlace === null ? runtimeHelpers(engine) : (threads?.helpers ?? []),
    inPlace,
    parallel: () => (inPlace === null ? availableParallelism() : 1 + (threads?.figures().running ?? 0)),
  });

  async function load({ active, pending }: KeyRing): Promise<void> {
    const fresh = [active, pending].filter(({ kid }) => !kids().has(kid));
    for (const key of fresh) await engine.load(key.kid, decryptPkcs8(key, secrets));
    earlier = [...earlier, ...keys].filter(({ kid }) => kid !== active.kid && kid !== pending.kid);
    keys = [active, pending];
    for (const key of fresh) threads?.load(key.kid, () => decryptPkcs8(key, secrets));
    // Only calls that wait now can need these keys. Keys that a later load replaces may be needed for longer.
    const replaced = earlier;
    void Promise.resolve(queue.whenSettled()).then(() => inTurn(async () => forget(replaced)));
  }

  function forget(replaced: readonly SigningKey[]): void {
    earlier = earlier.filter((key) => !replaced.includes(key));
    const kept = new Set([...earlier, ...keys].map(({ kid }) => kid));
    engine.keep(kept);
    threads?.keep(kept);
  }

  const inTurn = createSerialQueue();
  return {
    engine: engine as Pick<Engine, "name" | "description">,
    /** Why `auto` chose WebCrypto instead of OpenSSL; null if it did not. */
    reason,
    /** True if `auto` chose OpenSSL, although this processor could make eight signatures together with crypto_mb. */
    lacksCryptoMb:
      engine.name === "openssl" &&
      options.engine === "auto" &&
      file === undefined &&
      canProcessorRunCryptoMb(),
    /** Loads a ring's active and pending keys. Other keys are forgotten when the calls that wait now are signed. */
    load: (ring: KeyRing) => inTurn(() => load(ring)),
    async sign(...[kid, inputs, signOptions]: Parameters<Signer["sign"]>): Promise<string[]> {
      if (!kids().has(kid)) throw noKeyError();
      return queue.sign(kid, inputs, signOptions?.bulk === true);
    },
    whenGathered: queue.whenGathered,
    threads: () => threads?.figures() ?? { running: 0, deaths: 0, lastDeathAt: null },
    /** Rejects the calls that wait, ends the signer threads and forgets all keys. */
    async close(): Promise<void> {
      queue.close();
      await threads?.close();
      keys = [];
      forget(earlier);
    },
  };
}

/** Makes helpers for a queue. Through each helper, WebCrypto makes one signature at a time. */
function runtimeHelpers(engine: Engine): SigningHelper[] {
  const cores = availableParallelism();
  let underWay = 0;
  const helper: SigningHelper = {
    groupSize: 1,
    slots: () => 1,
    async sign(kid, messages) {
      const startedAt = performance.now();
      underWay++;
      // The measured time includes the wait for earlier signatures, so it is divided by the signatures of each core.
      const share = Math.max(1, underWay / cores);
      try {
        const signatures = await engine.sign(kid, messages);
        return { signatures, signatureMs: (performance.now() - startedAt) / share };
      } finally {
        underWay--;
      }
    },
  };
  return new Array(cores * signaturesPerCore).fill(helper);
}

/** The chosen engine. `inPlace` signs in the calling thread; null for WebCrypto, which signs on other threads. */
type Choice = { engine: Engine; inPlace: HashSigner["sign"] | null; reason: string | null };
const withOpenssl = (engine: HashSigner): Choice => ({ engine, inPlace: engine.sign, reason: null });

async function openEngine({ engine, library }: SignerOptions, file: string | undefined): Promise<Choice> {
  if (engine === "webcrypto") return { engine: await openWebCrypto(), inPlace: null, reason: null };
  const cryptoMb = engine === "openssl" ? undefined : { file, isInsisted: engine === "crypto_mb" };
  const openssl = await openOpenssl({ library, cryptoMb }).catch(messageOf);
  if (engine === "auto") return choose(openssl);
  if (typeof openssl === "object") return withOpenssl(openssl);
  const install =
    engine === "crypto_mb" ? "Intel's libcrypto_mb.so.11 (package libcrypto-mb11)" : "OpenSSL 3";
  throw new TvsError(
    "CONFIG_INVALID",
    `--signing-engine (TVS_SIGNING_ENGINE) ${engine} cannot be used: ${openssl}; install ${install}, or use auto`,
  );
}

/** Chooses between OpenSSL and WebCrypto. @param openssl the engine, or the reason why it cannot be used */
async function choose(openssl: HashSigner | string): Promise<Choice> {
  const webCrypto = await openWebCrypto().catch(messageOf);
  const isFaster = (one: HashSigner) =>
    typeof webCrypto === "string" || one.signatureMs <= webCrypto.signatureMs * maxTimeRatio;
  if (typeof openssl === "object" && isFaster(openssl)) {
    log.info("signing with OpenSSL", { detail: openssl.description });
    return withOpenssl(openssl);
  }
  if (typeof webCrypto === "string") throw new Error(webCrypto);
  const reason = typeof openssl === "string" ? openssl : "OpenSSL is slower here";
  log.warn("signing with WebCrypto instead of OpenSSL", { detail: reason });
  return { engine: webCrypto, inPlace: null, reason };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
