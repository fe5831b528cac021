/**
 * Reads and signs checkpoints of the evidence log (C2SP tlog-checkpoint; decision D13.2). A checkpoint is a signed note
 * with the number of leaves and the root hash. The log's key makes a plain and a timestamped signature. The time of the
 * timestamped signature is the checkpoint's time.
 */

import { decodeBase64Hash, encodeBase64 } from "./base64.ts";
import { Refusal, refuse } from "./reasons.ts";
import {
  formatNote,
  formatTimedMessage,
  keyIdOf,
  type NoteSignature,
  readNote,
  refuseProof,
  type SignedNote,
  signatureTypes,
  type VerifierKey,
  verifyEd25519,
} from "./signed-note.ts";

/** A log's size and root at one time. */
export type TreeHead = {
  /** The log's name, which is also the name of the log's keys. */
  readonly origin: string;
  /** The number of leaves in the log. */
  readonly size: number;
  /** The root of the Merkle tree over the leaves, 32 bytes. */
  readonly root: Uint8Array<ArrayBuffer>;
  /** The lines after the root, whose meaning the format leaves to each log; absent without such lines. */
  readonly extensions?: readonly string[];
};

/** A tree head that a known key signed. */
export type Checkpoint = TreeHead & {
  /** When the checkpoint was signed, in POSIX seconds. */
  readonly seconds: number;
};

/** A function that signs with the log's Ed25519 key. The signature has 64 bytes. */
type SignNote = (message: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

export type CheckpointSigningKey = { readonly publicKey: Uint8Array; readonly sign: SignNote };

const timeBytes = 8;

const sizeForm = /^(?:0|[1-9][0-9]{0,15})$/;

/** Reads a size or an index: decimal, without leading zeros; null for any other text. */
export function parseDecimalCount(text: string): number | null {
  const count = sizeForm.test(text) ? Number(text) : null;
  return Number.isSafeInteger(count) ? count : null;
}

/** Writes the text of a checkpoint, which the plain signature covers. */
function formatTreeHead({ origin, size, root, extensions = [] }: TreeHead): string {
  return [origin, size, encodeBase64(root), ...extensions].map((line) => `${line}\n`).join("");
}

/**
 * Reads a checkpoint's text (C2SP tlog-checkpoint). The lines after the third are the log's own; a verifier ignores them.
 * @param text the signed text of a note
 * @returns the tree head, or the refusal `PROOF_MALFORMED`
 */
export function readTreeHead(text: string): TreeHead | Refusal {
  const lines = text.split("\n");
  const [origin = "", sizeText = "", rootText = "", ...more] = lines;
  if (lines.pop() !== "" || lines.length < 3 || lines.includes(""))
    return refuseProof("The checkpoint's text is not an origin, a size and a root, a line each.");
  const [size, root] = [parseDecimalCount(sizeText), decodeBase64Hash(rootText)];
  if (size === null) return refuseProof("The checkpoint's size is no decimal number.");
  if (root === null) return refuseProof("The checkpoint's root is not a hash in base64.");
  const extensions = more.slice(0, -1);
  return { origin, size, root, ...(extensions.length === 0 ? {} : { extensions }) };
}

/**
 * Signs a checkpoint with a plain and with a timestamped signature, and returns the signed note.
 * @param seconds the time of signing, POSIX seconds
 * @param key the log's key, as its public half and a function that signs
 */
export async function signCheckpoint(
  head: TreeHead,
  seconds: number,
  key: CheckpointSigningKey,
): Promise<string> {
  const text = formatTreeHead(head);
  const plain = await key.sign(new TextEncoder().encode(text));
  const timed = await key.sign(formatTimedMessage(text, seconds));
  const time = new Uint8Array(timeBytes);
  new DataView(time.buffer).setBigUint64(0, BigInt(seconds));
  const line = async (type: number, ...parts: Uint8Array[]): Promise<NoteSignature> => ({
    name: head.origin,
    keyId: await keyIdOf(head.origin, type, key.publicKey),
    signature: Uint8Array.from(parts.flatMap((part) => [...part])),
  });
  return formatNote(text, [
    await line(signatureTypes.plain, plain),
    await line(signatureTypes.timestamped, time, timed),
  ]);
}

/** Reads the time of a timestamped signature; null if the time is missing or not a safe integer. */
function readTime(signature: Uint8Array<ArrayBuffer>): number | null {
  if (signature.length <= timeBytes) return null;
  const seconds = Number(new DataView(signature.buffer).getBigUint64(0));
  return Number.isSafeInteger(seconds) ? seconds : null;
}

/** Verifies a key's plain and timestamped signatures, and returns the signed time; null if one is missing or wrong. */
async function verifyNoteTime(note: SignedNote, key: VerifierKey): Promise<number | null> {
  const timedId = await keyIdOf(key.name, signatureTypes.timestamped, key.publicKey);
  const of = (keyId: string) =>
    note.signatures.find((line) => line.name === key.name && line.keyId === keyId)?.signature;
  const [plain, timed] = [of(key.keyId), of(timedId)];
  if (plain === undefined || timed === undefined) return null;
  const seconds = readTime(timed);
  if (seconds === null) return null;
  const isSigned =
    (await verifyEd25519(key.publicKey, new TextEncoder().encode(note.text), plain)) &&
    (await verifyEd25519(key.publicKey, formatTimedMessage(note.text, seconds), timed.slice(timeBytes)));
  return isSigned ? seconds : null;
}

/**
 * Splits a log's origin. Each log of a service after the first has a number at the end of its origin (decision D13.4).
 * @param origin the first line of a checkpoint, or a key's name
 * @returns the origin of the service's first log, and the number of the log with `origin`, from 1
 */
export function splitLogOrigin(origin: string): { readonly service: string; readonly number: number } {
  const [, service = origin, number = "1"] = /^(.*\/log)\/([2-9]|[1-9][0-9]{1,8})$/.exec(origin) ?? [];
  return { service, number: Number(number) };
}

function refuseOrigin(origin: string, keys: readonly VerifierKey[]): Refusal {
  const { service } = splitLogOrigin(origin);
  const isOfService = keys.some(({ name }) => splitLogOrigin(name).service === service);
  return refuse(isOfService ? "LOG_KEY_MISSING" : "PROOF_OF_ANOTHER_LOG");
}

/**
 * Reads a checkpoint and verifies its log's two signatures. Signatures of unknown keys are ignored, as the format demands.
 * The caller checks that the time is not in the future.
 * @param note the whole note
 * @param keys the keys of the logs that are trusted
 * @returns the checkpoint, or the refusal `PROOF_MALFORMED`, `PROOF_OF_ANOTHER_LOG`, `LOG_KEY_MISSING` or
 * `CHECKPOINT_SIGNATURE_INVALID`
 * @throws DOMException when this machine's WebCrypto has no Ed25519
 */
export async function verifyCheckpoint(note: string | Uint8Array, keys: readonly VerifierKey[]) {
  const signed = readNote(note);
  if (signed instanceof Refusal) return signed;
  const head = readTreeHead(signed.text);
  if (head instanceof Refusal) return head;
  const ofOrigin = keys.filter((key) => key.name === head.origin);
  if (ofOrigin.length === 0) return refuseOrigin(head.origin, keys);
  for (const key of ofOrigin) {
    const seconds = await verifyNoteTime(signed, key);
    if (seconds !== null) return { ...head, seconds };
  }
  return refuse("CHECKPOINT_SIGNATURE_INVALID");
}
