import { availableParallelism } from "node:os";
import type { SigningEngine } from "../config.ts";
import type { Signer } from "../domain/envelopes.ts";
import { TvsError } from "../domain/errors.ts";
import { decryptPkcs8, type KeyRing, type SigningKey } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createSerialQueue } from "../domain/serial.ts";
import { log } from "../logger.ts";
import { findCryptoMb, hasProcessorForCryptoMb } from "./crypto-mb.ts";
import { type Engine, type HashEngine, keyNotLoaded, openWebCrypto } from "./engine.ts";
import { type OpensslOptions, openOpenssl } from "./openssl.ts";
import { createQueue, type Helper } from "./queue.ts";
import { createThreads, type ThreadOptions } from "./threads.ts";

export type SignerOptions = Pick<OpensslOptions, "library"> & {
  readonly secrets: Secrets;
  /** The engine; `auto` chooses OpenSSL, with crypto_mb for groups, unless it fails the test or is slower. */
  readonly engine: SigningEngine;
  /** Path of crypto_mb; without it, where distributions put it. */
  readonly cryptoMbFile?: string | undefined;
  /** Signer threads; WebCrypto uses the runtime's threads instead. */
  readonly threads?: Pick<ThreadOptions, "count" | "start" | "clock">;
};

/** The signer of a service. */
export type ChosenSigner = Awaited<ReturnType<typeof openSigner>>;

/** How much slower OpenSSL may measure before WebCrypto is chosen: the measurement is short. */
const tolerance = 1.1;
/** Signatures for each core that WebCrypto gets at a time: the runtime makes them in order. */
const perCore = 4;

/**
 * Opens the signer of a service, and says in the log which engine signs; the engine has proved itself when it returns.
 * @throws TvsError CONFIG_INVALID when OpenSSL is asked for and cannot be used
 */
export async function openSigner(options: SignerOptions) {
  const { secrets, library, cryptoMbFile: file = findCryptoMb() } = options;
  const { engine, inPlace, reason } = await openEngine(options, file);
  /** The keys of the last ring, by which further calls are signed. */
  let keys: readonly SigningKey[] = [];
  const kids = () => new Set(keys.map(({ kid }) => kid));
  const cryptoMb = engine.name === "crypto_mb" ? { file, isInsisted: true } : undefined;
  const threads =
    inPlace &&
    options.threads &&
    createThreads({
      ...{ ...options.threads, data: { library, cryptoMb } },
      keys: () => keys.map((key) => [key.kid, decryptPkcs8(key, secrets)] as const),
    });
  const queue = createQueue({
    ...engine,
    helpers: inPlace === null ? runtimeHelpers(engine) : (threads?.helpers ?? []),
    inPlace,
    parallel: inPlace === null ? availableParallelism() : 1 + (options.threads?.count ?? 0),
  });

  async function load({ active, pending }: KeyRing): Promise<void> {
    const fresh = [active, pending].filter(({ kid }) => !kids().has(kid));
    for (const key of fresh) await engine.load(key.kid, decryptPkcs8(key, secrets));
    keys = [active, pending];
    for (const key of fresh) threads?.load(key.kid, () => decryptPkcs8(key, secrets));
    void Promise.resolve(queue.whenSettled()).then(forgetOthers);
  }

  function forgetOthers(): void {
    engine.keep(kids());
    threads?.keep(kids());
  }

  /** Rings are loaded one after the other, so that the last one that was asked for stays. */
  const inTurn = createSerialQueue();
  return {
    engine: engine as Pick<Engine, "name" | "description">,
    /** Why WebCrypto signs though OpenSSL was allowed to; null when it does not. */
    reason,
    /** Whether the processor can make groups, and only the library for it is missing. */
    isTogetherMissed:
      engine.name === "openssl" &&
      options.engine === "auto" &&
      file === undefined &&
      hasProcessorForCryptoMb(),
    /** Loads the ring's active and pending keys, and forgets all others when the calls that need them are signed. */
    load: (ring: KeyRing) => inTurn(() => load(ring)),
    /** As {@link Signer} says. */
    async sign(...[kid, inputs, signOptions]: Parameters<Signer["sign"]>): Promise<string[]> {
      if (!kids().has(kid)) throw keyNotLoaded();
      return queue.sign(kid, inputs, signOptions?.bulk === true);
    },
    /** @returns resolves when all calls that are open now are signed; undefined when there are none */
    whenSettled: queue.whenSettled,
    threads: () => threads?.figures() ?? { running: 0, deaths: 0, lastDeathAt: null },
    /** Refuses the calls that wait, and forgets the keys. */
    async close(): Promise<void> {
      queue.close();
      await threads?.close();
      keys = [];
      forgetOthers();
    },
  };
}

/** WebCrypto as helpers of a queue, each for one signature at a time. */
function runtimeHelpers(engine: Engine): Helper[] {
  const cores = availableParallelism();
  let underWay = 0;
  const helper: Helper = {
    groupSize: 1,
    slots: () => 1,
    async sign(kid, messages) {
      const startedAt = performance.now();
      underWay++;
      // The time includes the wait for signatures that the runtime makes first.
      const share = Math.max(1, underWay / cores);
      try {
        const signatures = await engine.sign(kid, messages);
        return { signatures, signatureMs: (performance.now() - startedAt) / share };
      } finally {
        underWay--;
      }
    },
  };
  return new Array(cores * perCore).fill(helper);
}

/** The engine; `inPlace` signs in the thread that calls, and is null for WebCrypto. */
type Choice = { engine: Engine; inPlace: HashEngine["sign"] | null; reason: string | null };
const withOpenssl = (engine: HashEngine): Choice => ({ engine, inPlace: engine.sign, reason: null });

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

/** @param openssl OpenSSL, or why it cannot be used */
async function choose(openssl: HashEngine | string): Promise<Choice> {
  const webCrypto = await openWebCrypto().catch(messageOf);
  const isFaster = (one: HashEngine) =>
    typeof webCrypto === "string" || one.signatureMs <= webCrypto.signatureMs * tolerance;
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
