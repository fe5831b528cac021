import { type Address, findLibrary, fixedBytes, openLibrary } from "../foreign.ts";

/** A private key inside OpenSSL. */
export type LoadedKey = {
  /** Signs a SHA-256 hash (RSASSA-PKCS1-v1_5, RFC 8017, 8.2). @returns null when OpenSSL refuses */
  sign(hash: Uint8Array): Uint8Array | null;
  /** Gives the key back to OpenSSL, which overwrites its numbers (RSA_free(3): "erased before freeing"). */
  free(): void;
};

export type Libcrypto = {
  /** Such as `3.0.13`. */
  readonly version: string;
  /** @returns null when the bytes are no PKCS #8 RSA key */
  loadKey(pkcs8: Uint8Array): LoadedKey | null;
};

const pkcs1Padding = 1;
const digestBytes = 32;
/** A signature of the longest key that OpenSSL takes. */
const outputBytes = 16_384 / 8;

/** The path of the machine's OpenSSL 3 where distributions put it. */
export const findLibcrypto = () => findLibrary("libcrypto.so.3");

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

/**
 * Opens OpenSSL in this thread.
 * @throws Error when there is no such library, a function is missing, or it is not version 3
 */
export async function openLibcrypto(file: string): Promise<Libcrypto> {
  const { functions: openssl, addressOf, numberOf } = await openLibrary(file, functions);
  const versionNumber = openssl.OpenSSL_version_num() >>> 0;
  if (versionNumber >>> 28 !== 3) throw new Error("libcrypto is not version 3");
  const sha256 = openssl.EVP_sha256();
  const [digest, output] = [fixedBytes(digestBytes), fixedBytes(outputBytes)];
  const length = new BigUint64Array(new ArrayBuffer(BigUint64Array.BYTES_PER_ELEMENT));
  const addresses = { digest: addressOf(digest), output: addressOf(output), length: addressOf(length) };

  /**
   * One context for all signatures of a key: making one anew costs more than the hash. A fault in the CRT
   * arithmetic would give the key away; OpenSSL checks each result with the public exponent and computes it again
   * the slow way when it is wrong (crypto/rsa/rsa_ossl.c, rsa_ossl_mod_exp: "Don't leak miscalculated CRT output").
   */
  function signingContext(key: Address): Address | null {
    const context = openssl.EVP_PKEY_CTX_new(key, null);
    if (context === null) return null;
    const isReady =
      openssl.EVP_PKEY_sign_init(context) === 1 &&
      openssl.EVP_PKEY_CTX_set_rsa_padding(context, pkcs1Padding) === 1 &&
      openssl.EVP_PKEY_CTX_set_signature_md(context, sha256) === 1;
    if (!isReady) openssl.EVP_PKEY_CTX_free(context);
    return isReady ? context : null;
  }

  function loadKey(pkcs8: Uint8Array): LoadedKey | null {
    const start = new BigUint64Array([numberOf(pkcs8)]);
    const key = openssl.d2i_AutoPrivateKey(null, addressOf(start), pkcs8.length);
    if (key === null) return null;
    const context = signingContext(key);
    if (context === null) {
      openssl.EVP_PKEY_free(key);
      return null;
    }
    return {
      sign(hash) {
        digest.set(hash);
        length[0] = BigInt(output.length);
        const { output: to, length: toLength, digest: from } = addresses;
        const done = openssl.EVP_PKEY_sign(context, to, toLength, from, digest.length);
        return done === 1 ? output.slice(0, Number(length[0])) : null;
      },
      free() {
        openssl.EVP_PKEY_CTX_free(context);
        openssl.EVP_PKEY_free(key);
      },
    };
  }

  return {
    version: `${versionNumber >>> 28}.${(versionNumber >>> 20) & 0xff}.${(versionNumber >>> 4) & 0xffff}`,
    loadKey,
  };
}
