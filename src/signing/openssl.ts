import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createAdmission, createLoad } from "./admission.ts";
import type { SigningBoard } from "./board.ts";
import { createCalls } from "./calls.ts";
import { type Engine, keyNotLoaded } from "./engine.ts";
import { knownInput, knownKey, proveSigning } from "./known-answer.ts";
import { findLibcrypto, type Libcrypto, type LoadedKey, openLibcrypto } from "./libcrypto.ts";
import { createSigningLoop } from "./loop.ts";
import { createOpensslKeys, type OpensslKey } from "./openssl-keys.ts";

type OpensslOptions = {
  readonly secrets: Secrets;
  /** Path of libcrypto; without it, where distributions put it. */
  readonly library?: string | undefined;
  /** Where this thread shares with the others; without it, it signs alone. */
  readonly board?: SigningBoard | undefined;
};

/** Fits the signing input of nearly every envelope; a longer one is hashed elsewhere. */
const inputBytes = 16 * 1024;
/** A signature of a 4096-bit key. */
const outputBytes = 512;

/**
 * Signs with the machine's OpenSSL in the calling thread: nothing is handed over but what other threads have time
 * for.
 * @throws Error with the reason when OpenSSL cannot be used here
 */
export async function openOpenssl(options: OpensslOptions): Promise<Engine> {
  const library = options.library ?? findLibcrypto();
  if (library === undefined) throw new Error("there is no libcrypto.so.3 on this machine");
  const libcrypto = await openLibcrypto(library);
  const signatureMs = await tryOut(libcrypto);
  const keys = createOpensslKeys(libcrypto, options.secrets);
  // Without a bell that can be listened to, no thread could be woken for another.
  const board = "waitAsync" in Atomics ? options.board : undefined;
  const admission = createAdmission(board ?? createLoad(1), signatureMs);
  const calls = createCalls<OpensslKey>(admission);
  const pen = createPen(libcrypto, admission.learn);
  const loop = createSigningLoop({
    calls,
    board,
    sign({ key, input, resolve, reject }) {
      const signature = pen.sign(key.loaded, input);
      if (signature === null) reject(new TvsError("SIGNER_UNAVAILABLE", "OpenSSL could not sign; try again"));
      else resolve(Buffer.from(signature).toString("base64url"));
    },
    hasKey: (kid) => keys.find(kid) !== undefined,
    signFor(kid, hash) {
      const key = keys.find(kid);
      return key === undefined ? null : pen.signHash(key.loaded, hash);
    },
  });
  return {
    name: "openssl",
    description: `OpenSSL ${libcrypto.version}, ${inWords(options.board?.threads ?? 1)}`,
    signatureMs,
    async load(ring) {
      keys.change(ring);
      // From now on this thread can help others, which its first turn tells them.
      loop.wake();
    },
    async sign(kid, inputs, signOptions) {
      const key = keys.find(kid);
      if (key === undefined) throw keyNotLoaded();
      // A call keeps its key: what was asked before a rotation is still signed after it.
      key.users++;
      try {
        const signatures = calls.add({ kid, key, inputs, bulk: signOptions?.bulk === true });
        loop.wake();
        return await signatures;
      } finally {
        key.users--;
        keys.freeUnused();
      }
    },
    async close() {
      loop.close();
      calls.refuseAll();
      keys.change(null);
    },
  };
}

const inWords = (threads: number) => `${threads} ${threads === 1 ? "thread" : "threads"}`;

/**
 * Signs in buffers that OpenSSL knows, and leaves nothing in them. A signature is good until the next one; it is null
 * when OpenSSL refuses.
 * @param onSigned told how long each signature took, in milliseconds
 */
function createPen(libcrypto: Libcrypto, onSigned: (ms: number) => void) {
  const [input, output] = [new Uint8Array(inputBytes), new Uint8Array(outputBytes)];
  const buffers = libcrypto.bindBuffers(input, output);
  const encoder = new TextEncoder();

  function write(key: LoadedKey, length: number, hashed: boolean): Uint8Array | null {
    const startedAt = performance.now();
    const signed = buffers.sign(key, length, { hashed });
    onSigned(performance.now() - startedAt);
    input.fill(0, 0, length);
    return signed === 0 ? null : output.subarray(0, signed);
  }

  function signHash(key: LoadedKey, hash: Uint8Array): Uint8Array | null {
    input.set(hash);
    return write(key, hash.length, true);
  }

  return {
    sign(key: LoadedKey, text: string): Uint8Array | null {
      const { read, written } = encoder.encodeInto(text, input);
      if (read === text.length) return write(key, written, false);
      input.fill(0);
      return signHash(key, createHash("sha256").update(text).digest());
    },
    signHash,
  };
}

/**
 * Signs the known input with the known key.
 * @returns how long one signature takes, in milliseconds
 * @throws Error when the signature is not the known one
 */
async function tryOut(libcrypto: Libcrypto): Promise<number> {
  const pen = createPen(libcrypto, () => {});
  const key = libcrypto.loadKey(knownKey());
  if (key === null) throw new Error("OpenSSL does not read the test key");
  const signatureMs = await proveSigning("OpenSSL", () =>
    Buffer.from(pen.sign(key, knownInput) ?? []).toString("base64url"),
  );
  key.free();
  return signatureMs;
}
