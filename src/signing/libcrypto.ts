import { existsSync } from "node:fs";

/**
 * The part of OpenSSL 3 that signing needs, over whichever foreign function interface this runtime has.
 * `Address` is what that interface takes for a pointer: a number on Bun, an object on Deno.
 */
export type Library<Address> = {
  readonly symbols: {
    OpenSSL_version_num(): number;
    d2i_AutoPrivateKey(key: null, bytesAddress: Address, length: number): Address | null;
    EVP_PKEY_free(key: Address): void;
    EVP_PKEY_CTX_new(key: Address, engine: null): Address | null;
    EVP_PKEY_CTX_free(context: Address): void;
    EVP_PKEY_sign_init(context: Address): number;
    EVP_PKEY_CTX_set_rsa_padding(context: Address, padding: number): number;
    EVP_PKEY_CTX_set_signature_md(context: Address, digest: Address): number;
    EVP_PKEY_sign(
      context: Address,
      out: Address,
      outLength: Address,
      digest: Address,
      length: number,
    ): number;
    EVP_sha256(): Address | null;
    SHA256(bytes: Address, length: number, digest: Address): Address | null;
  };
  /** Where an array begins; it must be kept alive by the caller as long as the address is used. */
  addressOf(array: Uint8Array | BigUint64Array): Address;
  /** An address as a number, to be stored where C expects a pointer to a pointer. */
  numberOf(address: Address): bigint;
};

/** Two buffers: what is to be signed is read from one, and the signature is written to the other. */
type SigningBuffers = {
  /** @returns the length of the signature in bytes, or 0 when OpenSSL refused */
  sign(key: LoadedKey, inputLength: number, options: { hashed: boolean }): number;
};

/** A private key inside OpenSSL. */
export type LoadedKey = {
  /** Gives the key back to OpenSSL, which overwrites its numbers (RSA_free(3): "erased before freeing"). */
  free(): void;
};

export type Libcrypto = {
  /** Such as `3.0.13`. */
  readonly version: string;
  /** @returns null when the bytes are no PKCS #8 RSA key */
  loadKey(pkcs8: Uint8Array): LoadedKey | null;
  bindBuffers(input: Uint8Array, output: Uint8Array): SigningBuffers;
};

/**
 * Whole paths only: for a bare name Bun would also look into the folder that the program is started in, and load
 * whatever lies there.
 */
const folders = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/lib/x86_64-linux-gnu",
  "/lib/aarch64-linux-gnu",
  "/usr/lib64",
  "/lib64",
  "/usr/lib",
  "/lib",
  "/usr/local/lib64",
  "/usr/local/lib",
];
const pkcs1Padding = 1;
const digestBytes = 32;

/** The machine's OpenSSL 3, or undefined when it has none where distributions put it. */
export function findLibcrypto(): string | undefined {
  return folders.map((folder) => `${folder}/libcrypto.so.3`).find((file) => existsSync(file));
}

/**
 * Opens OpenSSL in this thread.
 * @throws Error when there is no such library, a symbol is missing, or it is not version 3
 */
export async function openLibcrypto(file: string): Promise<Libcrypto> {
  // Each runtime's interface is loaded where it exists only: neither knows the other's.
  if ("Bun" in globalThis) {
    const { openWithBun } = await import("./libcrypto-bun.ts");
    return createLibcrypto(await openWithBun(file));
  }
  if ("Deno" in globalThis) {
    const { openWithDeno } = await import("./libcrypto-deno.ts");
    return createLibcrypto(openWithDeno(file));
  }
  throw new Error("this runtime has no foreign function interface");
}

function createLibcrypto<Address>(library: Library<Address>): Libcrypto {
  const { symbols, addressOf } = library;
  const versionNumber = symbols.OpenSSL_version_num() >>> 0;
  if (versionNumber >>> 28 !== 3) throw new Error("libcrypto is not version 3");
  const sha256 = present(symbols.EVP_sha256());
  // C writes both through their addresses, which keep nothing alive: the functions below must use the arrays
  // themselves, or the memory would soon belong to something else, and be overwritten all the same.
  const digest = new Uint8Array(digestBytes);
  const length = new BigUint64Array(1);
  const digestAddress = addressOf(digest);
  const lengthAddress = addressOf(length);
  const contexts = new WeakMap<LoadedKey, Address>();

  /**
   * One context for all signatures of a key: making one anew costs more than the hash. A fault in the CRT
   * arithmetic would give the key away; OpenSSL checks each result with the public exponent and computes it again
   * the slow way when it is wrong (crypto/rsa/rsa_ossl.c, rsa_ossl_mod_exp: "Don't leak miscalculated CRT output").
   */
  function signingContext(key: Address): Address | null {
    const context = symbols.EVP_PKEY_CTX_new(key, null);
    if (context === null) return null;
    const isReady =
      symbols.EVP_PKEY_sign_init(context) === 1 &&
      symbols.EVP_PKEY_CTX_set_rsa_padding(context, pkcs1Padding) === 1 &&
      symbols.EVP_PKEY_CTX_set_signature_md(context, sha256) === 1;
    if (!isReady) symbols.EVP_PKEY_CTX_free(context);
    return isReady ? context : null;
  }

  return {
    version: `${versionNumber >>> 28}.${(versionNumber >>> 20) & 0xff}.${(versionNumber >>> 4) & 0xffff}`,

    loadKey(pkcs8) {
      const bytesAddress = new BigUint64Array([library.numberOf(addressOf(pkcs8))]);
      const key = symbols.d2i_AutoPrivateKey(null, addressOf(bytesAddress), pkcs8.length);
      if (key === null) return null;
      const context = signingContext(key);
      const free = () => {
        if (context !== null) symbols.EVP_PKEY_CTX_free(context);
        symbols.EVP_PKEY_free(key);
      };
      if (context === null) {
        free();
        return null;
      }
      const loaded = { free };
      contexts.set(loaded, context);
      return loaded;
    },

    bindBuffers(input, output) {
      // Bun's engine moves the bytes of a small array when its buffer is asked for the first time, which `subarray`
      // does: it is asked for now, so that the addresses stay good.
      const [inputAddress, outputAddress] = [input, output].map((array) => {
        return addressOf(new Uint8Array(array.buffer, array.byteOffset, array.length));
      }) as [Address, Address];
      return {
        sign(key, inputLength, { hashed }) {
          const context = contexts.get(key);
          if (context === undefined || inputLength > input.length) return 0;
          if (!hashed) symbols.SHA256(inputAddress, inputLength, digestAddress);
          length[0] = BigInt(output.length);
          const hash = hashed ? inputAddress : digestAddress;
          const done = symbols.EVP_PKEY_sign(context, outputAddress, lengthAddress, hash, digestBytes);
          digest.fill(0);
          return done === 1 ? Number(length[0]) : 0;
        },
      };
    },
  };
}

function present<T>(value: T | null): T {
  if (value === null) throw new Error("libcrypto has no SHA-256");
  return value;
}
