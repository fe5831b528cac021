import type { Library } from "./libcrypto.ts";

type DenoPointer = { readonly pointer: unique symbol };
type Signature = { readonly parameters: readonly string[]; readonly result: string };
type DenoInterface = {
  dlopen(
    file: string,
    symbols: Record<string, Signature>,
  ): { readonly symbols: Library<DenoPointer>["symbols"] };
  readonly UnsafePointer: {
    of(array: Uint8Array | BigUint64Array): DenoPointer;
    value(pointer: DenoPointer): bigint;
  };
};

/**
 * Opens OpenSSL through Deno's foreign function interface, which needs `--allow-ffi`, as libSQL does.
 * @throws Error when the library, a symbol or the permission is missing
 */
export function openWithDeno(file: string): Library<DenoPointer> {
  const { Deno } = globalThis as unknown as { Deno: DenoInterface };
  const { symbols } = Deno.dlopen(file, {
    OpenSSL_version_num: { parameters: [], result: "u32" },
    d2i_AutoPrivateKey: { parameters: ["pointer", "pointer", "i64"], result: "pointer" },
    EVP_PKEY_free: { parameters: ["pointer"], result: "void" },
    EVP_PKEY_CTX_new: { parameters: ["pointer", "pointer"], result: "pointer" },
    EVP_PKEY_CTX_free: { parameters: ["pointer"], result: "void" },
    EVP_PKEY_sign_init: { parameters: ["pointer"], result: "i32" },
    EVP_PKEY_CTX_set_rsa_padding: { parameters: ["pointer", "i32"], result: "i32" },
    EVP_PKEY_CTX_set_signature_md: { parameters: ["pointer", "pointer"], result: "i32" },
    EVP_PKEY_sign: { parameters: ["pointer", "pointer", "pointer", "pointer", "usize"], result: "i32" },
    EVP_sha256: { parameters: [], result: "pointer" },
    SHA256: { parameters: ["pointer", "usize", "pointer"], result: "pointer" },
  });
  const { UnsafePointer } = Deno;
  return {
    symbols,
    addressOf: (array) => UnsafePointer.of(array),
    numberOf: (pointer) => BigInt(UnsafePointer.value(pointer)),
  };
}
