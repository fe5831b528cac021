/**
 * Writes the evidence log. The leader appends a leaf for each committed attestation and signs checkpoints over the
 * leaves. Commands sign checkpoints too. Two checkpoints cannot contradict each other: every root is computed from the
 * committed attestations, and a transaction decides which checkpoint is stored (decision D13.2).
 */

import { signCheckpoint, splitLogOrigin, type TreeHead } from "../../partner/log-checkpoint.ts";
import { isConsistencyProven, isSameHash } from "../../partner/merkle-proof.ts";
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
  isGenuineLog,
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

/** Maximum leaves of one transaction. The transaction takes a few milliseconds, while the commits of calls wait. */
const maxLeavesPerCommit = 512;
/** Maximum successive missing ids that get leaves. Without a limit, one forged id could require millions of leaves. */
const maxMissingIds = 10_000;
const maxAttempts = 20;
/** Seconds by which a checkpoint may be ahead of the clock. If one is further ahead, the next has an earlier time. */
const maxAheadSeconds = 86_400;

type LogDependencies = {
  readonly store: LogStore;
  readonly pinned: PinnedCheckpointStore;
  readonly secrets: Pick<Secrets, "open" | "mac">;
  readonly clock: Clock;
  /** Called with the id of an attestation that was removed before it got a leaf. */
  readonly onMissing?: ((id: number) => void) | undefined;
  /** Called if no checkpoint is pinned, and the writer therefore trusts the database's newest checkpoint. */
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
      // On the disk now: the attestations and their leaves. After a kill the next run appends the missing leaves.

      const [log, newest] = [(await store.logs()).at(-1), await readNewest(dependencies)];
      const size = await store.size();
      if (log === undefined || size === 0) return null;
      if (newest?.log === log.number && newest.size === size) return newest;
      const root = new Uint8Array(await computeRoot(size, store.tiles));
      const before = newest?.log === log.number ? newest.note : log.previous;
      const head = { origin: log.origin, size, root, extensions: [makePredecessorLine(before)] };
      if (!(await extendsPinnedTree(dependencies, head))) continue;
      const seconds = chooseNextSeconds(newest, clock);
      const note = await signCheckpoint(head, seconds, decryptCheckpointKey(log, secrets));
      // On the disk now: no note. After a kill nobody has seen this note, and the next run signs another note.

      if (!(await pinned.write(note))) continue;
      // On the disk now: the note, in log.checkpoint only. After a kill `tvs log audit` reports that the database lacks
      // this checkpoint, and the next run stores it (`storePinned`).

      const signed = { log: log.number, size, signedAt: seconds * 1000, note };
      if (await store.addCheckpoint(signed, newest)) return signed;
      // If `addCheckpoint` returned true, the note is in log.checkpoint and in the database, and a kill loses nothing.
      // If it returned false, another process stored a checkpoint first: our note is in log.checkpoint only, and nobody
      // has seen our note. The next attempt begins with the checkpoint of the other process.
    }
    throw tooBusyError();
  }

  /**
   * Refuses a database that lacks answers which a checkpoint covers. Pins the stored checkpoint if that is newer than
   * the pinned one, because another process stored it. Stores the pinned checkpoint if that is the newer one, because
   * a killed process only pinned it. @throws TvsError LOG_BEHIND, STORE_CORRUPT
   */
  async function reconcile(): Promise<void> {
    const note = pinned.read();
    await refuseLoss(note, dependencies);
    const newest = await readNewest(dependencies);
    if (note !== null && (newest === null || isEarlierCheckpoint(newest.note, note)))
      return storePinned(note, newest, dependencies);
    if (newest === null || newest.note === note) return;
    if (!(await extendsPinnedTree(dependencies, requireCheckpointHead(newest.note)))) return;
    if (note === null) onUnpinned?.();
    await pinned.write(newest.note);
  }

  return { append, checkpoint, reconcile };
}

/** Appends the leaves of the next attestations in one transaction. @returns how many; 0 if no leaf is missing */
async function appendLeaves({ store, onMissing }: LogDependencies): Promise<number> {
  const size = await store.size();
  const rows = await store.attested(size + 1, maxLeavesPerCommit);
  const [first, last] = [rows[0]?.id ?? 0, rows.at(-1)?.id ?? 0];
  if (last === 0) return 0;
  if (first - size > maxMissingIds) {
    const message = "many attestations are missing from the evidence log; tvs log audit names the first";
    throw new TvsError("STORE_CORRUPT", message);
  }
  const jwsOf = new Map(rows.map(({ id, jws }) => [id, jws]));
  const ids = Array.from({ length: Math.min(last - size, maxLeavesPerCommit) }, (_, at) => size + 1 + at);
  const leaves = ids.map((id) => {
    const jws = jwsOf.get(id);
    return jws === undefined ? leafHashOfMissing(id) : leafHashOf(jws);
  });
  const tiles = await appendToTree(size, leaves, store.tiles);
  const isStored = await store.append(size, tiles, leaves.map(leafHashPrefixOf));
  const missing = ids.find((id) => !jwsOf.has(id));
  if (isStored && missing !== undefined) onMissing?.(missing);
  // A process that appended first has appended the same leaves.
  return leaves.length;
}

/** Chooses the next checkpoint's time in seconds. A time before the last checkpoint's would look backdated. */
function chooseNextSeconds(newest: StoredCheckpoint | null, clock: Clock): number {
  const [last, now] = [(newest?.signedAt ?? 0) / 1000, Math.floor(clock.now() / 1000)];
  return last - now > maxAheadSeconds ? now : Math.max(now, last);
}

/**
 * Reads and verifies the newest checkpoint of the database. `signedAt` comes from the signed note: whoever can write to
 * the database could change the column, and so choose the time of the next checkpoint.
 * @throws TvsError STORE_CORRUPT if none of the register's logs signed the checkpoint
 */
async function readNewest({ store, secrets }: LogDependencies): Promise<StoredCheckpoint | null> {
  const newest = await store.newest();
  if (newest === null) return null;
  const own = (await store.logs()).filter((log) => isGenuineLog(log, secrets));
  const opened = await verifyStoredCheckpoint(newest, own);
  if (opened !== null) return { ...newest, signedAt: opened.seconds * 1000 };
  const message =
    "the newest checkpoint in the database is not one of the evidence log; tvs log audit says more";
  throw new TvsError("STORE_CORRUPT", message);
}

/**
 * Describes which answers a database has lost, of those that checkpoints cover. `serve` refuses a database with a loss;
 * `tvs doctor` and `tvs log audit` report the loss.
 * @param note the pinned checkpoint; null if none
 * @param dependencies `secrets` is null if the caller has no master key ({@link isGenuineLog})
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
  if (!isGenuineLog(log, secrets)) return `${log.origin} was begun by somebody without the master key`;
  if (figures.missing > 0) return `its newest ${figures.missing} attestations are missing`;
  if (await isNewestReplaced(store, figures.size)) return "its newest entry is another";
  if (note === null || pinned === null) return null;
  const { origin, size } = pinned;
  if (origin !== log.origin) return isContinued(pinned, logs, secrets) ? null : `it has no log ${origin}`;
  const reached = figures.size + figures.waiting;
  if (size > reached) return `${size} entries of ${origin} were signed for, and it has ${reached}`;
  if ((await verifyStoredCheckpoint({ log: log.number, size, note }, [log])) === null)
    return "another key has signed the pinned checkpoint";
  // If only leaves are missing, `refuseLoss` appends the leaves and calls this function again.
  if (size > figures.size || (await hasRoot(pinned, store.tiles))) return null;
  return `its first ${size} entries are others`;
}

/**
 * Whether the attestation with the newest leaf's id is another one than the leaf was made from. SQLite reuses the ids
 * of removed newest rows, so the ids alone do not show that rows were removed.
 */
async function isNewestReplaced(store: LogStore, size: number): Promise<boolean> {
  const [row] = size === 0 ? [] : await store.attested(size, 1);
  // Retention may have deleted this row while later attestations wait for their leaves.
  if (row?.id !== size) return false;
  const leaf = await readLeafHash(size - 1, store.tiles);
  return leaf === null || !isSameHash(leaf, leafHashOf(row.jws));
}

/** Whether one of the logs names the pinned checkpoint, or a larger one of the same log, as its predecessor. */
function isContinued(pinned: TreeHead, logs: readonly Log[], secrets: Pick<Secrets, "mac"> | null): boolean {
  return logs.some((log) => {
    const previous = readCheckpointHead(log.previous);
    const isNamed = previous?.origin === pinned.origin && previous.size >= pinned.size;
    return isNamed && isGenuineLog(log, secrets);
  });
}

/**
 * Refuses a database that lacks answers which a checkpoint covers: the next checkpoint would contradict that one. If
 * only leaves are missing, as after a power cut, the function appends the leaves from the attestations.
 * @throws TvsError LOG_BEHIND, STORE_CORRUPT
 */
async function refuseLoss(note: string | null, dependencies: LogDependencies): Promise<void> {
  const { store } = dependencies;
  const refuse = async () => {
    const loss = await describeLostEntries(note, dependencies);
    if (loss !== null) throw behindError(loss);
  };
  await refuse();
  const [log, head] = [(await store.logs()).at(-1), readCheckpointHead(note)];
  if (head === null || head.origin !== log?.origin || (await store.size()) >= head.size) return;
  while ((await store.size()) < head.size && (await appendLeaves(dependencies)) > 0);
  await refuse();
}

/**
 * Proves that a tree extends the pinned tree of the same log.
 * @returns false if a larger tree was pinned since this tree was read, by this process or another
 * @throws TvsError LOG_BEHIND if the tree does not begin with the pinned tree
 */
async function extendsPinnedTree({ store, pinned }: LogDependencies, { origin, size, root }: TreeHead) {
  const kept = readCheckpointHead(pinned.read());
  if (kept === null || kept.origin !== origin) return true;
  if (kept.size > size) return false;
  const hashes = (await makeConsistencyProof(kept.size, size, store.tiles)).map(
    (hash) => new Uint8Array(hash),
  );
  const proof = { from: kept.size, to: size, fromRoot: kept.root, toRoot: root, hashes };
  if (!(await isConsistencyProven(proof))) throw behindError(`its first ${kept.size} entries are others`);
  return true;
}

/**
 * Stores the pinned checkpoint, which the database lacks: a process was killed before it stored the checkpoint, or
 * somebody removed the checkpoint. If earlier checkpoints were removed too, an audit finds the gap.
 */
async function storePinned(note: string, newest: StoredCheckpoint | null, { store }: LogDependencies) {
  const [log, head] = [(await store.logs()).at(-1), requireCheckpointHead(note)];
  if (log === undefined || head.origin !== log.origin) return;
  // Another process stored a checkpoint with the same predecessor first, and nobody has seen the pinned checkpoint.
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

function behindError(loss: string): TvsError {
  return new TvsError(
    "LOG_BEHIND",
    `the database is behind its evidence log: ${loss}: ${databaseBehindAdvice}`,
  );
}

/** How often the leader looks for new attestations, in milliseconds. */
const pollIntervalMs = 1_000;
/** The time between two checkpoints while there are new attestations, in milliseconds. */
const checkpointIntervalMs = 30_000;
type LogBuildingDependencies = {
  readonly writer: LogWriter;
  readonly store: LogStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/**
 * Starts the leader's work, which appends leaves and signs checkpoints.
 * @returns a function that stops the work and signs a last checkpoint over all leaves
 */
export function startLogBuilding({ writer, store, clock, onError }: LogBuildingDependencies) {
  let signedAt = Number.NEGATIVE_INFINITY;

  async function look(isStopped: () => boolean): Promise<void> {
    for (;;) {
      const figures = await store.figures();
      if (isStopped() || figures === null) return;
      if (figures.waiting >= maxLeavesPerCommit) {
        await runAndPause(() => writer.append());
        continue;
      }
      // Compares the absolute value, so that a clock that was set back does not delay the next checkpoint.
      if (figures.uncoveredSince === null || Math.abs(clock.now() - signedAt) < checkpointIntervalMs) return;
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

/** Finds how many leaves are proven: the size of the newest checkpoint that fits the leaves up to the last good row. */
async function findProvenSize({ store, secrets }: LogDependencies): Promise<number> {
  const own = (await store.logs()).filter((log) => isGenuineLog(log, secrets));
  let end = Math.min(await store.lastId(), await store.size());
  // A new row may have the id of a removed row.
  for (; end > 0; end--) {
    const [row] = await store.attested(end, 1);
    if (row?.id === end && !(await isNewestReplaced(store, end))) break;
  }
  for (let one = await store.before({ size: end + 1, log: 0 }); one !== null; one = await store.before(one)) {
    const opened = await verifyStoredCheckpoint(one, own);
    if (opened !== null && (await hasRoot(opened, store.tiles))) return one.size;
  }
  return 0;
}

/**
 * Begins a new log over the proven leaves. The new log names the last known checkpoint of the present log. One
 * transaction stores the new log, destroys the present log's private key, cuts the tree, and stores a retention note
 * signed by the new log.
 * @param reason the reason, for everybody who reads the log
 * @throws TvsError STORE_BUSY if other processes store checkpoints during each attempt
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
    const firstSize = await findProvenSize(dependencies);
    const log = createLog(dependencies, { number, reason, previous, firstSize });
    const deleted = before && retention !== null ? await verifyRetentionNote(retention, before) : null;
    const renewed = deleted === null ? null : await signRetentionNote(deleted, log, secrets);
    if (await store.begin(log, state, renewed)) return log;
  }
  throw tooBusyError();
}

function tooBusyError(): TvsError {
  return new TvsError("STORE_BUSY", "other processes sign for the evidence log all the time; try again");
}
