/**
 * How the evidence log grows: leaves are appended for committed attestations, and checkpoints are signed over the leaves.
 * Several processes may do both. The transaction decides which write counts, and their checkpoints cannot contradict each
 * other, because the root at a size follows from the committed attestations (decision D13.2).
 */

import { openCheckpoint, signCheckpoint, type TreeHead } from "../../partner/log-checkpoint.ts";
import { isConsistent, isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { Log, LogStore, StoredCheckpoint } from "../../store/evidence/log.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import { repeat, runAndPause } from "../serial.ts";
import {
  checkpointKeyOf,
  headIn,
  isBefore,
  isOwnLog,
  isSignable,
  linkOf,
  linkTo,
  newLog,
  numberOf,
  openingKeysOf,
  openStored,
  prefixOf,
  treeHeadOf,
} from "./log.ts";
import { openRetention, signRetention } from "./retention.ts";
import {
  appendTo,
  consistencyProof,
  edgeOf,
  hasRoot,
  leafAt,
  leafHash,
  missingLeafHash,
  rootOf,
} from "./tree.ts";

/** Leaves of one commit, which takes a few milliseconds. Calls that commit in the meantime wait for no longer. */
const leavesOfCommit = 512;
/** Attestations that may be missing in a row. Each gets a leaf, and an id that somebody wrote by hand may be any number. */
const maxMissing = 10_000;
/** How often a write is tried while other processes sign too. */
const maxAttempts = 20;
/** A checkpoint whose time is further ahead than this was signed with a wrong clock. The next one does not follow its time. */
const longestAheadSeconds = 86_400;

type LogDependencies = {
  readonly store: LogStore;
  readonly pinned: PinnedCheckpoint;
  readonly secrets: Pick<Secrets, "open" | "mac">;
  readonly clock: Clock;
  /** Gets the id of an attestation that was removed before it had a leaf. */
  readonly onMissing?: ((id: number) => void) | undefined;
  /** Is called when the newest checkpoint of the database is believed, because no checkpoint is pinned. */
  readonly onUnpinned?: (() => void) | undefined;
};

export type LogWriter = ReturnType<typeof createLogWriter>;

export function createLogWriter(dependencies: LogDependencies) {
  const { store, pinned, secrets, clock } = dependencies;
  const append = () => appendLeaves(dependencies);
  const requireNotBehind = () => refuseLoss(dependencies);

  /**
   * Signs a checkpoint over every attestation that was committed before.
   * @returns the newest checkpoint; null when there is no attestation
   * @throws TvsError LOG_BEHIND, STORE_CORRUPT, STORE_BUSY
   */
  async function checkpoint(): Promise<StoredCheckpoint | null> {
    const wanted = await store.lastId();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await requireNotBehind();
      while ((await store.size()) < wanted && (await append()) > 0);
      // On the disk: the attestations and their leaves. After a kill here the next run goes on with the next leaf.

      const [log, newest, size] = [
        (await store.logs()).at(-1),
        await readNewest(dependencies),
        await store.size(),
      ];
      if (log === undefined || size === 0) return null;
      if (newest?.log === log.number && newest.size === size) {
        await pinNewest(dependencies);
        return newest;
      }
      const root = new Uint8Array(await rootOf(size, store.tiles));
      const before = newest?.log === log.number ? newest.note : log.previous;
      const head = { origin: log.origin, size, root, extensions: [linkTo(before)] };
      if (!(await hasGrown(dependencies, head))) continue;
      const seconds = nextSeconds(newest, clock);
      const note = await signCheckpoint(head, seconds, checkpointKeyOf(log, secrets));
      // On the disk: nothing new. A kill here loses the note, which nobody has seen.

      if (newest !== null && pinned.read() === null) dependencies.onUnpinned?.();
      if (!(await pinned.write(note))) continue;
      // On the disk: the note, only in log.checkpoint. After a kill here `tvs log audit` says that the database lacks the
      // checkpoint, and the next run stores it (`storePinned`).

      const signed = { log: log.number, size, signedAt: seconds * 1000, note };
      if (await store.addCheckpoint(signed, newest)) return signed;
      // On the disk: the note in log.checkpoint and in the database, where everybody may read it. Or another process has
      // stored a checkpoint after the same predecessor first: then nobody has seen this note, and the loop goes on.
    }
    throw tooBusy();
  }

  /** Pins the newest checkpoint, which another process may have stored. @throws TvsError LOG_BEHIND, STORE_CORRUPT */
  async function follow(): Promise<void> {
    await requireNotBehind();
    await pinNewest(dependencies);
  }

  return { append, checkpoint, follow, requireNotBehind };
}

/** Appends the leaves of the next attestations in one commit. @returns how many; 0 at the end */
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
    return jws === undefined ? missingLeafHash(id) : leafHash(jws);
  });
  const tiles = appendTo(size, await store.tiles(edgeOf(size)), leaves);
  const isStored = await store.append(size, tiles, leaves.map(prefixOf));
  const missing = ids.find((id) => !jwsOf.has(id));
  if (isStored && missing !== undefined) onMissing?.(missing);
  // If another process has appended first, it has appended the same leaves.
  return leaves.length;
}

/** The time of the next checkpoint. It never goes back, as a clock may: the log would look backdated. */
function nextSeconds(newest: StoredCheckpoint | null, clock: Clock): number {
  const [last, now] = [(newest?.signedAt ?? 0) / 1000, Math.floor(clock.now() / 1000)];
  return last - now > longestAheadSeconds ? now : Math.max(now, last);
}

/**
 * The newest checkpoint of the database. Its time is the signed one, not that of the column: somebody who writes to the
 * database must not get the next checkpoint signed with a time of their choice.
 * @throws TvsError STORE_CORRUPT when no log of ours signed it
 */
async function readNewest({ store, secrets }: LogDependencies): Promise<StoredCheckpoint | null> {
  const newest = await store.newest();
  if (newest === null) return null;
  const opened = await openStored(
    newest,
    (await store.logs()).filter((log) => isOwnLog(log, secrets)),
  );
  if (opened !== null) return { ...newest, signedAt: opened.seconds * 1000 };
  const message =
    "the newest checkpoint in the database is not one of the evidence log; tvs log audit says more";
  throw new TvsError("STORE_CORRUPT", message);
}

/**
 * What a database has lost of what was signed for, in words; null when it has lost nothing. `serve` refuses a database that
 * has, `tvs doctor` and `tvs log audit` report it. Writes nothing.
 * @param note the pinned checkpoint; null without one
 * @param secrets null without the master key: then the log's own key is not authenticated
 */
export async function lossOf(
  note: string | null,
  { store, secrets }: { store: LogStore; secrets: Pick<Secrets, "mac"> | null },
): Promise<string | null> {
  const pinned = note === null ? null : treeHeadOf(note);
  const [logs, progress] = [await store.logs(), await store.progress()];
  const log = logs.at(-1);
  if (log === undefined || progress === null) return pinned && `it has no log ${pinned.origin}`;
  if (secrets !== null && !isOwnLog(log, secrets))
    return `${log.origin} was begun by somebody without the master key`;
  if (progress.missing > 0) return `its newest ${progress.missing} attestations are missing`;
  if (await isLastOther(store, progress.size)) return "its newest entry is another";
  if (note === null || pinned === null) return null;
  const { origin, size } = pinned;
  if (origin !== log.origin) return isSucceeded(pinned, logs, secrets) ? null : `it has no log ${origin}`;
  const reached = progress.size + progress.waiting;
  if (size > reached) return `${size} entries of ${origin} were signed for, and it has ${reached}`;
  if ((await openCheckpoint(note, await openingKeysOf([log]))) instanceof Refusal)
    return "another key has signed the pinned checkpoint";
  // Attestations that have no leaf yet are compared after they are appended.
  if (size > progress.size || (await hasRoot(pinned, store.tiles))) return null;
  return `its first ${size} entries are others`;
}

/**
 * Whether the newest leaf belongs to another attestation. SQLite gives the ids of removed newest rows to the next rows, so
 * that no id is missing.
 */
async function isLastOther(store: LogStore, size: number): Promise<boolean> {
  const [row] = size === 0 ? [] : await store.attested(size, 1);
  // Without the row retention has deleted it, and later attestations wait for their leaves.
  if (row?.id !== size) return false;
  const leaf = await leafAt(size - 1, store.tiles);
  return leaf === null || !isSameHash(leaf, leafHash(row.jws));
}

/** Whether a later log of ours names the pinned checkpoint, or a later one of the same log. */
function isSucceeded(pinned: TreeHead, logs: readonly Log[], secrets: Pick<Secrets, "mac"> | null): boolean {
  return logs.some((log) => {
    const previous = headIn(log.previous);
    const isOwn = secrets === null || isOwnLog(log, secrets);
    return isOwn && previous?.origin === pinned.origin && previous.size >= pinned.size;
  });
}

/**
 * Refuses a database that has lost what was signed for: nothing may be signed on top of it. A process that was killed may
 * have left leaves that the pinned checkpoint covers and the database lacks; they are appended first.
 * @throws TvsError LOG_BEHIND, STORE_CORRUPT
 */
async function refuseLoss(dependencies: LogDependencies): Promise<void> {
  const { store, pinned } = dependencies;
  const note = pinned.read();
  const refuse = async () => {
    const loss = await lossOf(note, dependencies);
    if (loss !== null) throw behind(loss);
  };
  await refuse();
  const log = (await store.logs()).at(-1);
  if (note === null || log === undefined || treeHeadOf(note).origin !== log.origin) return;
  if ((await store.size()) < treeHeadOf(note).size) {
    while ((await store.size()) < treeHeadOf(note).size && (await appendLeaves(dependencies)) > 0);
    await refuse();
  }
  await storePinned(dependencies, log, note);
}

/**
 * Whether a tree has grown out of the pinned checkpoint of the same log.
 * @returns false when a larger one was pinned after the tree was read, by this process or another one
 * @throws TvsError LOG_BEHIND when the tree has other entries
 */
async function hasGrown(
  { store, pinned }: LogDependencies,
  { origin, size, root }: TreeHead,
): Promise<boolean> {
  const kept = headIn(pinned.read());
  if (kept === null || kept.origin !== origin) return true;
  if (kept.size > size) return false;
  const hashes = (await consistencyProof(kept.size, size, store.tiles)).map((hash) => new Uint8Array(hash));
  const proof = { from: kept.size, to: size, fromRoot: kept.root, toRoot: root, hashes };
  if (!(await isConsistent(proof))) throw behind(`its first ${kept.size} entries are others`);
  return true;
}

/**
 * Stores the pinned checkpoint if the database lacks it, because a process was killed before it stored it, or somebody
 * removed it. If earlier checkpoints were removed too, the audit finds that the pinned one names a missing checkpoint.
 */
async function storePinned(dependencies: LogDependencies, log: Log, note: string): Promise<void> {
  const [head, newest] = [treeHeadOf(note), await readNewest(dependencies)];
  if (newest !== null && !isBefore(newest.note, note)) return;
  // Another process has stored one with the same predecessor instead, and nobody has seen the pinned one.
  if (newest?.log === log.number && linkOf(treeHeadOf(newest.note)) === linkOf(head)) return;
  const opened = await openCheckpoint(note, await openingKeysOf([log]));
  if (opened instanceof Refusal) return;
  const { size, seconds } = opened;
  await dependencies.store.addCheckpoint({ log: log.number, size, signedAt: seconds * 1000, note }, newest);
}

/** Pins the newest checkpoint of the database, if it is later than the pinned one. @throws TvsError STORE_CORRUPT, LOG_BEHIND */
async function pinNewest(dependencies: LogDependencies): Promise<void> {
  const { pinned, onUnpinned } = dependencies;
  const [note, newest] = [pinned.read(), await readNewest(dependencies)];
  if (newest === null || newest.note === note || (note !== null && isBefore(newest.note, note))) return;
  if (!(await hasGrown(dependencies, treeHeadOf(newest.note)))) return;
  if (note === null) onUnpinned?.();
  await pinned.write(newest.note);
}

/** What to do about a database that is behind. */
export const behindAdvice =
  "it is an old copy, or rows were lost: restore the newest backup, or accept the loss openly with tvs log new --accept-loss";

function behind(loss: string): TvsError {
  return new TvsError("LOG_BEHIND", `the database is behind its evidence log: ${loss}: ${behindAdvice}`);
}

/** How often the leader looks for new attestations. */
const pollIntervalMs = 1_000;
/** The time between two checkpoints while there are new attestations. */
const signMs = 30_000;
/** How often a node reads the newest checkpoint. For so long it may answer over a database that was put back. */
const followMs = 500;

type Scheduled = {
  readonly writer: LogWriter;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/**
 * Appends leaves and signs checkpoints until it is stopped. A last checkpoint then covers what is left.
 * @returns stops it
 */
export function startBuilding({ writer, store, clock, onError }: Scheduled & { store: LogStore }) {
  let signedAt = Number.NEGATIVE_INFINITY;

  async function look(isStopped: () => boolean): Promise<void> {
    for (;;) {
      const progress = await store.progress();
      if (isStopped() || progress === null) return;
      if (progress.waiting >= leavesOfCommit) {
        await runAndPause(() => writer.append(), clock);
        continue;
      }
      // A clock that was set back counts as well: its distance to the last checkpoint grows too.
      if (!isSignable(progress) || Math.abs(clock.now() - signedAt) < signMs) return;
      signedAt = clock.now();
      await runAndPause(() => writer.checkpoint(), clock);
    }
  }

  const stop = repeat(look, { everyMs: pollIntervalMs, onError, clock });
  return async () => {
    await stop();
    const progress = await store.progress().catch(() => null);
    if (progress !== null && isSignable(progress)) await writer.checkpoint().catch(onError);
  };
}

/** Pins the newest checkpoint again and again, whichever process signs. @returns stops it */
export function startFollowing({ writer, clock, onError }: Scheduled): () => Promise<void> {
  return repeat(writer.follow, { everyMs: followMs, onError, clock });
}

/** The largest tree that a new log may begin with: a kept checkpoint covers it, and the leaves and the newest rows fit. */
async function soundSize({ store, secrets }: LogDependencies): Promise<number> {
  const own = (await store.logs()).filter((log) => isOwnLog(log, secrets));
  let end = Math.min(await store.lastId(), await store.size());
  // The newest rows may have ids of rows that were removed.
  for (; end > 0; end--) {
    const [row] = await store.attested(end, 1);
    if (row?.id === end && !(await isLastOther(store, end))) break;
  }
  for (let one = await store.before({ size: end + 1, log: 0 }); one !== null; one = await store.before(one)) {
    const opened = await openStored(one, own);
    if (opened !== null && (await hasRoot(opened, store.tiles))) return one.size;
  }
  return 0;
}

/**
 * Begins a new log over what is left of the log before, and names the last known checkpoint of that log. One transaction
 * stores the new log, destroys the private key of the log before, cuts the tree to its sound part, and stores a retention
 * note that the new log signs. A kill leaves all of it or nothing.
 * @param reason why, for everybody who looks at the log
 * @throws TvsError STORE_BUSY while other processes sign
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
      newest !== null && headIn(newest.note) !== null && (note === null || isBefore(note, newest.note));
    const previous = isStoredLast ? newest.note : note;
    const number = 1 + Math.max(before?.number ?? 0, numberOf(headIn(previous)?.origin ?? ""));
    const firstSize = await soundSize(dependencies);
    const log = newLog(dependencies, { number, reason, previous, firstSize });
    const deleted =
      before === undefined || retention === null ? null : await openRetention(retention, before);
    const renewed = deleted === null ? null : await signRetention(deleted, log, secrets);
    if (await store.begin(log, state, renewed)) return log;
  }
  throw tooBusy();
}

function tooBusy(): TvsError {
  return new TvsError("STORE_BUSY", "other processes sign for the evidence log all the time; try again");
}
