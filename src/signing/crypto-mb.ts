import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { type Address, findLibrary, fixedBytes, type Library, openLibrary } from "../foreign.ts";
import { hashBytes } from "./engine.ts";

/** How many signatures one call makes. The call costs the same for fewer. */
export const lanes = 8;

export type CryptoMb = Awaited<ReturnType<typeof openCryptoMb>>;
/** A private key that signs up to eight hashes in one call. */
export type LaneKey = ReturnType<typeof createLaneKey>;

/** The path of Intel's crypto_mb where distributions put it. */
export const findCryptoMb = () => findLibrary("libcrypto_mb.so.11");

/** Whether Linux reports the processor's instructions that crypto_mb uses. */
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

/** EMSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 9.2): the bytes between the padding and the hash. */
const digestInfo = Buffer.from("003031300d060960864801650304020105000420", "hex");
/** The only exponent that crypto_mb checks with: 65537, the least byte first. */
const publicExponent = [1, 0, 1];

/** Opens Intel's crypto_mb in this thread. @throws Error when it cannot be loaded, or the processor cannot */
export async function openCryptoMb(file: string) {
  const library = await openLibrary(file, functions);
  // Comes first: on another processor the other functions would end the process.
  if (library.functions.mbx_is_crypto_mb_applicable(0) === 0)
    throw new Error("this processor has no AVX-512 IFMA");
  return {
    /** @returns null for a PKCS #8 key of another size, exponent or number of primes than crypto_mb can use */
    loadKey(pkcs8: Uint8Array) {
      const numbers = readNumbers(pkcs8);
      const methods = numbers && methodsFor(library, numbers.n.length * 8);
      if (numbers !== null && methods === null) overwrite([numbers.n, ...numbers.crt]);
      return methods && createLaneKey(library, methods, numbers);
    },
  };
}

/** The library's methods for keys of a size, and the memory that they need; null for a size that it does not know. */
function methodsFor({ functions: mbx }: Library<typeof functions>, bits: number) {
  const [signing, checking] = [mbx.mbx_RSA_private_crt_Method(bits), mbx.mbx_RSA_pub65537_Method(bits)];
  if (signing === null || checking === null) return null;
  const scratchBytes = Math.max(...[signing, checking].map(mbx.mbx_RSA_Method_BufSize));
  return { bits, signing, checking, scratchBytes };
}

/** An RSA key's modulus, and p, q, dp, dq and 1/q (RFC 8017, A.1.2), the least byte first; null for an unusual key. */
function readNumbers(pkcs8: Uint8Array) {
  const [key = pkcs8] = derValues(pkcs8);
  const [, , octets = pkcs8] = derValues(key);
  const [sequence = pkcs8] = derValues(octets);
  const [, n, e, , p, q, dp, dq, qInv, more] = derValues(sequence);
  if (!(n && e && p && q && dp && dq && qInv) || more !== undefined) return null;
  const bytes = n.length;
  if (e.join() !== publicExponent.join() || [p, q].some(({ length }) => length * 2 !== bytes)) return null;
  const turned = (number: Uint8Array, length: number) => {
    const fixed = fixedBytes(length);
    for (const [at, byte] of number.entries()) fixed[number.length - 1 - at] = byte;
    return fixed;
  };
  return { n: turned(n, bytes), crt: [p, q, dp, dq, qInv].map((number) => turned(number, bytes / 2)) };
}

/** The contents of DER values that follow one another (X.690, 8.1), without the zero before a positive number. */
function derValues(der: Uint8Array): Uint8Array[] {
  const values: Uint8Array[] = [];
  for (let at = 1; at < der.length; at++) {
    let length = der[at++] ?? 0;
    if (length > 0x7f) {
      const start = at;
      at += length - 0x80;
      length = der.subarray(start, at).reduce((sum, byte) => sum * 256 + byte, 0);
    }
    const value = der.subarray(at, at + length);
    values.push(value[0] === 0 ? value.subarray(1) : value);
    at += length;
  }
  return values;
}

function createLaneKey(
  { functions: mbx, addressOf, numberOf }: Library<typeof functions>,
  { bits, signing, checking, scratchBytes }: NonNullable<ReturnType<typeof methodsFor>>,
  numbers: NonNullable<ReturnType<typeof readNumbers>>,
) {
  const bytes = numbers.n.length;
  const messages = paddedMessages(bytes);
  const [signatures, recovered] = [fixedBytes(lanes * bytes), fixedBytes(lanes * bytes)];
  const scratch = fixedBytes(scratchBytes);
  /** @param step from one lane's part to the next one's; without it all lanes have the same */
  const eight = (part: Uint8Array, step = 0) =>
    BigUint64Array.from({ length: lanes }, (_, lane) => numberOf(part) + BigInt(lane * step));
  const [from, to, back] = [eight(messages, bytes), eight(signatures, bytes), eight(recovered, bytes)];
  const modulus = eight(numbers.n);
  const crt = numbers.crt.map((number) => eight(number));

  /** Whether each lane's signature was made, and gives its message back under the public key. */
  function compute(): boolean {
    const [start, end, memory] = [addressOf(from), addressOf(to), addressOf(scratch)];
    const parts = crt.map(addressOf) as [Address, Address, Address, Address, Address];
    return (
      mbx.mbx_rsa_private_crt_mb8(start, end, ...parts, bits, signing, memory) === 0 &&
      mbx.mbx_rsa_public_mb8(end, addressOf(back), addressOf(modulus), bits, checking, memory) === 0 &&
      Buffer.compare(messages, recovered) === 0
    );
  }

  return {
    /**
     * Signs up to {@link lanes} SHA-256 hashes (RSASSA-PKCS1-v1_5, RFC 8017, 8.2).
     * @returns null when a signature is wrong: one with a fault in the CRT arithmetic would reveal the key (Boneh, DeMillo
     *   and Lipton, 1997)
     */
    sign(hashes: readonly Uint8Array[]): Uint8Array[] | null {
      // Unused lanes sign earlier hashes, and their results are dropped.
      for (const [lane, hash] of hashes.entries()) messages.set(hash, (lane + 1) * bytes - hashBytes);
      const isRight = compute();
      const made = hashes.map((_, lane) => signatures.slice(lane * bytes, (lane + 1) * bytes));
      overwrite([signatures, recovered, scratch]);
      return isRight ? made : null;
    },
    /** Overwrites the numbers. This closure also keeps them alive, which the pointers to them do not. */
    free: () => overwrite([numbers.n, ...numbers.crt, scratch]),
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
