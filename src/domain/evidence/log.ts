/** Creates a register's logs and their keys, links and verifies checkpoints, and makes the public proofs (D13.1). */

import { Buffer } from "node:buffer";
import { createPrivateKey, generateKeyPairSync, hash, type KeyObject, sign } from "node:crypto";
import type { CheckpointSigningKey, TreeHead } from "../../partner/log-checkpoint.ts";
import { readTreeHead, splitLogOrigin, verifyCheckpoint } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import { formatVerifierKey, readNote, readVerifierKey } from "../../partner/signed-note.ts";
import type { Log, LogFigures, LogStore, StoredCheckpoint } from "../../store/evidence/log.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { areBytesEqual, type Secrets } from "../secrets.ts";
import { makeConsistencyProof, makeInclusionProof, readLeafHash } from "./tree.ts";

export type EvidenceReader = ReturnType<typeof createEvidenceReader>;
/** The proof that a leaf is in a checkpoint's tree: index, tree size, audit path, and the checkpoint's signed note. */
export type LeafInclusionProof = NonNullable<Awaited<ReturnType<EvidenceReader["inclusion"]>>>;

/** Makes a log's name from the issuer's URL, without scheme, spaces and plus signs (C2SP signed-note). */
export function logOriginOf(issuer: string, number: number): string {
  const { host, pathname } = new URL(issuer);
  const name = `${host}${pathname.replace(/\/+$/, "")}`.replaceAll("+", "%2B");
  return number === 1 ? `${name}/log` : `${name}/log/${number}`;
}

/** Formats a log's public key as a verifier key (C2SP signed-note). */
export function verifierKeyOf({ origin, publicKey }: Pick<Log, "origin" | "publicKey">): Promise<string> {
  return formatVerifierKey(origin, publicKey);
}

/**
 * Decrypts a log's private key.
 * @throws TvsError MASTER_KEY_WRONG; REFUSED if the log has ended, because beginning the next log destroys the key
 */
export function decryptCheckpointKey(
  { sealed, origin, publicKey }: Log,
  secrets: Pick<Secrets, "open">,
): CheckpointSigningKey {
  if (sealed === null) throw new TvsError("REFUSED", `the log ${origin} has ended`);
  const key = Buffer.from(secrets.open(sealed, origin));
  const privateKey: KeyObject = createPrivateKey({ key, format: "der", type: "pkcs8" });
  key.fill(0);
  return { publicKey, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}

/** Computes the MAC over a log's row. The sealed key is left out, because beginning the next log deletes the key. */
function macOf(log: Omit<Log, "sealed" | "mac">, secrets: Pick<Secrets, "mac">) {
  const { number, origin, publicKey, begunAt, reason, previous, firstSize } = log;
  const key = Buffer.from(publicKey).toString("base64");
  return secrets.mac("log", JSON.stringify([number, origin, key, begunAt, reason, previous, firstSize]));
}

/**
 * Whether a process with the master key began this log. Nobody else can make the log's MAC.
 * @param secrets null if the caller has no master key; every log is then accepted
 */
export function isGenuineLog(log: Log, secrets: Pick<Secrets, "mac"> | null): boolean {
  return secrets === null || areBytesEqual(macOf(log, secrets), log.mac);
}

export function createLog(
  { secrets, issuer, clock }: LogCreation,
  begun: Pick<Log, "number" | "reason" | "previous" | "firstSize">,
): Log {
  const origin = logOriginOf(issuer, begun.number);
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const pkcs8 = privateKey.export({ type: "pkcs8", format: "der" });
  const sealed = secrets.seal(pkcs8, origin);
  pkcs8.fill(0);
  const { x = "" } = publicKey.export({ format: "jwk" });
  const log = { ...begun, origin, publicKey: Buffer.from(x, "base64url"), begunAt: clock.now() };
  return { ...log, sealed, mac: macOf(log, secrets) };
}

const predecessorPrefix = "previous ";

/** Makes a checkpoint's extension line with the hash of its predecessor. @param note the predecessor; null if none */
export function makePredecessorLine(note: string | null): string {
  return `${predecessorPrefix}${hash("sha256", note ?? "", "base64")}`;
}

/** Finds a checkpoint's extension line with the hash of its predecessor. */
export function findPredecessorLine({ extensions = [] }: Pick<TreeHead, "extensions">): string | undefined {
  return extensions.find((line) => line.startsWith(predecessorPrefix));
}

/** Reads a checkpoint without verifying it. @returns null if the note is not a checkpoint */
export function readCheckpointHead(note: string | null | undefined): TreeHead | null {
  const signed = readNote(note ?? "");
  const head = signed instanceof Refusal ? signed : readTreeHead(signed.text);
  return head instanceof Refusal ? null : head;
}

/** Reads a checkpoint without verifying it. @throws TvsError INPUT_UNREADABLE */
export function requireCheckpointHead(note: string): TreeHead {
  const found = readCheckpointHead(note);
  if (found !== null) return found;
  throw new TvsError("INPUT_UNREADABLE", "a checkpoint of the evidence log cannot be read");
}

/** Whether checkpoint `note` is of an earlier log than `other`, or of a smaller tree of the same log. */
export function isEarlierCheckpoint(note: string, other: string): boolean {
  const [one, another] = [requireCheckpointHead(note), requireCheckpointHead(other)];
  const logs = splitLogOrigin(one.origin).number - splitLogOrigin(another.origin).number;
  return logs < 0 || (logs === 0 && one.size < another.size);
}

/** Milliseconds without a new checkpoint that count as late. A working leader signs one every 30 seconds. */
const lateCheckpointMs = 5 * 60_000;

/** Computes how long (ms) the oldest uncovered attestation has waited for a checkpoint. @returns null if not late */
export function checkpointDelayOf({ uncoveredSince }: LogFigures, now: number): number | null {
  if (uncoveredSince === null || now - uncoveredSince < lateCheckpointMs) return null;
  return now - uncoveredSince;
}

export function formatLeafCount(size: number): string {
  return size === 1 ? "1 leaf" : `${size} leaves`;
}

/** Reads the first six bytes of a leaf hash as a number, the key in the index of leaf hashes. */
export function leafHashPrefixOf(leafHash: Uint8Array): number {
  return Buffer.from(leafHash.buffer, leafHash.byteOffset, leafHash.length).readUIntBE(0, 6);
}

type LogCreation = { readonly secrets: Secrets; readonly issuer: string; readonly clock: Clock };

/** Begins the first log if the register has none. Replaces an empty first log if the issuer has changed. */
export async function ensureFirstLog({
  store,
  ...beginning
}: LogCreation & { store: LogStore }): Promise<void> {
  const [state, found] = [await store.state(), (await store.logs()).at(-1)];
  const isNamed = found?.origin === logOriginOf(beginning.issuer, 1);
  if (found !== undefined && (isNamed || found.number > 1 || (await store.size()) > 0)) return;
  const log = createLog(beginning, { number: 1, reason: null, previous: null, firstSize: 0 });
  await store.begin(log, state, null);
}

/** Creates the reader of the log's public part: keys, checkpoints and proofs. */
export function createEvidenceReader(store: LogStore) {
  async function findLeafIndex(wanted: Uint8Array): Promise<number | null> {
    for (const id of await store.withPrefix(leafHashPrefixOf(wanted))) {
      const leaf = await readLeafHash(id - 1, store.tiles);
      if (leaf !== null && isSameHash(leaf, wanted)) return id - 1;
    }
    return null;
  }

  return {
    logs: store.logs,
    newest: store.newest,
    /**
     * Proves that a leaf is in the log.
     * @param size the size of a stored checkpoint; by default the smallest one that covers the leaf
     * @returns null if no leaf has this hash, or no such checkpoint covers the leaf
     */
    async inclusion(leafHash: Uint8Array, size?: number) {
      const index = await findLeafIndex(leafHash);
      if (index === null || (size !== undefined && size <= index)) return null;
      const checkpoint = await store.covering(size ?? index + 1);
      if (checkpoint === null || (size !== undefined && checkpoint.size !== size)) return null;
      const hashes = await makeInclusionProof(index, checkpoint.size, store.tiles);
      return { index, size: checkpoint.size, hashes, checkpoint: checkpoint.note };
    },
    /** Proves that the tree of `to` leaves extends that of `from` leaves. @returns null if no checkpoint covers `to` */
    async consistency(from: number, to: number): Promise<Uint8Array[] | null> {
      const newest = await store.newest();
      return newest === null || to > newest.size ? null : makeConsistencyProof(from, to, store.tiles);
    },
  };
}

/**
 * Verifies a stored checkpoint with the key of its own log.
 * @returns null if that key has not signed the note, or the sizes in the note and the row differ
 */
export async function verifyStoredCheckpoint(
  { log, size, note }: Pick<StoredCheckpoint, "log" | "size" | "note">,
  logs: readonly Log[],
) {
  const own = logs.find(({ number }) => number === log);
  const key = own && (await readVerifierKey(await verifierKeyOf(own)));
  const opened = await verifyCheckpoint(note, key ? [key] : []);
  return opened instanceof Refusal || opened.size !== size ? null : opened;
}
