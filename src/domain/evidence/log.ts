/** The evidence log: its names and keys, what the database keeps of it, and what it proves (decision D13.1). */

import { Buffer } from "node:buffer";
import { createPrivateKey, generateKeyPairSync, hash, type KeyObject, sign } from "node:crypto";
import {
  type CheckpointKey,
  openCheckpoint,
  readOrigin,
  readTreeHead,
  type TreeHead,
} from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import { formatVerifierKey, readNote, readVerifierKey, type VerifierKey } from "../../partner/signed-note.ts";
import type { Log, LogFigures, LogProgress, LogStore, StoredCheckpoint } from "../../store/evidence/log.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { equalBytes, type Secrets } from "../secrets.ts";
import { consistencyProof, inclusionProof, leafAt } from "./tree.ts";

/** A leaf in a tree that a checkpoint signs for. */
export type Inclusion = {
  readonly index: number;
  readonly size: number;
  /** From the leaf's sibling upwards. */
  readonly hashes: readonly Uint8Array[];
  /** The signed note. */
  readonly checkpoint: string;
};

export type EvidenceReader = ReturnType<typeof createEvidenceReader>;

/** The name of a log: the issuer without its scheme, which must hold neither spaces nor a plus (C2SP signed-note). */
export function originOf(issuer: string, number: number): string {
  const { host, pathname } = new URL(issuer);
  const name = `${host}${pathname.replace(/\/+$/, "")}`.replaceAll("+", "%2B");
  return number === 1 ? `${name}/log` : `${name}/log/${number}`;
}

/** The text by which others know a log's key (C2SP signed-note, verifier keys). */
export function verifierKeyOf({ origin, publicKey }: Pick<Log, "origin" | "publicKey">): Promise<string> {
  return formatVerifierKey(origin, publicKey);
}

/** The keys that checkpoints of these logs are verified with. A log whose stored name or key is malformed has none. */
export async function openingKeysOf(logs: readonly Log[]): Promise<VerifierKey[]> {
  const keys = await Promise.all(logs.map(async (log) => readVerifierKey(await verifierKeyOf(log))));
  return keys.filter((key) => key !== null);
}

/** @throws TvsError REFUSED for a log whose private key was destroyed, MASTER_KEY_WRONG */
export function checkpointKeyOf(
  { sealed, origin, publicKey }: Log,
  secrets: Pick<Secrets, "open">,
): CheckpointKey {
  if (sealed === null) throw new TvsError("REFUSED", `the log ${origin} has ended`);
  const key = Buffer.from(secrets.open(sealed, origin));
  const privateKey: KeyObject = createPrivateKey({ key, format: "der", type: "pkcs8" });
  key.fill(0);
  return { publicKey, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}

type Named = Pick<Log, "number" | "origin" | "publicKey" | "begunAt" | "reason" | "previous" | "firstSize">;

function macOf(
  { number, origin, publicKey, begunAt, reason, previous, firstSize }: Named,
  secrets: Pick<Secrets, "mac">,
) {
  const key = Buffer.from(publicKey).toString("base64");
  return secrets.mac("log", JSON.stringify([number, origin, key, begunAt, reason, previous, firstSize]));
}

/** Whether a process that has the master key began this log. */
export function isOwnLog(log: Log, secrets: Pick<Secrets, "mac">): boolean {
  return equalBytes(macOf(log, secrets), log.mac);
}

/** Makes a log with a new key. */
export function newLog(
  { secrets, issuer, clock }: Beginning,
  begun: Pick<Log, "number" | "reason" | "previous" | "firstSize">,
): Log {
  const origin = originOf(issuer, begun.number);
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const pkcs8 = privateKey.export({ type: "pkcs8", format: "der" });
  const sealed = secrets.seal(pkcs8, origin);
  pkcs8.fill(0);
  const { x = "" } = publicKey.export({ format: "jwk" });
  const raw = new Uint8Array(Buffer.from(x, "base64url"));
  const log = { ...begun, origin, publicKey: raw, begunAt: clock.now() };
  return { ...log, sealed, mac: macOf(log, secrets) };
}

const linkName = "previous ";

/** The extension line that names the checkpoint before. @param note that checkpoint; null for the first */
export function linkTo(note: string | null): string {
  return `${linkName}${hash("sha256", note ?? "", "base64")}`;
}

/** The line of a checkpoint that names the checkpoint before. */
export function linkOf({ extensions = [] }: Pick<TreeHead, "extensions">): string | undefined {
  return extensions.find((line) => line.startsWith(linkName));
}

/** Reads a note without verifying it; null when it is not a checkpoint. */
export function headIn(note: string | null | undefined): TreeHead | null {
  const signed = readNote(note ?? "");
  const head = signed instanceof Refusal ? signed : readTreeHead(signed.text);
  return head instanceof Refusal ? null : head;
}

/** @throws TvsError INPUT_UNREADABLE */
export function treeHeadOf(note: string): TreeHead {
  const found = headIn(note);
  if (found !== null) return found;
  throw new TvsError("INPUT_UNREADABLE", "a checkpoint of the evidence log cannot be read");
}

export function numberOf(origin: string): number {
  return readOrigin(origin).number;
}

/** Whether a checkpoint is of an earlier log than another one, or of a smaller tree of the same log. */
export function isBefore(note: string, other: string): boolean {
  const [one, another] = [treeHeadOf(note), treeHeadOf(other)];
  const logs = numberOf(one.origin) - numberOf(another.origin);
  return logs < 0 || (logs === 0 && one.size < another.size);
}

/** Whether there is something that no checkpoint of the newest log covers. */
export function isSignable({ size, signedSize, waiting }: LogProgress): boolean {
  return waiting > 0 || size > signedSize;
}

/** Checkpoints come every 30 seconds; an attestation that waits for so long shows that something is stuck. */
const lateCheckpointMs = 5 * 60_000;

/** How long an attestation has waited for its checkpoint, in milliseconds; null while that is as it should be. */
export function checkpointLateness({ uncoveredSince }: LogFigures, now: number): number | null {
  if (uncoveredSince === null || now - uncoveredSince < lateCheckpointMs) return null;
  return now - uncoveredSince;
}

/** How many leaves, in words. */
export function countLeaves(size: number): string {
  return size === 1 ? "1 leaf" : `${size} leaves`;
}

/** The first six bytes of a leaf hash, as a number: the index of leaf hashes is over them. */
export function prefixOf(leafHash: Uint8Array): number {
  return Buffer.from(leafHash.buffer, leafHash.byteOffset, leafHash.length).readUIntBE(0, 6);
}

type Beginning = { readonly secrets: Secrets; readonly issuer: string; readonly clock: Clock };

/** Begins the first log, if there is none. A log without a leaf is renamed when the issuer is another. */
export async function ensureLog({ store, ...beginning }: Beginning & { store: LogStore }): Promise<void> {
  const [state, found] = [await store.state(), (await store.logs()).at(-1)];
  const isNamed = found?.origin === originOf(beginning.issuer, 1);
  if (found !== undefined && (isNamed || found.number > 1 || (await store.size()) > 0)) return;
  const log = newLog(beginning, { number: 1, reason: null, previous: null, firstSize: 0 });
  await store.begin(log, state, null);
}

/** Reads what everybody may know of the log. */
export function createEvidenceReader(store: LogStore) {
  async function find(wanted: Uint8Array): Promise<number | null> {
    for (const id of await store.withPrefix(prefixOf(wanted))) {
      const leaf = await leafAt(id - 1, store.tiles);
      if (leaf !== null && isSameHash(leaf, wanted)) return id - 1;
    }
    return null;
  }

  return {
    /** Oldest first. */
    logs: store.logs,
    /** The newest checkpoint; null before the first. */
    newest: store.newest,
    /**
     * @param size of a checkpoint; without it, the earliest checkpoint that covers the leaf counts
     * @returns null when no leaf has this hash, or no checkpoint covers the leaf
     */
    async inclusion(leafHash: Uint8Array, size?: number): Promise<Inclusion | null> {
      const index = await find(leafHash);
      if (index === null || (size !== undefined && size <= index)) return null;
      const checkpoint = await store.covering(size ?? index + 1);
      if (checkpoint === null || (size !== undefined && checkpoint.size !== size)) return null;
      const hashes = await inclusionProof(index, checkpoint.size, store.tiles);
      return { index, size: checkpoint.size, hashes, checkpoint: checkpoint.note };
    },
    /**
     * Between two sizes of the tree, 1 ≤ from ≤ to.
     * @returns null when no checkpoint covers `to` leaves
     */
    async consistency(from: number, to: number): Promise<Uint8Array[] | null> {
      const newest = await store.newest();
      return newest === null || to > newest.size ? null : consistencyProof(from, to, store.tiles);
    },
  };
}

/** Verifies a stored checkpoint with the key of its own log. @returns null when that key did not sign it */
export async function openStored({ log, size, note }: StoredCheckpoint, logs: readonly Log[]) {
  const opened = await openCheckpoint(note, await openingKeysOf(logs.filter(({ number }) => number === log)));
  return opened instanceof Refusal || opened.size !== size ? null : opened;
}
