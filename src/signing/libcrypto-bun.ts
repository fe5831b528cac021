import type { Pointer } from "bun:ffi";
import type { Library } from "./libcrypto.ts";

/**
 * Opens OpenSSL through Bun's foreign function interface.
 * @throws Error when the library or a symbol is missing
 */
export async function openWithBun(file: string): Promise<Library<Pointer>> {
  const { dlopen, ptr } = await import("bun:ffi");
  const { symbols } = dlopen(file, {
    OpenSSL_version_num: { args: [], returns: "u32" },
    d2i_AutoPrivateKey: { args: ["ptr", "ptr", "i64"], returns: "ptr" },
    EVP_PKEY_free: { args: ["ptr"], returns: "void" },
    EVP_PKEY_CTX_new: { args: ["ptr", "ptr"], returns: "ptr" },
    EVP_PKEY_CTX_free: { args: ["ptr"], returns: "void" },
    EVP_PKEY_sign_init: { args: ["ptr"], returns: "i32" },
    EVP_PKEY_CTX_set_rsa_padding: { args: ["ptr", "i32"], returns: "i32" },
    EVP_PKEY_CTX_set_signature_md: { args: ["ptr", "ptr"], returns: "i32" },
    EVP_PKEY_sign: { args: ["ptr", "ptr", "ptr", "ptr", "u64"], returns: "i32" },
    EVP_sha256: { args: [], returns: "ptr" },
    SHA256: { args: ["ptr", "u64", "ptr"], returns: "ptr" },
  });
  // Bun's types allow for addresses beyond 2^53, which no system hands to a process.
  const typed = symbols as unknown as Library<Pointer>["symbols"];
  return { symbols: typed, addressOf: (array) => ptr(array), numberOf: BigInt };
}
