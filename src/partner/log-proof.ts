/**
 * Reads proofs that an envelope is in the evidence log (C2SP tlog-proof; decision D13.6): an index, the hashes from leaf to
 * root, and a checkpoint. The log had the envelope by the checkpoint's time, whatever time the envelope states.
 */

import { decodeBase64, decodeBase64Hash, encodeBase64, encodeBase64url } from "./base64.ts";
import { formatUnixSeconds } from "./date-time.ts";
import { decodeBytesOrText, decodeProofFile, removeByteOrderMark } from "./file-text.ts";
import type { CompactJws } from "./jws.ts";
import { type Checkpoint, parseDecimalCount, verifyCheckpoint } from "./log-checkpoint.ts";
import { findLogFork, type LogState } from "./log-state.ts";
import { isSameHash, leafHashOfAttestation, rootOfInclusionProof } from "./merkle-proof.ts";
import { Refusal, refuse } from "./reasons.ts";
import { readNote, readVerifierKey, refuseProof, type VerifierKey } from "./signed-note.ts";
import type { CheckOutcome, ClockOptions, LogEvidence } from "./verification.ts";
import { passedCheck, readClockOptions } from "./verification.ts";

/** A parsed proof; nothing in it is verified. */
type WrittenProof = {
  readonly index: number;
  /** The hashes from the leaf's sibling up to the root's child. */
  readonly hashes: readonly Uint8Array[];
  /** The checkpoint, a signed note. */
  readonly note: string;
};

/** The result of `openLogProof`. If `refusal` is not null, every envelope gets this refusal. */
export type LogProof =
  | { readonly refusal: Refusal }
  | (WrittenProof & { readonly refusal: null; readonly checkpoint: Checkpoint });

export type LogProofOptions = ClockOptions & {
  /** The keys of the trusted logs, which `readLogKeys` reads. */
  readonly logKeys: readonly VerifierKey[];
  /** The largest checkpoint of each log that you have seen. A proof with another tree of the same size is refused. */
  readonly logState?: LogState;
};

/** The proved entry of an envelope in the log. */
export type LoggedEntry = {
  readonly evidence: LogEvidence;
  readonly checkpoint: Checkpoint;
  readonly outcome: CheckOutcome;
};

const firstLine = "c2sp.org/tlog-proof@v1\n";
const whyResaved =
  "An editor has changed the proof's line ends, or put a mark before it: get the proof anew.";
/** The most hashes of a proof: the height of a tree of 2^53 leaves. */
const maxHashes = 53;

/** Removes the optional line `extra`, whose data a verifier ignores. The data must be base64. */
function removeExtraLine(lines: readonly string[]): readonly string[] | Refusal {
  const [first = ""] = lines;
  if (!first.startsWith("extra ")) return lines;
  const bytes = decodeBase64(first.slice("extra ".length));
  return bytes === null || bytes.length === 0
    ? refuseProof("The proof's extra data is not base64.")
    : lines.slice(1);
}

function readPath(lines: readonly string[]): Omit<WrittenProof, "note"> | Refusal {
  const [indexLine = "", ...path] = lines;
  const index = indexLine.startsWith("index ") ? parseDecimalCount(indexLine.slice("index ".length)) : null;
  if (index === null) return refuseProof("The proof does not say which entry of the log it is of.");
  if (path.length > maxHashes) return refuseProof("The proof has more hashes than any tree is high.");
  const hashes = path.map(decodeBase64Hash).filter((hash) => hash !== null);
  if (hashes.length < path.length) return refuseProof("A line of the proof is not a hash in base64.");
  return { index, hashes };
}

/** Writes a number of log entries, such as `1 entry`. */
export function formatEntries(size: number): string {
  return size === 1 ? "1 entry" : `${size} entries`;
}

/** A longer text is not searched for changes by mail or an editor: proofs are shorter. */
const maxSearchedCharacters = 64 * 1024;

/** Undoes what mail and editors change (quoting, folding, line ends), to tell a changed proof from a malformed one. */
function undoMailChanges(text: string): string {
  const lines = removeByteOrderMark(text).split(/\r\n?|\n/);
  const unquoted = lines.map((line) => line.replace(/^[ \t]*(?:>[ \t]?)*/, "").trimEnd()).join("\n");
  const isQuotedPrintable = unquoted.includes("=3D");
  const decoded = isQuotedPrintable
    ? unquoted.replaceAll("=\n", "").replaceAll("=E2=80=94", "—").replaceAll("=3D", "=")
    : unquoted;
  const plain = decoded.trim();
  const signaturesAt = plain.lastIndexOf("\n\n") + 2;
  const signatures = plain.slice(signaturesAt).split(/\n(?=— )/);
  const unfolded = signatures.map((one) => {
    const [dash, name, ...parts] = one.split(/\s+/);
    return `${dash} ${name} ${parts.join("")}\n`;
  });
  return plain.slice(0, signaturesAt) + unfolded.join("");
}

function isWellFormed(text: string): boolean {
  const written = readProof(text);
  return !(written instanceof Refusal) && !(readNote(written.note) instanceof Refusal);
}

/** Adds the last line feed, which pasting removes, if the proof is well formed with it. */
function addLastLineFeed(text: string): string {
  return !text.endsWith("\n") && isWellFormed(`${text}\n`) ? `${text}\n` : text;
}

/** Replaces a proof's refusal by `PROOF_UNREADABLE`, which is undecidable, if mail or an editor changed the proof. */
function explainByMailChange(refusal: Refusal, text: string): Refusal {
  const isMalformed = refusal.reason === "PROOF_MALFORMED" || refusal.reason === "PROOF_UNREADABLE";
  if (!isMalformed || text.length > maxSearchedCharacters) return refusal;
  const plain = undoMailChanges(text);
  if (plain === text || !isWellFormed(plain)) return refusal;
  return refuse("PROOF_UNREADABLE", refusal.reason === "PROOF_MALFORMED" ? refusal.detail : whyResaved);
}

function readProof(text: string): WrittenProof | Refusal {
  if (!text.startsWith(firstLine)) return refuse("PROOF_UNREADABLE");
  const blank = text.indexOf("\n\n");
  if (blank === -1) return refuseProof("The proof ends before its checkpoint.");
  const lines = removeExtraLine(text.slice(firstLine.length, blank).split("\n"));
  if (lines instanceof Refusal) return lines;
  const path = readPath(lines);
  return path instanceof Refusal ? path : { ...path, note: text.slice(blank + 2) };
}

/** Writes the text of a proof's file. */
export function formatLogProof({ index, hashes, note }: WrittenProof): string {
  return `${firstLine}${[`index ${index}`, ...hashes.map(encodeBase64), "", note].join("\n")}`;
}

async function openProof(
  source: string | Uint8Array,
  { logKeys, logState = new Map() }: LogProofOptions,
  latestSeconds: number,
): Promise<LogProof> {
  const given = typeof source === "string" ? source : decodeProofFile(source);
  if (given === null) return { refusal: refuseProof("The proof is not valid UTF-8.") };
  const text = addLastLineFeed(given);
  const written = readProof(text);
  if (written instanceof Refusal) return { refusal: explainByMailChange(written, text) };
  const checkpoint = await verifyCheckpoint(written.note, logKeys);
  if (checkpoint instanceof Refusal) return { refusal: explainByMailChange(checkpoint, text) };
  const isFuture = checkpoint.seconds > latestSeconds;
  const refusal = isFuture ? refuse("CHECKPOINT_IN_FUTURE") : findLogFork(checkpoint, logState);
  return refusal === null ? { ...written, checkpoint, refusal } : { refusal };
}

/**
 * Opens a proof: verifies its form and its checkpoint's signatures and time, and compares the checkpoint with `logState`.
 * A wrong proof does not throw: the result has the refusal that every envelope gets.
 * @param source the file, as text or bytes
 * @returns the proof, for the option `proof` of `verifyEnvelope`
 * @throws TypeError if the date is invalid or the tolerance negative
 * @example
 * ```ts
 * const logKeys = await readLogKeys(await (await fetch(`${service}/v1/inter-agency/log/key`)).text());
 * if (logKeys instanceof Refusal) throw new Error(logKeys.detail);
 * const proof = await openLogProof(proofFile, { logKeys });
 * const verdict = await verifyEnvelope(text, { keys, issuer, audience, proof });
 * ```
 */
export async function openLogProof(source: string | Uint8Array, options: LogProofOptions): Promise<LogProof> {
  const { nowSeconds, toleranceSeconds } = readClockOptions(options);
  // Only the cryptography throws here, for example in a browser without Ed25519.
  return openProof(source, options, nowSeconds + toleranceSeconds).catch(() => ({
    refusal: refuse("VERIFIER_FAILED"),
  }));
}

/**
 * Checks that a proof belongs to an envelope.
 * @returns the entry in the log; the refusal of the proof, or `PROOF_MALFORMED` or `PROOF_OF_ANOTHER_ENVELOPE`
 * @throws DOMException when this machine has no WebCrypto
 */
export async function verifyLogEntry(proof: LogProof, jws: CompactJws): Promise<LoggedEntry | Refusal> {
  if (proof.refusal !== null) return proof.refusal;
  const { index, hashes, checkpoint } = proof;
  const { origin, size, seconds } = checkpoint;
  // Canonical base64url has one spelling, so encoding the signature gives the JWS exactly as it was read.
  const text = `${new TextDecoder().decode(jws.signingInput)}.${encodeBase64url(jws.signature)}`;
  const root = await rootOfInclusionProof({
    leafHash: await leafHashOfAttestation(text),
    index,
    size,
    hashes,
  });
  if (root === null)
    return refuseProof(`No entry ${index} of a log of ${size} has a proof of ${hashes.length} hashes.`);
  if (!isSameHash(root, checkpoint.root)) return refuse("PROOF_OF_ANOTHER_ENVELOPE");
  const checkpointAt = formatUnixSeconds(seconds);
  const detail = `Entry ${index} of the log ${origin}, which had ${formatEntries(size)} on ${checkpointAt}.`;
  const evidence = { origin, index, size, checkpointAt, precedesCompromise: false };
  return { evidence, checkpoint, outcome: passedCheck(detail) };
}

/**
 * Reads the public keys of logs, one verifier key on each line, as `/log/key` and `tvs log key` print them.
 * @param source one key, or several lines with a key each
 * @returns the keys, or the refusal `LOG_KEY_UNREADABLE`
 * @throws DOMException when this machine has no WebCrypto
 */
export async function readLogKeys(source: string | Uint8Array): Promise<readonly VerifierKey[] | Refusal> {
  const text = decodeBytesOrText(source) ?? "";
  const keys: VerifierKey[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const key = line === "" ? null : await readVerifierKey(line);
    if (key !== null) keys.push(key);
    else if (line !== "") return refuse("LOG_KEY_UNREADABLE", `Line ${index + 1} is not the key of a log.`);
  }
  return keys.length === 0 ? refuse("LOG_KEY_UNREADABLE", "There is no key.") : keys;
}
