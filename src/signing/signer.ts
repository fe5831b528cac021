import type { SigningEngine } from "../config.ts";
import { TvsError } from "../domain/errors.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createSerial } from "../domain/serial.ts";
import { log } from "../logger.ts";
import { openSigningBoard, type SigningBoard } from "./board.ts";
import { findCryptoMb, hasProcessorForCryptoMb } from "./crypto-mb.ts";
import type { Engine, LoadedSigner } from "./engine.ts";
import { openOpenssl } from "./openssl.ts";
import { openWebCrypto } from "./webcrypto.ts";

export type SignerOptions = {
  readonly secrets: Secrets;
  /** Which engine; `auto` takes OpenSSL where it proves itself and is not the slower one, and crypto_mb for several at once. */
  readonly engine: SigningEngine;
  /** Path of crypto_mb; without it, where distributions put it. */
  readonly cryptoMbFile?: string | undefined;
  /** The signing boards of the process, and this thread's number on them; without them it signs alone. */
  readonly shared?: { readonly boards: SharedArrayBuffer; readonly thread: number };
  /** Path of OpenSSL's library; without it, where distributions put it. */
  readonly library?: string | undefined;
};

/** The signer of a serving thread. */
export type ChosenSigner = LoadedSigner & {
  /** What signs. */
  readonly engine: Pick<Engine, "name" | "description">;
  /** Why WebCrypto signs though OpenSSL was allowed to; null when it does not. */
  readonly reason: string | null;
  /** Whether the processor could sign several at once, and only the library for it is not there. */
  readonly isTogetherMissed: boolean;
  /**
   * Gives back what a thread that has died had begun for others, and counts what it had to sign no longer; to be
   * called before another takes its number.
   */
  abandon(thread: number): void;
  close(): Promise<void>;
};

/** How much slower OpenSSL may measure before WebCrypto is taken: the measurement is a short one. */
const tolerance = 1.1;

/**
 * Opens the signer of a thread; the engine has proved itself when it returns. The main thread chooses, and says so
 * in the log; the others are told which.
 * @throws TvsError CONFIG_INVALID when OpenSSL is asked for and cannot be used
 */
export async function openSigner(options: SignerOptions): Promise<ChosenSigner> {
  const { shared } = options;
  const board = shared && openSigningBoard(shared.boards, shared.thread);
  const { engine, reason } = await openEngine(options, board);
  /** Rings are loaded one after the other, so that the last one that was asked for stays. */
  const inTurn = createSerial();
  return {
    engine,
    reason,
    isTogetherMissed: engine.name === "openssl" && options.engine === "auto" && isCryptoMbMissed(options),
    load: (ring) => inTurn(() => engine.load(ring)),
    sign: engine.sign,
    abandon: (thread) => board?.abandon(thread),
    close: engine.close,
  };
}

function isCryptoMbMissed({ cryptoMbFile }: SignerOptions): boolean {
  return (cryptoMbFile ?? findCryptoMb()) === undefined && hasProcessorForCryptoMb();
}

type Choice = { readonly engine: Engine; readonly reason: string | null };

function openEngine(options: SignerOptions, board: SigningBoard | undefined): Promise<Choice> {
  switch (options.engine) {
    case "openssl":
    case "crypto_mb":
      return insist(options, board);
    case "webcrypto":
      return openWebCrypto({ ...options, load: board }).then((engine) => ({ engine, reason: null }));
    case "auto":
      return choose(options, board);
  }
}

/** @throws TvsError CONFIG_INVALID */
async function insist(options: SignerOptions, board: SigningBoard | undefined): Promise<Choice> {
  const { engine } = options;
  try {
    const cryptoMb = engine === "crypto_mb" ? cryptoMbOf(options, true) : undefined;
    return { engine: await openOpenssl({ ...options, cryptoMb, board }), reason: null };
  } catch (error) {
    const install =
      engine === "crypto_mb" ? "Intel's libcrypto_mb.so.11 (package libcrypto-mb11)" : "OpenSSL 3";
    throw new TvsError(
      "CONFIG_INVALID",
      `--signing-engine (TVS_SIGNING_ENGINE) ${engine} cannot be used: ${messageOf(error)}; install ${install}, or use auto`,
    );
  }
}

function cryptoMbOf({ cryptoMbFile }: SignerOptions, isInsisted: boolean) {
  return { file: cryptoMbFile ?? findCryptoMb(), isInsisted };
}

async function choose(options: SignerOptions, board: SigningBoard | undefined): Promise<Choice> {
  const [openssl, webCrypto] = [
    await openOpenssl({ ...options, cryptoMb: cryptoMbOf(options, false), board }).catch(messageOf),
    await openWebCrypto({ ...options, load: board }).catch(messageOf),
  ];
  if (typeof openssl === "object") {
    if (typeof webCrypto === "string" || openssl.signatureMs <= webCrypto.signatureMs * tolerance) {
      log.info("signing with OpenSSL", { detail: openssl.description });
      return { engine: openssl, reason: null };
    }
    await openssl.close();
  }
  if (typeof webCrypto === "string") throw new Error(webCrypto);
  const reason = typeof openssl === "string" ? openssl : "OpenSSL is slower here";
  log.warn("signing with WebCrypto instead of OpenSSL", { detail: reason });
  return { engine: webCrypto, reason };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
