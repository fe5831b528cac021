/**
 * A reader of the evidence log that is written from RFC 6962 (2.1) and from C2SP's signed-note and tlog-cosignature, and
 * shares nothing with the program's own.
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { mth } from "../fixtures/rfc6962.ts";

const sha256 = (...parts: readonly (Uint8Array | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

/** The largest power of two that is less than a number of leaves. */
function splitOf(leaves: number): number {
  return 2 ** Math.ceil(Math.log2(leaves) - 1);
}

type Place = { readonly index: number; readonly size: number; readonly hashes: readonly Buffer[] };

/** The root that a leaf's audit path leads to (RFC 6962, 2.1.1, read backwards). @throws Error for one of another length */
export function rootOfPath(leaf: Buffer, { index, size, hashes }: Place): Buffer {
  const sibling = hashes.at(-1);
  if (size === 1 && sibling === undefined) return leaf;
  if (size === 1 || sibling === undefined) throw new Error("the proof is too long, or too short");
  const split = splitOf(size);
  const rest = hashes.slice(0, -1);
  return index < split
    ? mth([rootOfPath(leaf, { index, size: split, hashes: rest }), sibling])
    : mth([sibling, rootOfPath(leaf, { index: index - split, size: size - split, hashes: rest })]);
}

export type Checkpoint = {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  readonly seconds: number;
};

/** Reads a checkpoint and verifies both of its signatures. @throws Error when anything is not as it must be */
export function openCheckpoint(note: string, key: string): Checkpoint {
  const [, text = "", signatures = ""] = /^([\s\S]*\n)\n((?:— [^\n]+\n)+)$/.exec(note) ?? [];
  const [origin = "", size = "", root = ""] = text.split("\n");
  const [, name = "", , encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(key) ?? [];
  const publicKey = Buffer.from(encoded, "base64").subarray(1);
  const keyId = (type: number) => sha256(`${name}\n`, Buffer.of(type), publicKey).subarray(0, 4);
  const lines = signatures
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "));
  const signed = (type: number) => {
    const of = lines.map(([, by, bytes = ""]) => ({ by, bytes: Buffer.from(bytes, "base64") }));
    const found = of.find(({ by, bytes }) => by === name && bytes.subarray(0, 4).equals(keyId(type)));
    if (found === undefined) throw new Error(`no signature of type ${type} by ${name}: ${note}`);
    return found.bytes.subarray(4);
  };
  const x = publicKey.toString("base64url");
  const verifier = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const timed = signed(4);
  const seconds = Number(timed.readBigUInt64BE());
  const isGenuine =
    origin === name &&
    verify(null, Buffer.from(text), verifier, signed(1)) &&
    verify(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), verifier, timed.subarray(8));
  if (!isGenuine) throw new Error(`not signed by ${key}: ${note}`);
  return { origin, size: Number(size), root: Buffer.from(root, "base64"), seconds };
}
