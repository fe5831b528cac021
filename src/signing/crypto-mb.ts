import { Buffer } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { fixedBytes, type Library, libraryFolders, openLibrary } from "../foreign.ts";
import type { LoadedKey } from "./libcrypto.ts";

/** How many signatures are made at once. A call costs the same however many of them are wanted. */
export const lanes = 8;

/** A private key by which up to eight hashes are signed at once. */
export type LaneKey = {
  /**
   * Signs up to {@link lanes} SHA-256 hashes (RSASSA-PKCS1-v1_5, RFC 8017, 8.2).
   * @returns null when one of the signatures is not what the public key says that it should be. Then none may be seen: a
   *   fault in the CRT arithmetic gives the key away (Boneh, DeMillo and Lipton, 1997)
   */
  sign(hashes: readonly Uint8Array[]): Uint8Array[] | null;
  /** Overwrites its numbers. */
  free(): void;
};

export type CryptoMb = {
  /** @returns null for a key that it cannot sign with: of another size, exponent or number of primes */
  loadKey(key: LoadedKey): LaneKey | null;
};

/** Intel's crypto_mb, or undefined when the machine has none where distributions put it. */
export function findCryptoMb(): string | undefined {
  return libraryFolders.map((folder) => `${folder}/libcrypto_mb.so.11`).find((file) => existsSync(file));
}

/** Whether Linux says that the processor has what crypto_mb computes with. */
export function hasProcessorForCryptoMb(): boolean {
  try {
    return /^flags\b.* avx512ifma\b/m.test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return false;
  }
}

const p = "pointer";
const functions = {
  mbx_is_crypto_mb_applicable: { args: ["i64"], returns: "i32" },
  mbx_RSA_private_crt_Method: { args: ["i32"], returns: p },
  mbx_RSA_pub65537_Method: { args: ["i32"], returns: p },
  mbx_RSA_Method_BufSize: { args: [p], returns: "i32" },
  // From, to, p, q, dp, dq and 1/q, eight pointers each; then bits, method and scratch.
  mbx_rsa_private_crt_mb8: { args: [p, p, p, p, p, p, p, "i32", p, p], returns: "u32" },
  // From, to and n, eight pointers each; then bits, method and scratch.
  mbx_rsa_public_mb8: { args: [p, p, p, "i32", p, p], returns: "u32" },
} as const;

/** EMSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 9.2): what stands between the padding and the hash. */
const digestInfo = Buffer.from("003031300d060960864801650304020105000420", "hex");
const hashBytes = 32;
/** The only exponent that it checks with. */
const publicExponent = 65_537n;

/**
 * Opens Intel's crypto_mb in this thread, which signs eight messages at once with AVX-512 IFMA.
 * @throws Error when there is no such library, a function is missing, or the processor cannot
 */
export async function openCryptoMb(file: string): Promise<CryptoMb> {
  const library = await openLibrary(file, functions);
  // Asked first of all: what the library computes with would end the process on another processor.
  if (library.functions.mbx_is_crypto_mb_applicable(0) === 0) {
    throw new Error("this processor has no AVX-512 IFMA");
  }
  return {
    loadKey(key) {
      const methods = methodsFor(library, key.bytes * 8);
      const numbers = methods && readNumbers(key);
      return numbers && createLaneKey(library, methods, numbers);
    },
  };
}

/** What the library computes with for keys of a size, and the memory that takes; null for a size that it does not know. */
function methodsFor({ functions: mbx }: Library<typeof functions>, bits: number) {
  const [signing, checking] = [mbx.mbx_RSA_private_crt_Method(bits), mbx.mbx_RSA_pub65537_Method(bits)];
  if (signing === null || checking === null) return null;
  const scratchBytes = Math.max(...[signing, checking].map(mbx.mbx_RSA_Method_BufSize));
  return { bits, signing, checking, scratchBytes };
}

/** @returns null for a key with another public exponent, or with primes of other lengths */
function readNumbers(key: LoadedKey) {
  const prime = () => fixedBytes(key.bytes / 2);
  const numbers = {
    n: fixedBytes(key.bytes),
    p: prime(),
    q: prime(),
    dp: prime(),
    dq: prime(),
    qInv: prime(),
  };
  const exponent = fixedBytes(BigUint64Array.BYTES_PER_ELEMENT);
  const isRead = key.read({
    n: numbers.n,
    e: exponent,
    "rsa-factor1": numbers.p,
    "rsa-factor2": numbers.q,
    "rsa-exponent1": numbers.dp,
    "rsa-exponent2": numbers.dq,
    "rsa-coefficient1": numbers.qInv,
  });
  if (isRead && new DataView(exponent.buffer).getBigUint64(0, true) === publicExponent) return numbers;
  overwrite(Object.values(numbers));
  return null;
}

function createLaneKey(
  { functions: mbx, addressOf, numberOf }: Library<typeof functions>,
  { bits, signing, checking, scratchBytes }: NonNullable<ReturnType<typeof methodsFor>>,
  numbers: NonNullable<ReturnType<typeof readNumbers>>,
): LaneKey {
  const bytes = numbers.n.length;
  const messages = paddedMessages(bytes);
  const [signatures, recovered] = [fixedBytes(lanes * bytes), fixedBytes(lanes * bytes)];
  const scratch = fixedBytes(scratchBytes);
  /** @param step from one lane's part to the next one's; without it all lanes have the same */
  const eight = (part: Uint8Array, step = 0) =>
    BigUint64Array.from({ length: lanes }, (_, lane) => numberOf(part) + BigInt(lane * step));
  const [from, to, back] = [eight(messages, bytes), eight(signatures, bytes), eight(recovered, bytes)];
  const of = {
    p: eight(numbers.p),
    q: eight(numbers.q),
    dp: eight(numbers.dp),
    dq: eight(numbers.dq),
    qInv: eight(numbers.qInv),
    n: eight(numbers.n),
  };

  /** Whether each lane's signature was made, and gives its message back under the public key. */
  function compute(): boolean {
    const [start, end, memory] = [addressOf(from), addressOf(to), addressOf(scratch)];
    const primes = [addressOf(of.p), addressOf(of.q)] as const;
    const exponents = [addressOf(of.dp), addressOf(of.dq), addressOf(of.qInv)] as const;
    return (
      mbx.mbx_rsa_private_crt_mb8(start, end, ...primes, ...exponents, bits, signing, memory) === 0 &&
      mbx.mbx_rsa_public_mb8(end, addressOf(back), addressOf(of.n), bits, checking, memory) === 0 &&
      Buffer.compare(messages, recovered) === 0
    );
  }

  return {
    sign(hashes) {
      // What is left of earlier hashes in further lanes is signed again, and not looked at.
      for (const [lane, hash] of hashes.entries()) messages.set(hash, (lane + 1) * bytes - hashBytes);
      const isRight = compute();
      const made = hashes.map((_, lane) => signatures.slice(lane * bytes, (lane + 1) * bytes));
      overwrite([signatures, recovered, scratch]);
      return isRight ? made : null;
    },
    free() {
      // Held until here, all of them: the pointers to them keep nothing alive.
      overwrite([...Object.values(numbers), scratch]);
    },
  };
}

function overwrite(parts: readonly Uint8Array[]): void {
  for (const part of parts) part.fill(0);
}

/** A message for each lane, with everything but the hash. */
function paddedMessages(bytes: number): Uint8Array<ArrayBuffer> {
  const messages = fixedBytes(lanes * bytes).fill(0xff);
  for (let start = 0; start < messages.length; start += bytes) {
    messages.set([0, 1], start);
    messages.set(digestInfo, start + bytes - hashBytes - digestInfo.length);
  }
  return messages;
}
