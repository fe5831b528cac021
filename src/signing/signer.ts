import type { SigningEngine } from "../config.ts";
import { TvsError } from "../domain/errors.ts";
import type { KeyRing } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createSerial } from "../domain/serial.ts";
import { log } from "../log.ts";
import type { Engine, Job, LoadedSigner } from "./engine.ts";
import { openPool } from "./pool.ts";
import type { StartSigningWorker } from "./thread.ts";
import { createWebCryptoSigner, tryWebCrypto } from "./webcrypto.ts";

export type SignerOptions = {
  readonly secrets: Secrets;
  /** Which engine; `auto` takes OpenSSL where it proves itself and is not the slower one. */
  readonly engine: SigningEngine;
  /** Starts a signing thread; without it there is WebCrypto only. */
  readonly start?: StartSigningWorker | undefined;
  /** How long `auto` waits before it begins to choose: the start of a service has more urgent things to do. */
  readonly chooseAfterMs?: number | undefined;
  readonly library?: string | undefined;
  readonly threadCount?: number | undefined;
};

/** The signer of a running service. */
export type ChosenSigner = LoadedSigner & {
  /** Resolves when the choice is made; until then WebCrypto signs. */
  readonly chosen: Promise<void>;
  /** What signs now. */
  engine(): Pick<Engine, "name" | "description">;
  /** Why WebCrypto signs though OpenSSL was allowed to; null when it does not, or the choice is not made. */
  reason(): string | null;
  close(): Promise<void>;
};

/** How much slower OpenSSL may measure before WebCrypto is taken: the measurement is a short one. */
const tolerance = 1.1;

/**
 * Opens the signer. With `auto` it signs at once, by WebCrypto, and changes over when OpenSSL has proved itself:
 * a service need not wait for that to listen.
 * @throws TvsError CONFIG_INVALID when OpenSSL is asked for and cannot be used
 */
export async function openSigner(options: SignerOptions): Promise<ChosenSigner> {
  const fallback = createWebCryptoSigner(options.secrets);
  let engine: Engine = fallback;
  let ring: KeyRing | undefined;
  let reason: string | null = null;
  let closed = false;
  /** Loading keys and changing the engine come one after the other, so that no engine misses a ring. */
  const inTurn = createSerial();

  /** The pool has given up: WebCrypto does what comes from now on. */
  function onBroken(detail: string): void {
    reason = "the OpenSSL threads keep crashing";
    log.error("signing falls back to WebCrypto: the OpenSSL threads keep crashing", { detail });
    void inTurn(async () => {
      engine = fallback;
      if (ring !== undefined) await fallback.load(ring);
    }).catch((error) => log.error("the keys cannot be loaded", { detail: messageOf(error) }));
  }

  /** What the pool has left undone is signed when the keys have been loaded. */
  function takeOver(jobs: readonly Job[]): void {
    void inTurn(async () => {}).then(() => {
      for (const job of jobs) void signInstead(fallback, job);
    });
  }

  async function changeTo(pool: Engine): Promise<void> {
    try {
      if (ring !== undefined && !closed) await pool.load(ring);
    } catch (error) {
      await pool.close();
      throw error;
    }
    engine = pool;
    await fallback.close();
  }

  const open = (start: StartSigningWorker) =>
    openPool({
      ...options,
      start,
      onReplaced: (reason) => log.warn("a signing thread crashed and is replaced", { detail: reason }),
      onBroken,
      takeOver,
    });

  async function choose(start: StartSigningWorker): Promise<void> {
    try {
      const pool = await open(start);
      const webCryptoMs = await tryWebCrypto().catch(() => Number.POSITIVE_INFINITY);
      if (pool.signatureMs <= webCryptoMs * tolerance) await inTurn(() => changeTo(pool));
      else {
        reason = "OpenSSL is slower here";
        await pool.close();
      }
    } catch (error) {
      reason = messageOf(error);
    }
    if (!closed) logChoice(engine, reason);
  }

  async function insist(): Promise<void> {
    try {
      if (options.start === undefined) throw new Error("this program cannot start threads");
      await changeTo(await open(options.start));
    } catch (error) {
      throw cannotUseOpenssl(messageOf(error));
    }
  }

  const begin = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let chosen = Promise.resolve();
  if (options.engine === "openssl") await insist();
  else if (options.engine === "auto" && options.start !== undefined) {
    const { start, chooseAfterMs = 0 } = options;
    timer = setTimeout(begin.resolve, chooseAfterMs);
    chosen = begin.promise.then(() => (closed ? undefined : choose(start)));
  }

  return {
    chosen,
    engine: () => engine,
    reason: () => reason,
    load: (wanted) =>
      inTurn(async () => {
        await engine.load(wanted);
        ring = wanted;
      }),
    sign: (kid, inputs, signOptions) => engine.sign(kid, inputs, signOptions),
    async close() {
      closed = true;
      clearTimeout(timer);
      begin.resolve();
      await chosen;
      await inTurn(async () => {});
      await engine.close();
    },
  };
}

async function signInstead(engine: Engine, job: Job): Promise<void> {
  const { kid, input, bulk } = job;
  await engine.sign(kid, [input], { bulk }).then(([signature]) => job.resolve(signature ?? ""), job.reject);
}

function logChoice(engine: Engine, reason: string | null): void {
  if (reason !== null) log.warn("signing with WebCrypto instead of OpenSSL", { detail: reason });
  else log.info("signing with OpenSSL", { detail: engine.description });
}

function cannotUseOpenssl(detail: string): TvsError {
  return new TvsError(
    "CONFIG_INVALID",
    `--signing-engine (TVS_SIGNING_ENGINE) openssl cannot be used: ${detail}; install OpenSSL 3, or use auto`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
