import { Buffer } from "node:buffer";
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
  const signatureMs = await withKnownKey(libcrypto, null, ({ loaded }) =>
    proveSigning("OpenSSL", () => loaded.sign(knownHash)),
  );
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
        free(key);
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
    return { loaded, lanes: cryptoMb && lanesOf(cryptoMb, pkcs8, loaded) };
  } finally {
    pkcs8.fill(0);
  }
}

function free({ loaded, lanes }: OpensslKey): void {
  lanes?.free();
  loaded.free();
}

/** @returns null when crypto_mb does not take the key, or signs with it otherwise than OpenSSL */
function lanesOf(cryptoMb: CryptoMb, pkcs8: Uint8Array, loaded: LoadedKey): LaneKey | null {
  const lanes = cryptoMb.loadKey(pkcs8);
  const [made] = lanes?.sign([knownHash]) ?? [];
  const right = loaded.sign(knownHash) ?? new Uint8Array();
  if (made !== undefined && Buffer.compare(made, right) === 0) return lanes;
  lanes?.free();
  log.info("crypto_mb does not sign with this key; OpenSSL does", { bits: right.length * 8 });
  return null;
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

/** @throws Error when it is insisted on, and cannot be used */
async function chooseCryptoMb(
  { file, isInsisted }: CryptoMbOptions = { isInsisted: false },
  libcrypto: Libcrypto,
  signatureMs: number,
): Promise<CryptoMb | null> {
  try {
    if (file === undefined) throw new Error("there is no libcrypto_mb.so.11 on this machine");
    const cryptoMb = await openCryptoMb(file);
    const groupMs = await withKnownKey(libcrypto, cryptoMb, (key) => proveLanes(key.lanes));
    if (!isInsisted && groupMs > groupPart * lanes * signatureMs) throw new Error("it is hardly faster here");
    return cryptoMb;
  } catch (error) {
    if (isInsisted) throw error;
    if (file !== undefined) log.info("signing without crypto_mb", { detail: (error as Error).message });
    return null;
  }
}

/** Makes the known signature in each lane once, with others around it. @returns the milliseconds of a group */
function proveLanes(key: LaneKey | null): Promise<number> {
  let lane = 0;
  return proveSigning("crypto_mb", () => {
    const hashes = Array.from({ length: lanes }, () => new Uint8Array(knownHash.length));
    const index = lane++ % lanes;
    hashes[index]?.set(knownHash);
    return key?.sign(hashes)?.[index] ?? null;
  });
}

async function withKnownKey<T>(
  libcrypto: Libcrypto,
  cryptoMb: CryptoMb | null,
  act: (key: OpensslKey) => Promise<T>,
): Promise<T> {
  const key = loadKey(knownKey(), libcrypto, cryptoMb);
  try {
    return await act(key);
  } finally {
    free(key);
  }
}
