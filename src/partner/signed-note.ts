/**
 * Reads and writes signed notes (C2SP signed-note, c2sp.org/signed-note): a text, a blank line, and signature lines. The
 * log signs its checkpoints in this form with Ed25519 (decision D13.2), and publishes its key as a verifier key.
 *
 * Reading is strict, so that a note has one spelling. The caller verifies the signatures.
 */

import { decodeBase64, encodeBase64 } from "./base64.ts";
import { concatenateBytes, createKeyImporter, fromHex, toHex } from "./bytes.ts";
import { type Refusal, refuse } from "./reasons.ts";
import { decodeUtf8 } from "./strict-json.ts";

/** The types of signatures: over a note's text, or over the text and a time (C2SP tlog-cosignature). */
export const signatureTypes = { plain: 0x01, timestamped: 0x04 } as const;

/** One signature line of a note, not verified. */
export type NoteSignature = {
  readonly name: string;
  /** The key's id, eight lower-case hex digits. A key has one id for each type of signature. */
  readonly keyId: string;
  /** The bytes after the id: 64 bytes of signature, preceded by 8 bytes of time in a timestamped signature. */
  readonly signature: Uint8Array<ArrayBuffer>;
};

export type SignedNote = {
  /** The signed text with its last line feed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
};

/** An Ed25519 key that a reader trusts to sign notes under a name. */
export type VerifierKey = {
  readonly name: string;
  /** The key id of plain signatures, which is also the id in the key's text. */
  readonly keyId: string;
  /** The public key, 32 bytes (RFC 8032). */
  readonly publicKey: Uint8Array<ArrayBuffer>;
};

const publicKeyBytes = 32;
const keyIdBytes = 4;

/** A note with more signatures is refused. The format requires a reader to accept at least sixteen. */
const maxSignatures = 64;
/** A note with more characters is refused, because anybody can add signature lines to a note that a reader keeps. */
const maxNoteCharacters = 64 * 1024;

const signatureLine = /^— (\S+) (\S+)$/u;
const verifierKeyForm = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/u;
// A key's name ends at a space in a signature line, and at a plus in a verifier key.
const notInName = /[\p{White_Space}\p{Cc}+]/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the format forbids exactly these
const forbiddenInNote = /[\u0000-\u0009\u000b-\u001f]/;

function isKeyName(text: string): boolean {
  return text !== "" && !notInName.test(text);
}

/**
 * Computes a key's id for one type of signature: the first four bytes of SHA-256 over name, line feed, type and key.
 * @param type one of `signatureTypes`
 * @param publicKey 32 bytes
 * @returns eight lower-case hex digits
 */
export async function keyIdOf(name: string, type: number, publicKey: Uint8Array): Promise<string> {
  const bytes = concatenateBytes([new TextEncoder().encode(`${name}\n`), Uint8Array.of(type), publicKey]);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).subarray(0, keyIdBytes));
}

/**
 * Writes the bytes that a timestamped signature covers (C2SP tlog-cosignature). A plain signature covers the text alone.
 * @param text the note's text with its last line feed
 * @param seconds the time, POSIX seconds
 */
export function formatTimedMessage(text: string, seconds: number): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`cosignature/v1\ntime ${seconds}\n${text}`);
}

/**
 * Writes a signed note.
 * @param text the signed text with its last line feed
 * @param signatures the signatures, one line for each, in this order
 */
export function formatNote(text: string, signatures: readonly NoteSignature[]): string {
  const lines = signatures.map(({ name, keyId, signature }) => {
    return `— ${name} ${encodeBase64(Uint8Array.of(...fromHex(keyId), ...signature))}\n`;
  });
  return `${text}\n${lines.join("")}`;
}

/** Makes the refusal of a malformed proof or checkpoint. */
export function refuseProof(detail: string): Refusal {
  return refuse("PROOF_MALFORMED", detail);
}

function readSignature(line: string): NoteSignature | null {
  const [, name = "", encoded = ""] = signatureLine.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || bytes === null || bytes.length <= keyIdBytes) return null;
  return { name, keyId: toHex(bytes.subarray(0, keyIdBytes)), signature: bytes.slice(keyIdBytes) };
}

function readSignatures(text: string): readonly NoteSignature[] | Refusal {
  if (text === "")
    return refuseProof("The checkpoint has no signatures, or a surplus blank line at its end.");
  const lines = text.split("\n");
  if (lines.pop() !== "") return refuseProof("The checkpoint ends in the midst of its signatures.");
  if (lines.length > maxSignatures)
    return refuseProof(`The checkpoint has over ${maxSignatures} signatures.`);
  const signatures = lines.map(readSignature).filter((signature) => signature !== null);
  if (signatures.length < lines.length)
    return refuseProof("A line after the checkpoint's text is no signature.");
  const keys = new Set(signatures.map(({ name, keyId }) => `${name} ${keyId}`));
  return keys.size === signatures.length ? signatures : refuseProof("Two signatures are of the same key.");
}

/**
 * Reads a signed note. The caller must verify a signature before using the text.
 * @param input the note, or its bytes
 * @returns the parts, or the refusal `PROOF_MALFORMED`
 */
export function readNote(input: string | Uint8Array): SignedNote | Refusal {
  const note = typeof input === "string" ? input : decodeUtf8(input);
  if (note === null) return refuseProof("The checkpoint is not valid UTF-8.");
  if (note.length > maxNoteCharacters) return refuseProof("The checkpoint is longer than any log writes.");
  if (forbiddenInNote.test(note) || !note.isWellFormed())
    return refuseProof("The checkpoint holds control characters.");
  const blank = note.lastIndexOf("\n\n");
  if (blank < 1) return refuseProof("The checkpoint has no signatures.");
  const signatures = readSignatures(note.slice(blank + 2));
  return "reason" in signatures ? signatures : { text: note.slice(0, blank + 1), signatures };
}

/**
 * Reads a verifier key (`name+id+key`), such as a log's key.
 * @returns null if the text is not a verifier key of Ed25519, or has an id that does not match name and key
 */
export async function readVerifierKey(text: string): Promise<VerifierKey | null> {
  const [, name = "", keyId = "", encoded = ""] = verifierKeyForm.exec(text) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || !name.isWellFormed() || bytes === null) return null;
  if (bytes.length !== 1 + publicKeyBytes || bytes[0] !== signatureTypes.plain) return null;
  const publicKey = bytes.slice(1);
  return (await keyIdOf(name, signatureTypes.plain, publicKey)) === keyId ? { name, keyId, publicKey } : null;
}

/**
 * Writes a verifier key (`name+id+key`).
 * @param name the key's name: for a log its origin
 * @param publicKey the Ed25519 key, 32 bytes
 */
export async function formatVerifierKey(name: string, publicKey: Uint8Array): Promise<string> {
  const keyId = await keyIdOf(name, signatureTypes.plain, publicKey);
  return `${name}+${keyId}+${encodeBase64(Uint8Array.from([signatureTypes.plain, ...publicKey]))}`;
}

const importOnce = createKeyImporter((publicKey: Uint8Array<ArrayBuffer>) =>
  crypto.subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"]),
);

/**
 * Checks an Ed25519 signature (RFC 8032) with WebCrypto.
 * @param publicKey 32 bytes that must not change, because the imported key is kept for this array
 * @param message the signed bytes
 * @param signature 64 bytes; a signature of another length is wrong
 * @throws DOMException when this machine's WebCrypto has no Ed25519
 */
export async function verifyEd25519(
  publicKey: Uint8Array<ArrayBuffer>,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  if (signature.length !== 64) return false;
  return crypto.subtle.verify("Ed25519", await importOnce(publicKey), signature, message);
}
