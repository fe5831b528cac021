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
import type { LogStore } from "../../store/evidence/log.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { equalBytes, type Secrets } from "../secrets.ts";
import { consistencyProof, inclusionProof, leafAt } from "./tree.ts";

/**
 * A name of the log with its key. A restored database, or one that has lost evidence, goes on under a new name: the tree is
 * the same, up to what was lost. Times are milliseconds since the epoch.
 */
export type Log = {
  /** 1, and one more for each new log. */
  readonly number: number;
  /** The first line of its checkpoints. */
  readonly origin: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** PKCS #8 of the private half, sealed with the origin as its name; null once a later log was begun. */
  readonly sealed: Uint8Array | null;
  readonly begunAt: number;
  /** Why it was begun; null for the first. */
  readonly reason: string | null;
  /** The last known checkpoint of the log before it, as a signed note; null where none is known. */
  readonly previous: string | null;
  /** Leaves that the tree had when the log was begun: the newest kept checkpoint of earlier logs covers as many. */
  readonly firstSize: number;
  /** Authenticates all of it but the sealed key, under the master key. */
  readonly mac: Uint8Array;
};

/** A checkpoint as the database has it. */
export type StoredCheckpoint = {
  /** The number of the log whose key signed it. */
  readonly log: number;
  readonly size: number;
  /** Milliseconds since the epoch, a whole second. */
  readonly signedAt: number;
  /** The signed note, byte for byte. */
  readonly note: string;
};

/** How far the tree has come behind the attestations, and the checkpoints behind the tree. */
export type LogProgress = {
  /** The number of the newest log, and its origin. */
  readonly log: number;
  readonly origin: string;
  /** Leaves of the tree. */
  readonly size: number;
  /** Leaves that the newest checkpoint of the newest log covers; 0 before its first. */
  readonly signedSize: number;
  /** When that was signed, milliseconds since the epoch; null before the first. */
  readonly signedAt: number | null;
  /** Attestations that are not in the tree yet. */
  readonly waiting: number;
  /** Of the newest attestations in the tree, how many are not in the database; 0, unless somebody removed them. */
  readonly missing: number;
};

export type LogFigures = LogProgress & {
  /** When the oldest attestation was issued that no checkpoint covers (ms since the epoch); null when none waits. */
  readonly uncoveredSince: number | null;
};

/** A leaf in a tree that a checkpoint signs for. */
export type Inclusion = {
  readonly index: number;
  readonly size: number;
  /** From the leaf's sibling upwards. */
  readonly hashes: readonly Uint8Array[];
  /** The signed note. */
  readonly checkpoint: string;
};

/** What anybody may ask the log. */
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

/** The keys by which checkpoints of our own are opened; none of a log whose name or key cannot be one. */
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

/** Whether a log was begun by who has the master key. */
export function isOwnLog(log: Log, secrets: Pick<Secrets, "mac">): boolean {
  return equalBytes(macOf(log, secrets), log.mac);
}

/** Makes a log with a new key. */
export function newLog(
  { secrets, issuer, clock }: { secrets: Secrets; issuer: string; clock: Clock },
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

/** The extension line by which a checkpoint names the one before it. @param note null where there is none before */
export function linkTo(note: string | null): string {
  return `${linkName}${hash("sha256", note ?? "", "base64")}`;
}

/** The line by which a checkpoint names the one before it; undefined without one. */
export function linkOf({ extensions = [] }: Pick<TreeHead, "extensions">): string | undefined {
  return extensions.find((line) => line.startsWith(linkName));
}

/** What a note states; null when it is no checkpoint. Nothing is verified. */
export function headIn(note: string | null | undefined): TreeHead | null {
  const signed = readNote(note ?? "");
  const head = signed instanceof Refusal ? signed : readTreeHead(signed.text);
  return head instanceof Refusal ? null : head;
}

/** @throws TvsError INPUT_UNREADABLE */
export function treeHeadOf(note: string): TreeHead {
  const found = headIn(note);
  if (found !== null) return found;
  throw new TvsError("INPUT_UNREADABLE", "the pinned checkpoint of the evidence log is not a checkpoint");
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

/** Begins the first log where there is none. One that has no leaf yet follows the issuer's name. */
export async function ensureLog({
  store,
  secrets,
  issuer,
  clock,
}: {
  store: LogStore;
  secrets: Secrets;
  issuer: string;
  clock: Clock;
}): Promise<void> {
  const found = (await store.logs()).at(-1);
  const isNamed = found?.origin === originOf(issuer, 1);
  if (found !== undefined && (isNamed || found.number > 1 || (await store.size()) > 0)) return;
  const log = newLog({ secrets, issuer, clock }, { number: 1, reason: null, previous: null, firstSize: 0 });
  await store.begin(log, { log: found ?? null, newest: null, retention: null }, null);
}

export function createEvidenceReader(store: LogStore) {
  async function find(wanted: Uint8Array): Promise<number | null> {
    const size = await store.size();
    for (const id of await store.withPrefix(prefixOf(wanted)))
      if (id <= size && isSameHash(await leafAt(id - 1, store.tiles), wanted)) return id - 1;
    return null;
  }

  return {
    /** Oldest first. */
    logs: store.logs,
    /** The newest checkpoint; null as long as there is none. */
    newest: store.newest,
    /**
     * @param size of a checkpoint; without it, the earliest one that covers the leaf
     * @returns null for a hash that is no leaf's, or that no checkpoint covers yet; `no-checkpoint` when there was never
     *   one of that size that covers it
     */
    async inclusion(leafHash: Uint8Array, size?: number): Promise<Inclusion | "no-checkpoint" | null> {
      const index = await find(leafHash);
      if (index === null) return null;
      const checkpoint = await store.covering(size ?? index + 1);
      if (checkpoint === null) return size === undefined ? null : "no-checkpoint";
      if (size !== undefined && (checkpoint.size !== size || size <= index)) return "no-checkpoint";
      const hashes = await inclusionProof(index, checkpoint.size, store.tiles);
      return { index, size: checkpoint.size, hashes, checkpoint: checkpoint.note };
    },
    /**
     * Between two sizes of the tree, 1 ≤ from ≤ to.
     * @returns null when no checkpoint covers `to` leaves yet; else the newest log's number too, because a later log may
     *   have another tree of these sizes
     */
    async consistency(from: number, to: number): Promise<{ log: number; hashes: Uint8Array[] } | null> {
      const newest = await store.newest();
      if (newest === null || to > newest.size) return null;
      return { log: newest.log, hashes: await consistencyProof(from, to, store.tiles) };
    },
  };
}

/** Opens a checkpoint of the database by the key of its own log. @returns null for one that this log did not sign so */
export async function openStored({ log, size, note }: StoredCheckpoint, logs: readonly Log[]) {
  const opened = await openCheckpoint(note, await openingKeysOf(logs.filter(({ number }) => number === log)));
  return opened instanceof Refusal || opened.size !== size ? null : opened;
}
