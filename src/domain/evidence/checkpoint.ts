/**
 * How the evidence log grows: the tree is built behind the attestations and signed for. Several processes may do so; the
 * transaction decides, and what they sign cannot contradict each other, because a root at a size follows from the
 * attestations that are committed (decision D13.2).
 */

import { openCheckpoint, signCheckpoint, type TreeHead } from "../../partner/log-checkpoint.ts";
import { isConsistent, isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { LogStore } from "../../store/evidence/log.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import { actAndRest, repeat } from "../serial.ts";
import {
  checkpointKeyOf,
  headIn,
  isBefore,
  isOwnLog,
  isSignable,
  type Log,
  type LogProgress,
  linkOf,
  linkTo,
  newLog,
  numberOf,
  openingKeysOf,
  openStored,
  prefixOf,
  type StoredCheckpoint,
  treeHeadOf,
} from "./log.ts";
import { openRetention, signRetention } from "./retention.ts";
import { appendTo, consistencyProof, edgeOf, leafAt, leafHash, missingLeafHash, rootOf } from "./tree.ts";

/** Leaves of one commit: some milliseconds, which calls that wait for the disk do not notice. */
const leavesOfCommit = 512;
/** How often a checkpoint is tried while other processes sign too. */
const maxAttempts = 20;
/** By how much a clock may have been ahead for its time to be kept to: no proof by a checkpoint of a time to come counts. */
const longestAheadSeconds = 86_400;

export type LogDependencies = {
  readonly store: LogStore;
  /** The newest checkpoint, in a file beside the master key. */
  readonly pinned: PinnedCheckpoint;
  readonly secrets: Pick<Secrets, "open" | "mac">;
  readonly clock: Clock;
  /** Told of an attestation that was removed before it had a leaf. */
  readonly onMissing?: ((id: number) => void) | undefined;
  /** Told when no checkpoint was pinned, though the database has some: the newest of them is believed then. */
  readonly onUnpinned?: (() => void) | undefined;
};

export type LogWriter = ReturnType<typeof createLogWriter>;

export function createLogWriter(dependencies: LogDependencies) {
  const { store, pinned, secrets, clock, onMissing } = dependencies;

  /** Appends the leaves of the next attestations in one commit. @returns how many; 0 at the end */
  async function append(): Promise<number> {
    const size = await store.size();
    const firstId = size + 1;
    const attested = await store.attested(firstId, leavesOfCommit);
    if (attested.length === 0) return 0;
    const leaves = attested.map((jws, at) => (jws === null ? missingLeafHash(firstId + at) : leafHash(jws)));
    const tiles = appendTo(size, await store.tiles(edgeOf(size)), leaves);
    const isStored = await store.append(size, tiles, leaves.map(prefixOf));
    if (isStored && attested.includes(null)) onMissing?.(firstId + attested.indexOf(null));
    // What another process has appended to the same size is the same.
    return leaves.length;
  }

  /**
   * Signs for every attestation that was committed before.
   * @returns the newest checkpoint; null where nothing was attested
   * @throws TvsError LOG_BEHIND
   */
  async function checkpoint(): Promise<StoredCheckpoint | null> {
    const wanted = await store.lastId();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await requireNotBehind(dependencies, append);
      while ((await store.size()) < wanted && (await append()) > 0);
      // On the disk: the attestations and their leaves. A kill leaves both, and the next run goes on behind them.

      const [log, newest, size] = [(await store.logs()).at(-1), await store.newest(), await store.size()];
      if (log === undefined || size === 0) return null;
      if (newest?.log === log.number && newest.size === size) {
        await pinNewest(dependencies);
        return newest;
      }
      const root = new Uint8Array(await rootOf(size, store.tiles));
      const head = { origin: log.origin, size, root, extensions: [linkTo(newestOf(log, newest))] };
      await requireGrown(dependencies, pinned.read(), head);
      const seconds = await nextSeconds(log, newest, clock);
      const note = await signCheckpoint(head, seconds, checkpointKeyOf(log, secrets));
      // On the disk: nothing more. A kill loses the note, which nobody has seen.

      if (newest !== null && pinned.read() === null) dependencies.onUnpinned?.();
      if (!(await pinned.write(note))) continue;
      // On the disk: the note, in log.checkpoint alone. A kill leaves it there: `tvs log audit` names it as missing in the
      // database, and the next run stores it (`storePinned`).

      const signed = { log: log.number, size, signedAt: seconds * 1000, note };
      if (await store.addCheckpoint(signed, newest)) return signed;
      // On the disk: the note in both places, and everybody may see it. Or another process was faster and has stored one
      // that names the same predecessor; nobody has seen this one, and the next attempt pins one that names the other.
    }
    throw tooBusy();
  }

  /** Pins the newest checkpoint that another process has stored. @throws TvsError LOG_BEHIND */
  async function follow(): Promise<void> {
    const [note, newest, progress] = [pinned.read(), await store.newest(), await store.progress()];
    const isSame = note === (newest?.note ?? null) && progress !== null && progress.missing === 0;
    if (isSame && (newest === null || newest.log === progress.log))
      return requireLastLeaf(dependencies, progress);
    await requireNotBehind(dependencies, append);
    await pinNewest(dependencies);
  }

  return { append, checkpoint, follow, requireNotBehind: () => requireNotBehind(dependencies, append) };
}

/** The checkpoint that a log's next one names. */
function newestOf(log: Log, newest: StoredCheckpoint | null): string | null {
  return newest?.log === log.number ? newest.note : log.previous;
}

/** The time of a log's next checkpoint. It never goes back, as a clock may that is set: the log would seem backdated. */
async function nextSeconds(log: Log, newest: StoredCheckpoint | null, clock: Clock): Promise<number> {
  const now = Math.floor(clock.now() / 1000);
  // By the note and by no column: who writes to the database must not have anything signed for a time to come.
  const last = newest === null ? null : await openStored(newest, [log]);
  if (last === null || last.seconds - now > longestAheadSeconds) return now;
  return Math.max(now, last.seconds);
}

/**
 * Refuses a database that has lost what was signed for: nothing may be signed on top of it. Leaves that the pinned
 * checkpoint covers are appended first, where their attestations are there, because it is pinned before anything else.
 * @throws TvsError LOG_BEHIND
 */
async function requireNotBehind(dependencies: LogDependencies, append: () => Promise<number>): Promise<void> {
  const { store, pinned, secrets } = dependencies;
  const [note, logs, progress] = [pinned.read(), await store.logs(), await store.progress()];
  const log = logs.at(-1);
  if (log === undefined || progress === null) {
    if (note !== null) throw behind(note, "it has no log");
    return;
  }
  if (!isOwnLog(log, secrets))
    throw behind(note, `${log.origin} was begun by somebody without the master key`);
  if (progress.missing > 0)
    throw behind(note, `its newest ${progress.missing} attestations are not there any more`);
  await requireLastLeaf(dependencies, progress);
  if (note === null) return;
  const kept = treeHeadOf(note);
  if (kept.origin !== log.origin) {
    if (isSucceeded(kept, logs, secrets)) return;
    throw behind(note, "the database does not know that log");
  }
  if ((await openCheckpoint(note, await openingKeysOf([log]))) instanceof Refusal)
    throw behind(note, "another key has signed it");
  while ((await store.size()) < kept.size)
    if ((await append()) === 0) throw behind(note, `it has ${await store.size()}`);
  const root = await rootOrNull(kept.size, store);
  if (root === null || !isSameHash(root, kept.root)) throw behind(note, "its first entries are others");
  await storePinned(dependencies, log, note);
}

/** @returns null where the database lacks hashes */
export async function rootOrNull(
  size: number,
  { tiles }: Pick<LogStore, "tiles">,
): Promise<Uint8Array | null> {
  try {
    return await rootOf(size, tiles);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether a later log of ours names the pinned checkpoint, or a later one of the same log. */
export function isSucceeded(kept: TreeHead, logs: readonly Log[], secrets: Pick<Secrets, "mac">): boolean {
  return logs.some((log) => {
    const previous = headIn(log.previous);
    return isOwnLog(log, secrets) && previous?.origin === kept.origin && previous.size >= kept.size;
  });
}

/**
 * Refuses a tree whose newest attestation is another than its leaf says: ids are given again to others when the newest rows
 * were removed, so that none seems to be missing.
 */
async function requireLastLeaf({ store, pinned }: LogDependencies, { size }: LogProgress): Promise<void> {
  if (size === 0) return;
  const [[jws], leaf] = [await store.attested(size, 1), await leafOrNull(size - 1, store)];
  // Retention has deleted it, though later ones wait.
  if (jws === undefined || jws === null) return;
  if (leaf === null || !isSameHash(leaf, leafHash(jws)))
    throw behind(pinned.read(), "its newest entry is another");
}

async function leafOrNull(index: number, { tiles }: LogStore): Promise<Uint8Array | null> {
  return leafAt(index, tiles).catch((error) => {
    if (error instanceof RangeError) return null;
    throw error;
  });
}

/** Holds a tree against the pinned checkpoint of the same log: it must have grown out of that. @throws TvsError LOG_BEHIND */
async function requireGrown(
  { store }: LogDependencies,
  note: string | null,
  { origin, size, root }: TreeHead,
) {
  const kept = note === null ? null : treeHeadOf(note);
  if (note === null || kept?.origin !== origin || kept.size === 0) return;
  if (kept.size > size) throw behind(note, `it has ${size}`);
  const hashes = (await consistencyProof(kept.size, size, store.tiles)).map((hash) => new Uint8Array(hash));
  const proof = { from: kept.size, to: size, fromRoot: kept.root, toRoot: root, hashes };
  if (!(await isConsistent(proof))) throw behind(note, "its first entries are others");
}

/**
 * Stores a checkpoint that was pinned by a process that ended before it stored it, and one that was removed: where those
 * before it were removed too, the audit finds that it names none of those that are left.
 */
async function storePinned({ store }: LogDependencies, log: Log, note: string): Promise<void> {
  const head = treeHeadOf(note);
  const newest = await store.newest();
  if (newest !== null && headIn(newest.note) === null) throw notOurs();
  if (newest !== null && !isBefore(newest.note, note)) return;
  // Another process has stored one in its place that names the same predecessor. Nobody has seen the pinned one.
  const link = linkOf(head);
  if (newest?.log === log.number && linkOf(treeHeadOf(newest.note)) === link) return;
  const opened = await openCheckpoint(note, await openingKeysOf([log]));
  if (opened instanceof Refusal) return;
  await store.addCheckpoint(
    { log: log.number, size: head.size, signedAt: opened.seconds * 1000, note },
    newest,
  );
}

/** Pins the newest checkpoint of the database, where it is later than the pinned one. @throws TvsError STORE_CORRUPT, LOG_BEHIND */
async function pinNewest(dependencies: LogDependencies): Promise<void> {
  const { store, pinned, secrets, onUnpinned } = dependencies;
  const [note, newest] = [pinned.read(), await store.newest()];
  if (newest === null || newest.note === note) return;
  const own = (await store.logs()).filter((log) => isOwnLog(log, secrets));
  const opened = await openStored(newest, own);
  if (opened === null) throw notOurs();
  if (note !== null && isBefore(newest.note, note)) return;
  await requireGrown(dependencies, note, opened);
  if (note === null) onUnpinned?.();
  await pinned.write(newest.note);
}

function notOurs(): TvsError {
  const message =
    "the newest checkpoint in the database is not one of the evidence log; tvs log audit says more";
  return new TvsError("STORE_CORRUPT", message);
}

/** What to do about a database that is behind. */
export const behindAdvice =
  "it is an old copy, or rows were lost: restore the newest backup, or accept the loss openly with tvs log new --accept-loss";

/** @param note the pinned checkpoint; null when there is none, and the database contradicts itself */
function behind(note: string | null, how: string): TvsError {
  const kept = note === null ? null : treeHeadOf(note);
  const signed = kept === null ? "" : `${kept.size} entries of ${kept.origin} were signed for, and `;
  const message = `the database is behind its evidence log: ${signed}${how}: ${behindAdvice}`;
  return new TvsError("LOG_BEHIND", message);
}

/** How often the leader looks whether there are new attestations. */
const lookMs = 1_000;
/** The most that an answered envelope waits for a checkpoint that covers it, but for a look. */
const signMs = 30_000;
/** How often a node looks at what others have signed: until then it answers over a database that was put back. */
const followMs = 500;

type Scheduled = {
  readonly writer: LogWriter;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/**
 * Builds the tree behind the attestations and signs for it, until it is stopped; a last checkpoint then covers what is
 * there.
 * @returns stops it
 */
export function startBuilding({ writer, store, clock, onError }: Scheduled & { store: LogStore }) {
  let lookedAt = Number.NEGATIVE_INFINITY;

  /** A checkpoint of a time to come is one of a clock that was set back since: then it counts when this last signed. */
  function isDue(progress: LogProgress): boolean {
    const now = clock.now();
    const sinceMs = now - (progress.signedAt ?? 0);
    const isTime = sinceMs >= signMs || (sinceMs < 0 && Math.abs(now - lookedAt) >= signMs);
    if (isSignable(progress) && isTime) lookedAt = now;
    return isSignable(progress) && isTime;
  }

  async function look(isStopped: () => boolean): Promise<void> {
    for (;;) {
      const progress = await store.progress();
      if (isStopped() || progress === null) return;
      if (progress.waiting >= leavesOfCommit) await actAndRest(() => writer.append(), clock);
      else if (isDue(progress)) await actAndRest(() => writer.checkpoint(), clock);
      else return;
    }
  }

  const stop = repeat(look, { everyMs: lookMs, onError, clock });
  return async () => {
    await stop();
    const progress = await store.progress().catch(() => null);
    if (progress !== null && isSignable(progress)) await writer.checkpoint().catch(onError);
  };
}

/** Pins the newest checkpoint, whoever signs. @returns stops it */
export function startFollowing({ writer, clock, onError }: Scheduled): () => Promise<void> {
  return repeat(writer.follow, { everyMs: followMs, onError, clock });
}

/** The largest tree that a new log may begin with: what a kept checkpoint covers, the leaves lead to, and the rows fit. */
async function soundSize({ store, secrets }: LogDependencies, logs: readonly Log[]): Promise<number> {
  const own = logs.filter((log) => isOwnLog(log, secrets));
  let end = Math.min(await store.lastId(), await store.size());
  // Ids of rows that were removed may have been given again to others.
  for (; end > 0; end--) {
    const [[jws], leaf] = [await store.attested(end, 1), await leafOrNull(end - 1, store)];
    if (jws != null && leaf !== null && isSameHash(leaf, leafHash(jws))) break;
  }
  for (let one = await store.newest(); one !== null; one = await store.before(one)) {
    const opened = one.size > end ? null : await openStored(one, own);
    const root = opened === null ? null : await rootOrNull(one.size, store);
    if (opened !== null && root !== null && isSameHash(root, opened.root)) return one.size;
  }
  return 0;
}

/**
 * Begins a new log over what is left of the one before, and names the last known checkpoint of that. The private key of the
 * one before is destroyed in the same transaction, and what retention has deleted is signed by the new one.
 * @param reason why, for everybody who looks at the log
 * @throws TvsError STORE_BUSY while other processes sign
 */
export async function beginNextLog(
  dependencies: LogDependencies & { readonly secrets: Secrets; readonly issuer: string },
  reason: string,
): Promise<Log> {
  const { store, pinned, secrets } = dependencies;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const [logs, newest, note] = [await store.logs(), await store.newest(), pinned.read()];
    const [before, retention] = [logs.at(-1) ?? null, await store.retention()];
    const isPinnedLast =
      note !== null && (headIn(newest?.note) === null || !isBefore(note, newest?.note ?? ""));
    const previous = isPinnedLast ? note : (newest?.note ?? null);
    const number = 1 + Math.max(before?.number ?? 0, numberOf(headIn(previous)?.origin ?? ""));
    const firstSize = await soundSize(dependencies, logs);
    const log = newLog(dependencies, { number, reason, previous, firstSize });
    const deleted = before === null || retention === null ? null : await openRetention(retention, before);
    const renewed = deleted === null ? null : await signRetention(deleted, log, secrets);
    if (await store.begin(log, { log: before, newest, retention }, renewed)) return log;
  }
  throw tooBusy();
}

function tooBusy(): TvsError {
  return new TvsError("STORE_BUSY", "other processes sign for the evidence log all the time; try again");
}
