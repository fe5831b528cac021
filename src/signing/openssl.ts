import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import { type KeyRing, pkcs8Of, type SigningKey } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { log } from "../logger.ts";
import { createAdmission, createLoad } from "./admission.ts";
import type { SigningBoard } from "./board.ts";
import { createCalls } from "./calls.ts";
import { type CryptoMb, type LaneKey, lanes, openCryptoMb } from "./crypto-mb.ts";
import { type Engine, keyNotLoaded } from "./engine.ts";
import { knownHash, knownKey, proveSigning } from "./known-answer.ts";
import { findLibcrypto, type Libcrypto, type LoadedKey, openLibcrypto } from "./libcrypto.ts";
import { createSigningLoop, type Task } from "./loop.ts";

type OpensslOptions = {
  readonly secrets: Secrets;
  /** Path of libcrypto; without it, where distributions put it. */
  readonly library?: string | undefined;
  /** Where this thread shares with the others; without it, it signs alone. */
  readonly board?: SigningBoard | undefined;
  /** Without it, crypto_mb is not used. */
  readonly cryptoMb?: CryptoMbOptions | undefined;
};

type CryptoMbOptions = {
  /** Path of crypto_mb; undefined where there is none. */
  readonly file?: string | undefined;
  /** Whether it is an error when it cannot be used; else it also has to be faster. */
  readonly isInsisted: boolean;
};

/** From so many waiting signatures on, eight at once take no longer than one after the other. */
const togetherFrom = 4;
/** The part of the time of eight signatures by OpenSSL that crypto_mb may take at most; it takes some half of it. */
const togetherPart = 0.8;

/**
 * Signs with the machine's OpenSSL in the calling thread: nothing is handed over but what other threads have time
 * for. Where crypto_mb is given, it signs when several wait.
 * @throws Error with the reason when OpenSSL, or a crypto_mb that is insisted on, cannot be used here
 */
export async function openOpenssl(options: OpensslOptions): Promise<Engine> {
  const library = options.library ?? findLibcrypto();
  if (library === undefined) throw new Error("there is no libcrypto.so.3 on this machine");
  const libcrypto = await openLibcrypto(library);
  const signatureMs = await tryOut(libcrypto);
  const cryptoMb = await chooseCryptoMb(options.cryptoMb, libcrypto, signatureMs);
  const keys = createOpensslKeys(libcrypto, cryptoMb, options.secrets);
  // Without a bell that can be listened to, no thread could be woken for another.
  const board = "waitAsync" in Atomics ? options.board : undefined;
  const admission = createAdmission(board ?? createLoad(1), signatureMs);
  const calls = createCalls<OpensslKey>(admission);
  const loop = createSigningLoop({
    calls,
    board,
    together: cryptoMb === null ? { most: 1, from: 1 } : { most: lanes, from: togetherFrom },
    find: keys.find,
    sign(tasks) {
      const startedAt = performance.now();
      for (const [key, group] of Map.groupBy(tasks, (task) => task.key)) signAll(key, group);
      if (tasks.length > 0) admission.learn((performance.now() - startedAt) / tasks.length);
    },
  });
  const threads = inWords(options.board?.threads ?? 1);
  return {
    name: cryptoMb === null ? "openssl" : "crypto_mb",
    description: `${cryptoMb === null ? "" : "crypto_mb and "}OpenSSL ${libcrypto.version}, ${threads}`,
    signatureMs,
    async load(ring) {
      keys.change(ring);
      // From now on this thread can help others, which its first turn tells them.
      loop.wake();
    },
    async sign(kid, inputs, signOptions) {
      const key = keys.find(kid);
      if (key === undefined) throw keyNotLoaded();
      // A call keeps its key: what was asked before a rotation is still signed after it.
      key.users++;
      try {
        const signatures = calls.add({ kid, key, inputs, bulk: signOptions?.bulk === true });
        loop.wake();
        return await signatures;
      } finally {
        key.users--;
        keys.freeUnused();
      }
    },
    async close() {
      loop.close();
      calls.refuseAll();
      keys.change(null);
    },
  };
}

const inWords = (threads: number) => `${threads} ${threads === 1 ? "thread" : "threads"}`;

/** Signs together what is enough for that. What crypto_mb has made wrongly nobody sees, and it makes no more. */
export function signAll(key: OpensslKey, tasks: readonly Task<OpensslKey>[]): void {
  const isTogether = key.lanes !== null && tasks.length >= togetherFrom;
  const made = isTogether ? key.lanes?.sign(tasks.map((task) => task.hash)) : undefined;
  if (isTogether && !made) {
    log.error("crypto_mb made a wrong signature, which was not given out; OpenSSL signs from now on");
    key.lanes?.free();
    key.lanes = null;
  }
  for (const [at, task] of tasks.entries()) task.settle(made?.[at] ?? key.loaded.sign(task.hash));
}

/**
 * Signs the known input with the known key.
 * @returns how long one signature takes, in milliseconds
 * @throws Error when the signature is not the known one
 */
async function tryOut(libcrypto: Libcrypto): Promise<number> {
  const key = loadKnownKey(libcrypto);
  try {
    return await proveSigning("OpenSSL", () => inBase64url(key.sign(knownHash)));
  } finally {
    key.free();
  }
}

/** @throws Error when it is insisted on, and cannot be used */
async function chooseCryptoMb(
  { file, isInsisted }: CryptoMbOptions = { isInsisted: false },
  libcrypto: Libcrypto,
  signatureMs: number,
): Promise<CryptoMb | null> {
  if (file === undefined) {
    if (isInsisted) throw new Error("there is no libcrypto_mb.so.11 on this machine");
    return null;
  }
  try {
    const cryptoMb = await openCryptoMb(file);
    const togetherMs = await tryOutTogether(cryptoMb, libcrypto);
    if (!isInsisted && togetherMs > togetherPart * lanes * signatureMs)
      throw new Error("it is hardly faster here");
    return cryptoMb;
  } catch (error) {
    if (isInsisted) throw error;
    log.info("signing without crypto_mb", { detail: error instanceof Error ? error.message : String(error) });
    return null;
  }
}

/**
 * Signs the known input in each lane once, with others around it.
 * @returns how long they take together, in milliseconds
 * @throws Error when one of the signatures is not the known one
 */
async function tryOutTogether(cryptoMb: CryptoMb, libcrypto: Libcrypto): Promise<number> {
  const loaded = loadKnownKey(libcrypto);
  const key = lanesOf(cryptoMb, loaded);
  try {
    let lane = 0;
    return await proveSigning("crypto_mb", () => {
      const hashes = Array.from({ length: lanes }, (_, at) => hash("sha256", `${at}`, "buffer"));
      const place = lane++ % lanes;
      hashes[place] = Buffer.from(knownHash);
      return inBase64url(key?.sign(hashes)?.[place] ?? null);
    });
  } finally {
    key?.free();
    loaded.free();
  }
}

function loadKnownKey(libcrypto: Libcrypto): LoadedKey {
  const key = libcrypto.loadKey(knownKey());
  if (key === null) throw new Error("OpenSSL does not read the test key");
  return key;
}

const inBase64url = (signature: Uint8Array | null) => Buffer.from(signature ?? []).toString("base64url");

/** A key in this thread's OpenSSL, and in its crypto_mb. Who uses it over more than one turn counts itself in `users`. */
type OpensslKey = { readonly loaded: LoadedKey; lanes: LaneKey | null; users: number };

/** The keys that this thread signs with. */
function createOpensslKeys(libcrypto: Libcrypto, cryptoMb: CryptoMb | null, secrets: Secrets) {
  let keys = new Map<string, OpensslKey>();
  /** Keys that have left the ring, and that somebody still uses. */
  let leaving: OpensslKey[] = [];

  function loadKey(key: SigningKey): OpensslKey {
    const pkcs8 = pkcs8Of(key, secrets);
    try {
      const loaded = libcrypto.loadKey(pkcs8);
      if (loaded === null) {
        throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL does not read the signing key");
      }
      return { loaded, lanes: cryptoMb && lanesOf(cryptoMb, loaded), users: 0 };
    } finally {
      pkcs8.fill(0);
    }
  }

  /** Frees the keys that are not found any more, and that nobody uses. */
  function freeUnused(): void {
    for (const key of leaving) if (key.users === 0) free(key);
    leaving = leaving.filter(({ users }) => users > 0);
  }

  return {
    find: (kid: string) => keys.get(kid),
    /**
     * Makes the ring's active and pending keys those that are found; null for none. When one cannot be loaded, those
     * from before stay.
     * @throws TvsError SIGNER_UNAVAILABLE when OpenSSL does not take one, and what opening a sealed key throws
     */
    change(ring: KeyRing | null): void {
      const wanted = ring === null ? [] : [ring.active, ring.pending];
      const next = new Map<string, OpensslKey>();
      try {
        for (const key of wanted) next.set(key.kid, keys.get(key.kid) ?? loadKey(key));
      } catch (error) {
        for (const [kid, key] of next) if (!keys.has(kid)) free(key);
        throw error;
      }
      leaving.push(...[...keys].filter(([kid]) => !next.has(kid)).map(([, key]) => key));
      keys = next;
      freeUnused();
    },
    freeUnused,
  };
}

function free({ loaded, lanes }: OpensslKey): void {
  lanes?.free();
  loaded.free();
}

/** @returns null when crypto_mb does not take the key, or signs with it otherwise than OpenSSL */
function lanesOf(cryptoMb: CryptoMb, loaded: LoadedKey): LaneKey | null {
  const lanes = cryptoMb.loadKey(loaded);
  const [made] = lanes?.sign([knownHash]) ?? [];
  if (made !== undefined && Buffer.compare(made, loaded.sign(knownHash) ?? new Uint8Array()) === 0)
    return lanes;
  lanes?.free();
  log.info("crypto_mb does not sign with this key; OpenSSL does", { bits: loaded.bytes * 8 });
  return null;
}
