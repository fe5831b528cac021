import { Buffer } from "node:buffer";
import { TvsError } from "../domain/errors.ts";
import { findCLibrary, makeFixedBytes, openCLibrary } from "../foreign.ts";
import { log } from "../logger.ts";
import { type CryptoMb, type CryptoMbKey, laneCount, openCryptoMb } from "./crypto-mb.ts";
import { copyTestKey, type HashSigner, hashLength, noKeyError, runSelfTest, selfTestHash } from "./engine.ts";
import { minGroupSize } from "./queue.ts";

export type OpensslOptions = {
  /** The path of OpenSSL's library. If undefined, the folders of Linux distributions are searched. */
  readonly library?: string | undefined;
  /** If undefined, crypto_mb is not used. With `isInsisted`, it is used even if slow; an unusable one is an error. */
  readonly cryptoMb?: { readonly file: string | undefined; readonly isInsisted: boolean } | undefined;
};

/** A private key in OpenSSL, and also in crypto_mb if crypto_mb supports it. */
type OpensslKey = { readonly loaded: LibcryptoKey; lanes: CryptoMbKey | null };

/** crypto_mb is used only if it makes eight signatures in at most this share of OpenSSL's time. It usually takes half. */
const maxShare = 0.8;

/** Opens OpenSSL, which signs in the calling thread. @throws Error if OpenSSL, or an `isInsisted` crypto_mb, is unusable */
export async function openOpenssl(options: OpensslOptions): Promise<HashSigner> {
  const { library = findLibcrypto() } = options;
  if (library === undefined) throw new Error("there is no libcrypto.so.3 on this machine");
  const libcrypto = await openLibcrypto(library);
  const signatureMs = await testEngine(libcrypto, null);
  const cryptoMb = await chooseCryptoMb(options, libcrypto, signatureMs);
  const keys = new Map<string, OpensslKey>();
  return {
    name: cryptoMb === null ? "openssl" : "crypto_mb",
    description: `${cryptoMb === null ? "" : "crypto_mb and "}OpenSSL ${libcrypto.version}`,
    signatureMs,
    groupSize: cryptoMb === null ? 1 : laneCount,
    async load(kid, pkcs8) {
      if (!keys.has(kid)) keys.set(kid, loadKey(pkcs8, libcrypto, cryptoMb));
    },
    keep(kids) {
      for (const [kid, { loaded, lanes }] of keys) {
        if (kids.has(kid)) continue;
        keys.delete(kid);
        lanes?.free();
        loaded.free();
      }
    },
    sign(kid, messages) {
      const key = keys.get(kid);
      if (key === undefined) throw noKeyError();
      const hashes = messages.map(({ hash }) => hash);
      return signHashes(key, hashes);
    },
  };
}

function loadKey(pkcs8: Uint8Array, libcrypto: Libcrypto, cryptoMb: CryptoMb | null): OpensslKey {
  try {
    const loaded = libcrypto.loadKey(pkcs8);
    return { loaded, lanes: cryptoMb && lanesOf(cryptoMb, pkcs8, loaded) };
  } finally {
    pkcs8.fill(0);
  }
}

/** Loads a key into crypto_mb. @returns null if crypto_mb does not support the key, or signs otherwise than OpenSSL */
function lanesOf(cryptoMb: CryptoMb, pkcs8: Uint8Array, loaded: LibcryptoKey): CryptoMbKey | null {
  const lanes = cryptoMb.loadKey(pkcs8);
  const [made] = lanes?.sign([selfTestHash]) ?? [];
  const right = loaded.sign(selfTestHash);
  if (made !== undefined && Buffer.compare(made, right) === 0) return lanes;
  lanes?.free();
  log.info("crypto_mb does not sign with this key; OpenSSL does", { bits: right.length * 8 });
  return null;
}

/** Signs each hash. After a wrong signature of crypto_mb only OpenSSL signs. @throws TvsError SIGNER_UNAVAILABLE */
export function signHashes(key: OpensslKey, hashes: readonly Uint8Array[]): Uint8Array[] {
  if (key.lanes !== null && hashes.length >= minGroupSize) {
    const made = key.lanes.sign(hashes);
    if (made !== null) return made;
    log.error("crypto_mb made a wrong signature, which was not given out; OpenSSL signs from now on");
    key.lanes.free();
    key.lanes = null;
  }
  return hashes.map(key.loaded.sign);
}

/** Opens crypto_mb. @returns null if it is unusable or too slow @throws Error if it is unusable and `isInsisted` */
async function chooseCryptoMb(options: OpensslOptions, libcrypto: Libcrypto, singleMs: number) {
  const { file, isInsisted = false } = options.cryptoMb ?? {};
  try {
    if (file === undefined) throw new Error("there is no libcrypto_mb.so.11 on this machine");
    const cryptoMb = await openCryptoMb(file);
    const groupMs = await testEngine(libcrypto, cryptoMb);
    if (!isInsisted && groupMs > maxShare * laneCount * singleMs) throw new Error("it is hardly faster here");
    return cryptoMb;
  } catch (error) {
    if (isInsisted) throw error;
    if (file !== undefined) log.info("signing without crypto_mb", { detail: (error as Error).message });
    return null;
  }
}

/** Tests OpenSSL, or each lane of crypto_mb if given. @returns the milliseconds of one signature, or of one group */
async function testEngine(libcrypto: Libcrypto, cryptoMb: CryptoMb | null) {
  const key = loadKey(copyTestKey(), libcrypto, cryptoMb);
  let lane = 0;
  const signInNextLane = () => {
    const index = lane++ % laneCount;
    const other = new Uint8Array(selfTestHash.length);
    const hashes = Array.from({ length: laneCount }, (_, at) => (at === index ? selfTestHash : other));
    return key.lanes?.sign(hashes)?.[index] ?? null;
  };
  try {
    if (cryptoMb !== null) return await runSelfTest("crypto_mb", signInNextLane);
    return await runSelfTest("OpenSSL", () => key.loaded.sign(selfTestHash));
  } finally {
    key.lanes?.free();
    key.loaded.free();
  }
}

type Libcrypto = Awaited<ReturnType<typeof openLibcrypto>>;
export type LibcryptoKey = ReturnType<Libcrypto["loadKey"]>;

const pkcs1Padding = 1;
/** The length of the longest signature: OpenSSL accepts RSA keys of up to 16,384 bits. */
const outputBytes = 16_384 / 8;

/** Finds OpenSSL 3 in the folders of Linux distributions. @returns undefined if it is not installed */
export const findLibcrypto = () => findCLibrary("libcrypto.so.3");

const functions = {
  OpenSSL_version_num: { args: [], returns: "u32" },
  d2i_AutoPrivateKey: { args: ["pointer", "pointer", "i64"], returns: "pointer" },
  EVP_PKEY_free: { args: ["pointer"], returns: "void" },
  EVP_PKEY_CTX_new: { args: ["pointer", "pointer"], returns: "pointer" },
  EVP_PKEY_CTX_free: { args: ["pointer"], returns: "void" },
  EVP_PKEY_sign_init: { args: ["pointer"], returns: "i32" },
  EVP_PKEY_CTX_set_rsa_padding: { args: ["pointer", "i32"], returns: "i32" },
  EVP_PKEY_CTX_set_signature_md: { args: ["pointer", "pointer"], returns: "i32" },
  EVP_PKEY_sign: { args: ["pointer", "pointer", "pointer", "pointer", "usize"], returns: "i32" },
  EVP_sha256: { args: [], returns: "pointer" },
} as const;

/** Opens OpenSSL's library in this thread. @throws Error if it cannot be loaded, or is not version 3 */
export async function openLibcrypto(file: string) {
  const { functions: openssl, addressOf, numberOf } = await openCLibrary(file, functions);
  const version = openssl.OpenSSL_version_num() >>> 0;
  if (version >>> 28 !== 3) throw new Error("libcrypto is not version 3");
  const sha256 = openssl.EVP_sha256();
  const [digest, output] = [makeFixedBytes(hashLength), makeFixedBytes(outputBytes)];
  const length = new BigUint64Array(new ArrayBuffer(BigUint64Array.BYTES_PER_ELEMENT));
  const [from, to, toLength] = [addressOf(digest), addressOf(output), addressOf(length)];

  return {
    version: `${version >>> 28}.${(version >>> 20) & 0xff}.${(version >>> 4) & 0xffff}`,
    /**
     * Loads a private key, with one context for all its signatures: a new context costs more than the hash. A signature
     * with an error in the CRT arithmetic would reveal the key, so OpenSSL checks each one and computes a wrong one again
     * without CRT (crypto/rsa/rsa_ossl.c, rsa_ossl_mod_exp: "Don't leak miscalculated CRT output").
     * @throws TvsError SIGNER_UNAVAILABLE if the bytes are no PKCS #8 RSA key
     */
    loadKey(pkcs8: Uint8Array) {
      const start = new BigUint64Array([numberOf(pkcs8)]);
      const key = openssl.d2i_AutoPrivateKey(null, addressOf(start), pkcs8.length);
      const context = key && openssl.EVP_PKEY_CTX_new(key, null);
      /** Frees the key. OpenSSL overwrites its numbers (RSA_free(3): "erased before freeing"). */
      const free = () => {
        openssl.EVP_PKEY_CTX_free(context);
        openssl.EVP_PKEY_free(key);
      };
      const isReady =
        context !== null &&
        openssl.EVP_PKEY_sign_init(context) === 1 &&
        openssl.EVP_PKEY_CTX_set_rsa_padding(context, pkcs1Padding) === 1 &&
        openssl.EVP_PKEY_CTX_set_signature_md(context, sha256) === 1;
      /** Signs a SHA-256 hash (RSASSA-PKCS1-v1_5, RFC 8017, 8.2). @throws TvsError SIGNER_UNAVAILABLE */
      function sign(hash: Uint8Array): Uint8Array {
        digest.set(hash);
        length[0] = BigInt(output.length);
        if (openssl.EVP_PKEY_sign(context, to, toLength, from, digest.length) !== 1)
          throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL could not sign; try again");
        return output.slice(0, Number(length[0]));
      }
      if (isReady) return { sign, free };
      free();
      throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL does not read the signing key");
    },
  };
}
