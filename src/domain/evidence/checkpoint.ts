/**
 * Writes the evidence log. The leader appends a leaf for each committed attestation and signs checkpoints over the
 * leaves; commands sign checkpoints too. Two checkpoints cannot contradict each other: the root at a size follows from
 * the committed attestations, and a transaction decides which checkpoint is stored (decision D13.2).
 */

import { signCheckpoint, splitLogOrigin, type TreeHead } from "../../partner/log-checkpoint.ts";
import { isConsistent, isSameHash } from "../../partner/merkle-proof.ts";
import type { Log, LogStore, StoredCheckpoint } from "../../store/evidence/log.ts";
import type { PinnedCheckpointStore } from "../../store/evidence/pinned-checkpoint.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import { runAndPause, startRepeating } from "../serial.ts";
import {
  createLog,
  decryptCheckpointKey,
  findPredecessorLine,
  isEarlierCheckpoint,
  isOwnLog,
  leafHashPrefixOf,
  makePredecessorLine,
  readCheckpointHead,
  requireCheckpointHead,
  verifyStoredCheckpoint,
} from "./log.ts";
import { signRetentionNote, verifyRetentionNote } from "./retention.ts";
import {
  appendToTree,
  computeRoot,
  hasRoot,
  leafHashOf,
  leafHashOfMissing,
  makeConsistencyProof,
  readLeafHash,
} from "./tree.ts";

/** How many leaves one transaction appends. It takes a few milliseconds, for which the commits of calls wait. */
const leavesOfCommit = 512;
/** The most missing ids in a row that get leaves. A row with a forged id could otherwise need any number of leaves. */
const maxMissing = 10_000;
const maxAttempts = 20;
/** A checkpoint's time is not earlier than that of the one before, unless that is more than a day in the future. */
const longestAheadSeconds = 86_400;

type LogDependencies = {
  readonly store: LogStore;
  readonly pinned: PinnedCheckpointStore;
  readonly secrets: Pick<Secrets, "open" | "mac">;
  readonly clock: Clock;
  /** Called with the id of an attestation that was removed before it got a leaf. */
  readonly onMissing?: ((id: number) => void) | undefined;
  /** Called if no checkpoint is pinned, so that the newest one of the database is trusted. */
  readonly onUnpinned?: (() => void) | undefined;
};

export type LogWriter = ReturnType<typeof createLogWriter>;

export function createLogWriter(dependencies: LogDependencies) {
  const { store, pinned, secrets, clock, onUnpinned } = dependencies;
  const append = () => appendLeaves(dependencies);

  /**
   * Signs a checkpoint over every attestation that was committed before the call.
   * @returns the newest checkpoint; null if the log is empty
   * @throws TvsError LOG_BEHIND, STORE_CORRUPT, STORE_BUSY
   */
  async function checkpoint(): Promise<StoredCheckpoint | null> {
    const wanted = await store.lastId();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await reconcile();
      while ((await store.size()) < wanted && (await append()) > 0);
      // On the disk now: the attestations and their leaves. After a kill the next run appends the next leaf.

      const [log, newest] = [(await store.logs()).at(-1), await readNewest(dependencies)];
      const size = await store.size();
      if (log === undefined || size === 0) return null;
      if (newest?.log === log.number && newest.size === size) return newest;
      const root = new Uint8Array(await computeRoot(size, store.tiles));
      const before = newest?.log === log.number ? newest.note : log.previous;
      const head = { origin: log.origin, size, root, extensions: [makePredecessorLine(before)] };
      if (!(await hasGrown(dependencies, head))) continue;
      const seconds = nextSeconds(newest, clock);
      const note = await signCheckpoint(head, seconds, decryptCheckpointKey(log, secrets));
      // On the disk now: nothing more. A kill loses the note, which nobody has seen, and the next run signs again.

      if (!(await pinned.write(note))) continue;
      // On the disk now: the note, in log.checkpoint only. After a kill `tvs log audit` reports that the database lacks
      // this checkpoint, and the next run stores it (`storePinned`).

      const signed = { log: log.number, size, signedAt: seconds * 1000, note };
      if (await store.addCheckpoint(signed, newest)) return signed;
      // On the disk now: the note in log.checkpoint and in the database, where anybody may read it. A kill loses
      // nothing. If another process stored a checkpoint first, nobody has seen this note; the next attempt pins the
      // other.
    }
    throw tooBusy();
  }

  /**
   * Refuses a database that has lost what was signed for. Otherwise pins the stored checkpoint or stores the pinned
   * one, whichever is newer: another process may have stored one, or a killed process only pinned one. @throws TvsError
   * LOG_BEHIND, STORE_CORRUPT
   */
  async function reconcile(): Promise<void> {
    const note = pinned.read();
    await refuseLoss(note, dependencies);
    const newest = await readNewest(dependencies);
    if (note !== null && (newest === null || isEarlierCheckpoint(newest.note, note)))
      return storePinned(note, newest, dependencies);
    if (newest === null || newest.note === note) return;
    if (!(await hasGrown(dependencies, requireCheckpointHead(newest.note)))) return;
    if (note === null) onUnpinned?.();
    await pinned.write(newest.note);
  }

  return { append, checkpoint, reconcile };
}

/** Appends the leaves of the next attestations in one transaction. @returns their number; 0 at the end */
async function appendLeaves({ store, onMissing }: LogDependencies): Promise<number> {
  const size = await store.size();
  const rows = await store.attested(size + 1, leavesOfCommit);
  const [first, last] = [rows[0]?.id ?? 0, rows.at(-1)?.id ?? 0];
  if (last === 0) return 0;
  if (first - size > maxMissing) {
    const message = "many attestations are missing from the evidence log; tvs log audit names the first";
    throw new TvsError("STORE_CORRUPT", message);
  }
  const jwsOf = new Map(rows.map(({ id, jws }) => [id, jws]));
  const ids = Array.from({ length: Math.min(last - size, leavesOfCommit) }, (_, at) => size + 1 + at);
  const leaves = ids.map((id) => {
    const jws = jwsOf.get(id);
    return jws === undefined ? leafHashOfMissing(id) : leafHashOf(jws);
  });
  const tiles = await appendToTree(size, leaves, store.tiles);
  const isStored = await store.append(size, tiles, leaves.map(leafHashPrefixOf));
  const missing = ids.find((id) => !jwsOf.has(id));
  if (isStored && missing !== undefined) onMissing?.(missing);
  // If another process has appended first, it has appended the same leaves.
  return leaves.length;
}

/** Chooses the time of the next checkpoint. It never goes back with the clock: the log would look backdated. */
function nextSeconds(newest: StoredCheckpoint | null, clock: Clock): number {
  const [last, now] = [(newest?.signedAt ?? 0) / 1000, Math.floor(clock.now() / 1000)];
  return last - now > longestAheadSeconds ? now : Math.max(now, last);
}

/**
 * Reads and verifies the newest checkpoint of the database. Its time is the signed one: somebody who can write to the
 * database could change the column, and so choose the time of the next checkpoint.
 * @throws TvsError STORE_CORRUPT if none of the register's logs signed the checkpoint
 */
async function readNewest({ store, secrets }: LogDependencies): Promise<StoredCheckpoint | null> {
  const newest = await store.newest();
  if (newest === null) return null;
  const own = (await store.logs()).filter((log) => isOwnLog(log, secrets));
  const opened = await verifyStoredCheckpoint(newest, own);
  if (opened !== null) return { ...newest, signedAt: opened.seconds * 1000 };
  const message =
    "the newest checkpoint in the database is not one of the evidence log; tvs log audit says more";
  throw new TvsError("STORE_CORRUPT", message);
}

/**
 * Describes what a database has lost of the entries that were signed for. It writes nothing. `serve` refuses such a
 * database; `tvs doctor` and `tvs log audit` report the loss.
 * @param note the pinned checkpoint; null if none
 * @param dependencies `secrets` is null if the master key is not at hand ({@link isOwnLog})
 * @returns null if nothing is lost
 */
export async function describeLostEntries(
  note: string | null,
  { store, secrets }: { store: LogStore; secrets: Pick<Secrets, "mac"> | null },
): Promise<string | null> {
  const pinned = note === null ? null : requireCheckpointHead(note);
  const [logs, figures] = [await store.logs(), await store.figures()];
  const log = logs.at(-1);
  if (log === undefined || figures === null) return pinned && `it has no log ${pinned.origin}`;
  if (!isOwnLog(log, secrets)) return `${log.origin} was begun by somebody without the master key`;
  if (figures.missing > 0) return `its newest ${figures.missing} attestations are missing`;
  if (await isLastOther(store, figures.size)) return "its newest entry is another";
  if (note === null || pinned === null) return null;
  const { origin, size } = pinned;
  if (origin !== log.origin) return isSucceeded(pinned, logs, secrets) ? null : `it has no log ${origin}`;
  const reached = figures.size + figures.waiting;
  if (size > reached) return `${size} entries of ${origin} were signed for, and it has ${reached}`;
  if ((await verifyStoredCheckpoint({ log: log.number, size, note }, [log])) === null)
    return "another key has signed the pinned checkpoint";
  // If leaves are missing that can still be appended, `refuseLoss` appends them and calls this function again.
  if (size > figures.size || (await hasRoot(pinned, store.tiles))) return null;
  return `its first ${size} entries are others`;
}

/**
 * Whether the newest leaf belongs to another attestation. SQLite reuses the ids of removed newest rows, so the ids
 * alone do not show that rows were removed.
 */
async function isLastOther(store: LogStore, size: number): Promise<boolean> {
  const [row] = size === 0 ? [] : await store.attested(size, 1);
  // Retention may have deleted this row while later attestations wait for their leaves.
  if (row?.id !== size) return false;
  const leaf = await readLeafHash(size - 1, store.tiles);
  return leaf === null || !isSameHash(leaf, leafHashOf(row.jws));
}

/** Whether a later log of this register names the pinned checkpoint, or a larger one of the same log. */
function isSucceeded(pinned: TreeHead, logs: readonly Log[], secrets: Pick<Secrets, "mac"> | null): boolean {
  return logs.some((log) => {
    const previous = readCheckpointHead(log.previous);
    const isNamed = previous?.origin === pinned.origin && previous.size >= pinned.size;
    return isNamed && isOwnLog(log, secrets);
  });
}

/**
 * Refuses a database that has lost what was signed for, because nothing may be signed on top of it. After a power cut
 * the database may lack leaves that the pinned checkpoint covers. These are first appended from the attestations.
 * @throws TvsError LOG_BEHIND, STORE_CORRUPT
 */
async function refuseLoss(note: string | null, dependencies: LogDependencies): Promise<void> {
  const { store } = dependencies;
  const refuse = async () => {
    const loss = await describeLostEntries(note, dependencies);
    if (loss !== null) throw behind(loss);
  };
  await refuse();
  const [log, head] = [(await store.logs()).at(-1), readCheckpointHead(note)];
  if (head === null || head.origin !== log?.origin || (await store.size()) >= head.size) return;
  while ((await store.size()) < head.size && (await appendLeaves(dependencies)) > 0);
  await refuse();
}

/**
 * Whether a tree has grown out of the pinned tree of the same log.
 * @returns false if a larger tree was pinned since this tree was read, by this process or another
 * @throws TvsError LOG_BEHIND if the tree does not begin with the pinned tree
 */
async function hasGrown({ store, pinned }: LogDependencies, { origin, size, root }: TreeHead) {
  const kept = readCheckpointHead(pinned.read());
  if (kept === null || kept.origin !== origin) return true;
  if (kept.size > size) return false;
  const hashes = (await makeConsistencyProof(kept.size, size, store.tiles)).map(
    (hash) => new Uint8Array(hash),
  );
  const proof = { from: kept.size, to: size, fromRoot: kept.root, toRoot: root, hashes };
  if (!(await isConsistent(proof))) throw behind(`its first ${kept.size} entries are others`);
  return true;
}

/**
 * Stores the pinned checkpoint, which the database lacks: a process was killed before it stored the checkpoint, or
 * somebody removed it. If earlier ones were removed too, an audit finds the gap.
 */
async function storePinned(note: string, newest: StoredCheckpoint | null, { store }: LogDependencies) {
  const [log, head] = [(await store.logs()).at(-1), requireCheckpointHead(note)];
  if (log === undefined || head.origin !== log.origin) return;
  // Another process has stored a checkpoint with the same predecessor, and nobody has seen the pinned one.
  if (
    newest?.log === log.number &&
    findPredecessorLine(requireCheckpointHead(newest.note)) === findPredecessorLine(head)
  )
    return;
  const row = { log: log.number, size: head.size, note };
  const opened = await verifyStoredCheckpoint(row, [log]);
  if (opened !== null) await store.addCheckpoint({ ...row, signedAt: opened.seconds * 1000 }, newest);
}

export const databaseBehindAdvice =
  "it is an old copy, or rows were lost: restore the newest backup, or accept the loss openly with tvs log new --accept-loss";

function behind(loss: string): TvsError {
  return new TvsError(
    "LOG_BEHIND",
    `the database is behind its evidence log: ${loss}: ${databaseBehindAdvice}`,
  );
}

/** How often the leader looks for new attestations, in milliseconds. */
const pollIntervalMs = 1_000;
/** The time between two checkpoints while there are new attestations, in milliseconds. */
const signMs = 30_000;
type Building = {
  readonly writer: LogWriter;
  readonly store: LogStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/**
 * Appends leaves and signs checkpoints, as the leader. When it stops, it signs a last checkpoint over everything.
 * @returns a function that stops the work
 */
export function startLogBuilding({ writer, store, clock, onError }: Building) {
  let signedAt = Number.NEGATIVE_INFINITY;

  async function look(isStopped: () => boolean): Promise<void> {
    for (;;) {
      const figures = await store.figures();
      if (isStopped() || figures === null) return;
      if (figures.waiting >= leavesOfCommit) {
        await runAndPause(() => writer.append());
        continue;
      }
      // The absolute value is compared, so that a clock that was set back does not delay the next checkpoint.
      if (figures.uncoveredSince === null || Math.abs(clock.now() - signedAt) < signMs) return;
      signedAt = clock.now();
      await runAndPause(() => writer.checkpoint());
    }
  }

  const stop = startRepeating(look, { everyMs: pollIntervalMs, onError });
  return async () => {
    await stop();
    const figures = await store.figures().catch(() => null);
    if ((figures?.uncoveredSince ?? null) !== null) await writer.checkpoint().catch(onError);
  };
}

/** Finds the size of the largest sound tree: a checkpoint covers it, and its leaves and newest row are right. */
async function soundSize({ store, secrets }: LogDependencies): Promise<number> {
  const own = (await store.logs()).filter((log) => isOwnLog(log, secrets));
  let end = Math.min(await store.lastId(), await store.size());
  // New rows may have the ids of removed rows.
  for (; end > 0; end--) {
    const [row] = await store.attested(end, 1);
    if (row?.id === end && !(await isLastOther(store, end))) break;
  }
  for (let one = await store.before({ size: end + 1, log: 0 }); one !== null; one = await store.before(one)) {
    const opened = await verifyStoredCheckpoint(one, own);
    if (opened !== null && (await hasRoot(opened, store.tiles))) return one.size;
  }
  return 0;
}

/**
 * Begins a new log over the sound part of the tree. It names the last known checkpoint of the present log. One
 * transaction stores the new log, destroys the present log's private key, cuts the tree, and stores a retention note
 * signed by the new log.
 * @param reason why, for everybody who reads the log
 * @throws TvsError STORE_BUSY if other processes sign each time
 */
export async function beginNextLog(
  dependencies: LogDependencies & { readonly secrets: Secrets; readonly issuer: string },
  reason: string,
): Promise<Log> {
  const { store, pinned, secrets } = dependencies;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const state = await store.state();
    const [before, newest] = [(await store.logs()).at(-1), await store.newest()];
    const [note, retention] = [pinned.read(), await store.retention()];
    const isStoredLast =
      newest !== null &&
      readCheckpointHead(newest.note) !== null &&
      (note === null || isEarlierCheckpoint(note, newest.note));
    const previous = isStoredLast ? newest.note : note;
    const number =
      1 + Math.max(before?.number ?? 0, splitLogOrigin(readCheckpointHead(previous)?.origin ?? "").number);
    const firstSize = await soundSize(dependencies);
    const log = createLog(dependencies, { number, reason, previous, firstSize });
    const deleted = before && retention !== null ? await verifyRetentionNote(retention, before) : null;
    const renewed = deleted === null ? null : await signRetentionNote(deleted, log, secrets);
    if (await store.begin(log, state, renewed)) return log;
  }
  throw tooBusy();
}

function tooBusy(): TvsError {
  return new TvsError("STORE_BUSY", "other processes sign for the evidence log all the time; try again");
}
