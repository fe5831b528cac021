/** RS256 by the machine's OpenSSL 3 through Deno's foreign function interface, for `tvs verify`. */

import type { RsaPublicJwk } from "../../src/partner/rsa-key.ts";
import type { VerifyNow } from "./engine.ts";

type Pointer = { readonly pointer: unique symbol };
type Signature = { readonly parameters: readonly string[]; readonly result: string };

type Symbols = {
  OpenSSL_version_num(): number;
  d2i_PUBKEY(key: null, bytesAddress: BigUint64Array, length: bigint): Pointer | null;
  EVP_PKEY_CTX_new(key: Pointer, engine: null): Pointer | null;
  EVP_PKEY_verify_init(context: Pointer): number;
  EVP_PKEY_CTX_set_rsa_padding(context: Pointer, padding: number): number;
  EVP_PKEY_CTX_set_signature_md(context: Pointer, digest: Pointer | null): number;
  EVP_PKEY_verify(
    context: Pointer,
    signature: Uint8Array,
    length: bigint,
    digest: Uint8Array,
    size: bigint,
  ): number;
  EVP_sha256(): Pointer | null;
  SHA256(bytes: Uint8Array, length: bigint, digest: Uint8Array): Pointer | null;
};

type DenoInterface = {
  dlopen(file: string, symbols: Record<keyof Symbols, Signature>): { readonly symbols: Symbols };
  readonly UnsafePointer: { of(array: Uint8Array): Pointer; value(pointer: Pointer): bigint };
};

const pkcs1Padding = 1;
const digestBytes = 32n;

function load({ dlopen }: DenoInterface, file: string): Symbols {
  return dlopen(file, {
    OpenSSL_version_num: { parameters: [], result: "u32" },
    d2i_PUBKEY: { parameters: ["pointer", "buffer", "i64"], result: "pointer" },
    EVP_PKEY_CTX_new: { parameters: ["pointer", "pointer"], result: "pointer" },
    EVP_PKEY_verify_init: { parameters: ["pointer"], result: "i32" },
    EVP_PKEY_CTX_set_rsa_padding: { parameters: ["pointer", "i32"], result: "i32" },
    EVP_PKEY_CTX_set_signature_md: { parameters: ["pointer", "pointer"], result: "i32" },
    EVP_PKEY_verify: { parameters: ["pointer", "buffer", "usize", "buffer", "usize"], result: "i32" },
    EVP_sha256: { parameters: [], result: "pointer" },
    SHA256: { parameters: ["buffer", "usize", "buffer"], result: "pointer" },
  }).symbols;
}

/**
 * Opens OpenSSL in this thread. Its keys live as long as the program: a run knows a few.
 *
 * @param file the library's whole path
 * @param encode gives a key as a SubjectPublicKeyInfo in DER
 * @throws Error when the library, a symbol or the permission is missing, or it is not version 3
 */
export function openVerifierWithDeno(file: string, encode: (jwk: RsaPublicJwk) => Uint8Array): VerifyNow {
  const { Deno } = globalThis as unknown as { Deno: DenoInterface };
  const symbols = load(Deno, file);
  if (symbols.OpenSSL_version_num() >>> 28 !== 3) throw new Error("libcrypto is not version 3");
  const digest = new Uint8Array(Number(digestBytes));
  const contexts = new WeakMap<RsaPublicJwk, Pointer>();

  /** One context for all signatures of a key: making one anew costs more than the hash. */
  function makeContext(jwk: RsaPublicJwk): Pointer {
    const der = encode(jwk);
    const address = new BigUint64Array([BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(der)))]);
    const key = symbols.d2i_PUBKEY(null, address, BigInt(der.length));
    const context = key === null ? null : symbols.EVP_PKEY_CTX_new(key, null);
    const isReady =
      context !== null &&
      symbols.EVP_PKEY_verify_init(context) === 1 &&
      symbols.EVP_PKEY_CTX_set_rsa_padding(context, pkcs1Padding) === 1 &&
      symbols.EVP_PKEY_CTX_set_signature_md(context, symbols.EVP_sha256()) === 1;
    if (!isReady) throw new Error("OpenSSL does not take the key");
    contexts.set(jwk, context);
    return context;
  }

  return (_kid, jwk, signingInput, signature) => {
    const context = contexts.get(jwk) ?? makeContext(jwk);
    symbols.SHA256(signingInput, BigInt(signingInput.length), digest);
    const size = BigInt(signature.length);
    return symbols.EVP_PKEY_verify(context, signature, size, digest, digestBytes) === 1;
  };
}
