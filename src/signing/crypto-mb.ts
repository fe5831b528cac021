import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { type CLibrary, findCLibrary, makeFixedBytes, openCLibrary, type Pointer } from "../foreign.ts";
import { hashLength } from "./engine.ts";

/** How many signatures one call of crypto_mb makes. A call takes the same time if it makes fewer. */
export const laneCount = 8;

export type CryptoMb = Awaited<ReturnType<typeof openCryptoMb>>;
export type CryptoMbKey = ReturnType<typeof createEightfoldKey>;

/** Finds Intel's crypto_mb library in the folders of Linux distributions. @returns undefined if it is not installed */
export const findCryptoMb = () => findCLibrary("libcrypto_mb.so.11");

/** Returns true if Linux reports that the processor has AVX-512 IFMA, the instructions that crypto_mb needs. */
export function canProcessorRunCryptoMb(): boolean {
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
  // Takes eight pointers each to inputs, outputs, p, q, dp, dq and 1/q; then the key's bits, method and scratch memory.
  mbx_rsa_private_crt_mb8: { args: [p, p, p, p, p, p, p, "i32", p, p], returns: "u32" },
  // Takes eight pointers each to inputs, outputs and moduli; then the key's bits, the method and scratch memory.
  mbx_rsa_public_mb8: { args: [p, p, p, "i32", p, p], returns: "u32" },
} as const;

/** The bytes between the padding and the hash in EMSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 9.2). */
const digestInfo = Buffer.from("003031300d060960864801650304020105000420", "hex");
/** 65537 in little-endian bytes: crypto_mb can check signatures with this public exponent only. */
const publicExponent = [1, 0, 1];

/** Opens Intel's crypto_mb in this thread. @throws Error if it cannot be loaded, or the processor lacks AVX-512 IFMA */
export async function openCryptoMb(file: string) {
  const library = await openCLibrary(file, functions);
  // This check is first: without AVX-512 IFMA, crypto_mb's other functions would crash the process.
  if (library.functions.mbx_is_crypto_mb_applicable(0) === 0)
    throw new Error("this processor has no AVX-512 IFMA");
  return {
    /** Loads a key. @returns null if crypto_mb does not support its size, public exponent or number of primes */
    loadKey(pkcs8: Uint8Array) {
      const numbers = readNumbers(pkcs8);
      const methods = numbers && methodsFor(library, numbers.n.length * 8);
      if (numbers !== null && methods === null) overwrite([numbers.n, ...numbers.crt]);
      return methods && createEightfoldKey(library, methods, numbers);
    },
  };
}

/** Finds the library's methods for keys of `bits` bits, and the size of their memory. @returns null if it has none */
function methodsFor({ functions: mbx }: CLibrary<typeof functions>, bits: number) {
  const [signing, checking] = [mbx.mbx_RSA_private_crt_Method(bits), mbx.mbx_RSA_pub65537_Method(bits)];
  if (signing === null || checking === null) return null;
  const scratchBytes = Math.max(...[signing, checking].map(mbx.mbx_RSA_Method_BufSize));
  return { bits, signing, checking, scratchBytes };
}

/** Reads an RSA key's modulus, p, q, dp, dq and 1/q (RFC 8017, A.1.2), little-endian; null if crypto_mb cannot use it. */
function readNumbers(pkcs8: Uint8Array) {
  const [key = pkcs8] = derValues(pkcs8);
  const [, , octets = pkcs8] = derValues(key);
  const [sequence = pkcs8] = derValues(octets);
  const [, n, e, , p, q, dp, dq, qInv, more] = derValues(sequence);
  if (!(n && e && p && q && dp && dq && qInv) || more !== undefined) return null;
  const bytes = n.length;
  if (e.join() !== publicExponent.join() || [p, q].some(({ length }) => length * 2 !== bytes)) return null;
  const turned = (number: Uint8Array, length: number) => {
    const fixed = makeFixedBytes(length);
    for (const [at, byte] of number.entries()) fixed[number.length - 1 - at] = byte;
    return fixed;
  };
  return { n: turned(n, bytes), crt: [p, q, dp, dq, qInv].map((number) => turned(number, bytes / 2)) };
}

/** Reads the contents of consecutive DER values (X.690, 8.1), without the leading zero byte of a positive number. */
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

function createEightfoldKey(
  { functions: mbx, addressOf, numberOf }: CLibrary<typeof functions>,
  { bits, signing, checking, scratchBytes }: NonNullable<ReturnType<typeof methodsFor>>,
  numbers: NonNullable<ReturnType<typeof readNumbers>>,
) {
  const bytes = numbers.n.length;
  const messages = paddedMessages(bytes);
  const [signatures, recovered] = [makeFixedBytes(laneCount * bytes), makeFixedBytes(laneCount * bytes)];
  const scratch = makeFixedBytes(scratchBytes);
  /** Makes eight pointers into an array, `step` bytes apart; with step 0 all lanes share one value. */
  const eight = (part: Uint8Array, step = 0) =>
    BigUint64Array.from({ length: laneCount }, (_, lane) => numberOf(part) + BigInt(lane * step));
  const [from, to, back] = [eight(messages, bytes), eight(signatures, bytes), eight(recovered, bytes)];
  const modulus = eight(numbers.n);
  const crt = numbers.crt.map((number) => eight(number));

  /** Signs in all lanes. @returns true if the public key recovers each lane's message from its signature */
  function compute(): boolean {
    const [start, end, memory] = [addressOf(from), addressOf(to), addressOf(scratch)];
    const parts = crt.map(addressOf) as [Pointer, Pointer, Pointer, Pointer, Pointer];
    return (
      mbx.mbx_rsa_private_crt_mb8(start, end, ...parts, bits, signing, memory) === 0 &&
      mbx.mbx_rsa_public_mb8(end, addressOf(back), addressOf(modulus), bits, checking, memory) === 0 &&
      Buffer.compare(messages, recovered) === 0
    );
  }

  return {
    /**
     * Signs up to {@link laneCount} SHA-256 hashes (RSASSA-PKCS1-v1_5, RFC 8017, 8.2).
     * @returns null if a signature is wrong: an error in CRT arithmetic would reveal the key (Boneh et al., 1997)
     */
    sign(hashes: readonly Uint8Array[]): Uint8Array[] | null {
      // An unused lane signs the hash of an earlier call again, and its signature is dropped.
      for (const [lane, hash] of hashes.entries()) messages.set(hash, (lane + 1) * bytes - hashLength);
      const isRight = compute();
      const made = hashes.map((_, lane) => signatures.slice(lane * bytes, (lane + 1) * bytes));
      overwrite([signatures, recovered, scratch]);
      return isRight ? made : null;
    },
    /** Overwrites the key's numbers. The reference to their arrays also keeps them in memory; pointers would not. */
    free: () => overwrite([numbers.n, ...numbers.crt, scratch]),
  };
}

function overwrite(parts: readonly Uint8Array[]): void {
  for (const part of parts) part.fill(0);
}

/** Makes the padded messages (PKCS #1 v1.5) that are signed together, one for each lane. `sign` adds each hash later. */
function paddedMessages(bytes: number): Uint8Array<ArrayBuffer> {
  const messages = makeFixedBytes(laneCount * bytes).fill(0xff);
  for (let start = 0; start < messages.length; start += bytes) {
    messages.set([0, 1], start);
    messages.set(digestInfo, start + bytes - hashLength - digestInfo.length);
  }
  return messages;
}
