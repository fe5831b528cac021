import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import { log } from "../logger.ts";
import { type CryptoMb, type LaneKey, lanes, openCryptoMb } from "./crypto-mb.ts";
import { type HashEngine, keyNotLoaded } from "./engine.ts";
import { knownHash, knownKey, proveSigning } from "./known-answer.ts";
import { findLibcrypto, type Libcrypto, type LoadedKey, openLibcrypto } from "./libcrypto.ts";
import { groupFrom } from "./queue.ts";

export type OpensslOptions = {
  /** Path of libcrypto; without it, where distributions put it. */
  readonly library?: string | undefined;
  /** Without it, crypto_mb is not used. */
  readonly cryptoMb?: CryptoMbOptions | undefined;
};

type CryptoMbOptions = {
  /** Path of crypto_mb; undefined where there is none. */
  readonly file?: string | undefined;
  /** Whether it is an error when it cannot be used; else it also has to be faster. */
  readonly isInsisted: boolean;
};

/** A key in this thread's OpenSSL, and in its crypto_mb where that takes it. */
type OpensslKey = { readonly loaded: LoadedKey; lanes: LaneKey | null };

/** The part of the time of eight signatures by OpenSSL that crypto_mb may take at most; it takes some half of it. */
const groupPart = 0.8;

/**
 * Signs with the machine's OpenSSL in the calling thread. Where crypto_mb is given, it makes groups of signatures.
 * @throws Error with the reason when OpenSSL, or a crypto_mb that is insisted on, cannot be used here
 */
export async function openOpenssl(options: OpensslOptions): Promise<HashEngine> {
  const library = options.library ?? findLibcrypto();
  if (library === undefined) throw new Error("there is no libcrypto.so.3 on this machine");
  const libcrypto = await openLibcrypto(library);
  const signatureMs = await tryOut(libcrypto);
  const cryptoMb = await chooseCryptoMb(options.cryptoMb, libcrypto, signatureMs);
  const keys = new Map<string, OpensslKey>();
  return {
    name: cryptoMb === null ? "openssl" : "crypto_mb",
    description: `${cryptoMb === null ? "" : "crypto_mb and "}OpenSSL ${libcrypto.version}`,
    signatureMs,
    groupSize: cryptoMb === null ? 1 : lanes,
    async load(kid, pkcs8) {
      if (!keys.has(kid)) keys.set(kid, loadKey(pkcs8, libcrypto, cryptoMb));
    },
    keep(kids) {
      for (const [kid, key] of keys) {
        if (kids.has(kid)) continue;
        keys.delete(kid);
        key.lanes?.free();
        key.loaded.free();
      }
    },
    sign(kid, messages) {
      const key = keys.get(kid);
      if (key === undefined) throw keyNotLoaded();
      return signAll(
        key,
        messages.map(({ hash }) => hash),
      );
    },
  };
}

/** @throws TvsError SIGNER_UNAVAILABLE */
function loadKey(pkcs8: Uint8Array, libcrypto: Libcrypto, cryptoMb: CryptoMb | null): OpensslKey {
  try {
    const loaded = libcrypto.loadKey(pkcs8);
    if (loaded === null) throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL does not read the signing key");
    return { loaded, lanes: cryptoMb && lanesOf(cryptoMb, loaded) };
  } finally {
    pkcs8.fill(0);
  }
}

/**
 * Signs as a group what is enough for one. What crypto_mb has made wrongly nobody sees, and it makes no more.
 * @throws TvsError SIGNER_UNAVAILABLE
 */
export function signAll(key: OpensslKey, hashes: readonly Uint8Array[]): Uint8Array[] {
  if (key.lanes !== null && hashes.length >= groupFrom) {
    const made = key.lanes.sign(hashes);
    if (made !== null) return made;
    log.error("crypto_mb made a wrong signature, which was not given out; OpenSSL signs from now on");
    key.lanes.free();
    key.lanes = null;
  }
  return hashes.map((one) => {
    const signature = key.loaded.sign(one);
    if (signature === null) throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL could not sign; try again");
    return signature;
  });
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
    if (!isInsisted && togetherMs > groupPart * lanes * signatureMs)
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
