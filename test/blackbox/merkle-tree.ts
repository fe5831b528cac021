/**
 * A reader of the evidence log that is written from RFC 6962 (2.1) and from C2SP's signed-note and tlog-cosignature, and
 * shares nothing with the program's own.
 */
import { createHash, createPublicKey, verify } from "node:crypto";

const sha256 = (...parts: readonly (Uint8Array | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const nodeHash = (left: Buffer, right: Buffer) => sha256(Buffer.of(1), left, right);

/** The leaf of an envelope, by its signature. */
export function leafOf(jws: string): Buffer {
  return sha256(Buffer.of(0), "tvs/v1/attestation\n", sha256(jws));
}

/** The largest power of two that is less than a number of leaves. */
function splitOf(leaves: number): number {
  return 2 ** Math.ceil(Math.log2(leaves) - 1);
}

function next(proof: Buffer[]): Buffer {
  const hash = proof.pop();
  if (hash === undefined) throw new Error("the proof is too short");
  return hash;
}

/** @throws Error when hashes are left over */
function requireUsedUp(proof: readonly Buffer[]): void {
  if (proof.length > 0) throw new Error("the proof is too long");
}

/** The root that a leaf's audit path leads to (RFC 6962, 2.1.1, read backwards). */
export function rootOfPath(leaf: Buffer, { index, size, hashes }: Place): Buffer {
  const path = [...hashes];
  const root = rootIn(path, { leaf, index, size });
  requireUsedUp(path);
  return root;
}

type Place = { readonly index: number; readonly size: number; readonly hashes: readonly Buffer[] };

function rootIn(
  path: Buffer[],
  { leaf, index, size }: { leaf: Buffer; index: number; size: number },
): Buffer {
  if (size === 1) return leaf;
  const split = splitOf(size);
  const sibling = next(path);
  return index < split
    ? nodeHash(rootIn(path, { leaf, index, size: split }), sibling)
    : nodeHash(sibling, rootIn(path, { leaf, index: index - split, size: size - split }));
}

/** The roots of both trees by a consistency proof (RFC 6962, 2.1.2, read backwards), of which the smaller is known. */
export function rootsOfProof(
  known: Buffer,
  { from, to, hashes }: { from: number; to: number; hashes: readonly Buffer[] },
): { smaller: Buffer; larger: Buffer } {
  const proof = [...hashes];
  const roots = rootsIn(proof, { from, to, known });
  requireUsedUp(proof);
  return roots;
}

function rootsIn(
  proof: Buffer[],
  { from, to, known }: { from: number; to: number; known: Buffer | null },
): { smaller: Buffer; larger: Buffer } {
  if (from === to) {
    const root = known ?? next(proof);
    return { smaller: root, larger: root };
  }
  const split = splitOf(to);
  const sibling = next(proof);
  if (from <= split) {
    const { smaller, larger } = rootsIn(proof, { from, to: split, known });
    return { smaller, larger: nodeHash(larger, sibling) };
  }
  const { smaller, larger } = rootsIn(proof, { from: from - split, to: to - split, known: null });
  return { smaller: nodeHash(sibling, smaller), larger: nodeHash(sibling, larger) };
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
