/**
 * The builder of the evidence log: makes the tree behind the attestations and signs for it. Several may do so at once; the
 * commit decides, and what they sign for cannot contradict each other, because a root at a size follows from the
 * attestations that are committed (decision D13.2).
 */

import { openCheckpoint, readOrigin, signCheckpoint, type TreeHead } from "../../partner/log-checkpoint.ts";
import { isConsistent, isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import { isBefore, isChained, linkOf, linkTo, treeHeadOf } from "./chain.ts";
import { checkpointKeyOf, hasOwnKey, nextSeconds, openingKeysOf } from "./epochs.ts";
import {
  keptLeaf,
  type LogEpoch,
  type LogProgress,
  nextId,
  openingLeaves,
  prefixOf,
  type StoredCheckpoint,
} from "./evidence.ts";
import {
  appendTo,
  consistencyProof,
  edgeOf,
  leafHash,
  missingLeafHash,
  type ReadTiles,
  readOver,
  rootOf,
  type Tile,
} from "./tree.ts";

/** Leaves of one commit: some milliseconds, which calls that wait for the disk do not notice. */
export const leavesOfCommit = 512;
/**
 * A checkpoint covers all that was committed before its time, give or take this, because what stands behind it counts as
 * younger. A process that stood still for longer, since it read the leaves, has to read them anew.
 */
const longestSealMs = 60_000;

type BuilderDependencies = {
  readonly store: EvidenceStore;
  readonly head: PinnedCheckpoint;
  readonly secrets: Pick<Secrets, "open">;
  readonly clock: Clock;
  /** Done before the first checkpoint that is chained: from then on what retention deletes has to be authenticated. */
  readonly onFirst?: (() => Promise<void>) | undefined;
  /** Told of the first attestation in a commit that was taken out before it had a leaf. */
  readonly onMissing?: ((id: number) => void) | undefined;
  /** Told when no checkpoint was kept, though the database had some: from then on that is believed. */
  readonly onTaken?: (() => void) | undefined;
};

export type EvidenceBuilder = ReturnType<typeof createEvidenceBuilder>;

export function createEvidenceBuilder(dependencies: BuilderDependencies) {
  const { store, head, secrets, clock, onFirst, onMissing } = dependencies;
  const keep = keptWith(dependencies);

  /**
   * @param sign whether a checkpoint goes with the leaves, once they are the last ones
   * @returns how many leaves; null when somebody else was faster
   */
  async function step(epoch: LogEpoch, most: number, sign: boolean): Promise<number | null> {
    const [firstId, readAt] = [nextId(epoch), clock.now()];
    const newest = await store.newest();
    const { leaves, tiles, missing } = await nextLeaves(store, epoch, most);
    const [from, to] = [epoch.size, epoch.size + leaves.length];
    let checkpoint: StoredCheckpoint | null = null;
    const isSigned = newest?.epoch === epoch.epoch && newest.size === to;
    if (sign && leaves.length < most && !isSigned) {
      if (!isChained(head.read()) && !isChained(newest?.note ?? null)) await onFirst?.();
      checkpoint = await seal(dependencies, epoch, { size: to, tiles, newest });
      if (checkpoint === null || clock.now() > readAt + longestSealMs) return null;
      // Before anybody can see it: what has been seen is never forgotten here.
      await keep.note(checkpoint.note, newest);
    } else if (leaves.length === 0) return 0;
    const own = { epoch: epoch.epoch, from, to, firstId, checkpoint, previous: newest };
    const isStored = await store.append({ ...own, tiles, prefixes: leaves.map(prefixOf) });
    if (isStored) {
      if (missing !== null) onMissing?.(missing);
      return leaves.length;
    }
    // Who was faster may have kept a later one in the same moment.
    if (checkpoint !== null) await follow();
    return null;
  }

  async function current(): Promise<LogEpoch | undefined> {
    return (await store.epochs()).at(-1);
  }

  /** Appends the next leaves, without signing. @returns how many: fewer than {@link leavesOfCommit} at the end */
  async function append(): Promise<number> {
    const epoch = await current();
    return epoch === undefined ? 0 : ((await step(epoch, leavesOfCommit, false)) ?? leavesOfCommit);
  }

  /**
   * Appends all that was committed before, and signs for the tree: a leaf behind a checkpoint is younger than that.
   * @throws TvsError LOG_BEHIND
   */
  async function sign(): Promise<void> {
    await requireNotBehind();
    for (let epoch = await current(); epoch !== undefined; epoch = await current())
      if ((await step(epoch, leavesOfCommit, true)) !== leavesOfCommit) return;
  }

  /**
   * Appends what is there and signs for it.
   * @returns the newest checkpoint, which covers every attestation that was committed before; null without any
   * @throws TvsError LOG_BEHIND
   */
  async function checkpoint(): Promise<StoredCheckpoint | null> {
    // Also when there is nothing to sign: what an old copy calls its newest checkpoint is not.
    await requireNotBehind();
    const begun = await store.progress();
    // What is committed from now on is for the next one: under load there is always more.
    const wanted = begun === null ? 0 : begun.size + begun.waiting;
    for (let now = begun; now !== null && wanted > 0; now = await store.progress()) {
      if (now.epoch !== begun?.epoch) return checkpoint();
      if (now.signedSize >= wanted) return store.newest();
      if (wanted - now.size > leavesOfCommit) await append();
      else await sign();
    }
    return null;
  }

  /** Keeps the newest checkpoint that somebody else has signed. @throws TvsError LOG_BEHIND */
  async function follow(): Promise<void> {
    const [kept, newest, progress] = await Promise.all([head.read(), keep.newest(), store.progress()]);
    if (isFollowed(kept, newest, progress)) return requireNewest(dependencies);
    await requireNotBehind();
    const note = await noteToKeep(dependencies, kept, newest);
    if (note !== null) await keep.note(note, newest);
  }

  /**
   * Refuses a database that has lost what was signed for: nothing may be signed on top of it.
   * @throws TvsError LOG_BEHIND
   */
  async function requireNotBehind(): Promise<void> {
    const missing = (await store.progress())?.missing ?? 0;
    if (missing > 0) throw behind(head.read(), `its newest ${missing} attestations are not there any more`);
    await requireNewest(dependencies);
    const note = head.read();
    if (note === null) return;
    const kept = treeHeadOf(note);
    const epochs = await store.epochs();
    const epoch = epochs.at(-1);
    if (isSucceeded(note, epochs, secrets)) return;
    if (epoch?.origin !== kept.origin) throw behind(note, "the database knows no such log");
    // Closed while it was looked at.
    if (!(await reach(epoch, kept.size, note))) return requireNotBehind();
    const root = await rootOf(kept.size, store.tiles(epoch.epoch));
    if (!isSameHash(root, kept.root)) throw behind(note, "its first entries are others");
    await putBack(store, epoch, note);
  }

  /**
   * Appends without signing until the tree is as long as it was: the head is kept before the tree.
   * @returns false when the epoch is closed by now
   */
  async function reach({ epoch: number }: LogEpoch, size: number, note: string): Promise<boolean> {
    for (;;) {
      const epoch = await current();
      if (epoch?.epoch !== number) return false;
      if (epoch.size >= size) return true;
      const appended = await step(epoch, Math.min(leavesOfCommit, size - epoch.size), false);
      if (appended === 0) throw behind(note, `it has ${epoch.size}`);
    }
  }

  return triedAgain(store, { append, sign, checkpoint, follow, requireNotBehind });
}

/**
 * What is found wrong with an epoch that is closed meanwhile, which cuts its tree, says nothing of the log: whatever fails is
 * tried again in the epoch that there is by then.
 */
function triedAgain<Acts extends Record<string, () => Promise<unknown>>>(
  { epochs }: Pick<EvidenceStore, "epochs">,
  acts: Acts,
): Acts {
  let known: number | undefined;

  async function tried<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const newest = (await epochs()).at(-1)?.epoch;
      if (newest === known) throw error;
      known = newest;
      return tried(act);
    }
  }

  return Object.fromEntries(Object.entries(acts).map(([name, act]) => [name, () => tried(act)])) as Acts;
}

/** Keeps notes, and tells when none was kept though the log has some: its first one, just seen to come, is no such. */
function keptWith({ store, head, onTaken }: Pick<BuilderDependencies, "store" | "head" | "onTaken">) {
  let wasUnsigned = false;
  return {
    async newest(): Promise<StoredCheckpoint | null> {
      const newest = await store.newest();
      if (newest === null) wasUnsigned = true;
      return newest;
    },
    /** @param newest what the database has until now */
    async note(note: string, newest: StoredCheckpoint | null): Promise<void> {
      if (newest !== null && !wasUnsigned && head.read() === null) onTaken?.();
      wasUnsigned = false;
      await head.write(note);
    },
  };
}

/**
 * The newest checkpoint of the database, where it says more than the kept one and is known to be ours: it grew out of that,
 * or it is of another epoch, whose key shows it; once that is closed the key is gone, and the next one's is waited for.
 * @throws TvsError STORE_CORRUPT, LOG_BEHIND
 */
async function noteToKeep(
  { store, secrets }: Pick<BuilderDependencies, "store" | "secrets">,
  kept: string | null,
  newest: StoredCheckpoint | null,
): Promise<string | null> {
  const epochs = await store.epochs();
  if (newest === null || !isAsFar(newest, kept, epochs)) return null;
  const note = await ownNote(newest, epochs);
  if (await requireGrown(kept, treeHeadOf(note), store.tiles(newest.epoch))) return note;
  const epoch = epochs.at(-1);
  if (epoch?.epoch !== newest.epoch) return null;
  if (hasOwnKey(epoch, secrets) === true) return note;
  throw notOurs();
}

/**
 * Holds a tree against the kept checkpoint of the same log: it must have grown out of that, whatever its tiles say.
 * @returns false where no checkpoint of that log is kept
 * @throws TvsError LOG_BEHIND
 */
async function requireGrown(note: string | null, { origin, size, root }: TreeHead, read: ReadTiles) {
  const kept = note === null ? null : treeHeadOf(note);
  if (kept?.origin !== origin || kept.size === 0 || kept.size > size) return false;
  const hashes = (await consistencyProof(kept.size, size, read)).map((hash) => new Uint8Array(hash));
  const proof = { from: kept.size, to: size, fromRoot: kept.root, toRoot: root, hashes };
  if (await isConsistent(proof)) return true;
  throw behind(note, "its first entries are others");
}

/** Whether a tree is of a later epoch than a checkpoint, or the same one where nothing was signed for yet. */
function isLater({ origin }: TreeHead, note: string): boolean {
  const kept = treeHeadOf(note);
  if (kept.origin === origin) return kept.size === 0;
  return readOrigin(origin).epoch > readOrigin(kept.origin).epoch;
}

/** Whether what is kept is what the database has, of the epoch that it is in. */
function isFollowed(kept: string | null, newest: StoredCheckpoint | null, now: LogProgress | null): boolean {
  if ((newest?.note ?? null) !== kept || (now?.missing ?? 0) > 0) return false;
  return kept === null || treeHeadOf(kept).origin === now?.origin;
}

/**
 * Refuses a tree whose newest attestation is another than its leaf says: ids are given anew to others when the newest rows
 * were taken out, so that none seems to be missing.
 */
async function requireNewest({ store, head }: Pick<BuilderDependencies, "store" | "head">): Promise<void> {
  const epoch = (await store.epochs()).at(-1);
  if (epoch === undefined || epoch.size <= openingLeaves(epoch)) return;
  const id = nextId(epoch) - 1;
  const [[jws], leaf] = await Promise.all([store.attested(id, 1), keptLeaf(store, id)]);
  // Retention has deleted it, though later ones wait; or another epoch was opened meanwhile.
  if (jws === undefined || jws === null || leaf === undefined) return;
  if (!isSameHash(leaf, leafHash(jws))) throw behind(head.read(), "its newest entry is another");
}

/** @returns the leaves that are to be appended, the tiles that change by them, and the first id that is missing */
async function nextLeaves(store: EvidenceStore, epoch: LogEpoch, most: number) {
  const firstId = nextId(epoch);
  const attested = await store.attested(firstId, most);
  const leaves = attested.map((jws, at) => (jws === null ? missingLeafHash(firstId + at) : leafHash(jws)));
  const tiles = appendTo(epoch.size, await store.tiles(epoch.epoch)(edgeOf(epoch.size)), leaves);
  return { leaves, tiles, missing: attested.includes(null) ? firstId + attested.indexOf(null) : null };
}

/**
 * Signs for the tree as it is with tiles that are yet to be stored.
 * @returns null where a later checkpoint is kept: another one has signed it meanwhile, or the tree was cut
 * @throws TvsError LOG_BEHIND
 */
async function seal(
  { store, head, secrets, clock }: BuilderDependencies,
  epoch: LogEpoch,
  { size, tiles, newest }: { size: number; tiles: readonly Tile[]; newest: StoredCheckpoint | null },
): Promise<StoredCheckpoint | null> {
  const read = readOver(tiles, store.tiles(epoch.epoch));
  const root = new Uint8Array(await rootOf(size, read));
  const treeHead = { origin: epoch.origin, size, root, extensions: [linkTo(newest?.note ?? null)] };
  // Once more, of the very root: what was compared before may have been changed since.
  const kept = head.read();
  if (!(await requireGrown(kept, treeHead, read)) && kept !== null && !isLater(treeHead, kept)) return null;
  const seconds = await nextSeconds(epoch, newest?.note ?? "", clock);
  const note = await signCheckpoint(treeHead, seconds, checkpointKeyOf(epoch, secrets));
  return { epoch: epoch.epoch, size, signedAt: seconds * 1000, note };
}

/**
 * Whether the log of a checkpoint was closed, openly, for a later epoch with a name and a key of its own. Only the key
 * shows that it is later: numbers and links are the database's, but no key is sealed under a name that never was.
 */
function isSucceeded(note: string, epochs: readonly LogEpoch[], secrets: BuilderDependencies["secrets"]) {
  const newest = epochs.at(-1);
  if (newest === undefined || hasOwnKey(newest, secrets) !== true) return false;
  const { origin: closed } = treeHeadOf(note);
  const follows = (link: string) => treeHeadOf(link).origin === closed && !isBefore(link, note);
  const isKnown = epochs.some(({ origin, previous }) => origin === closed || (previous && follows(previous)));
  return isKnown && readOrigin(newest.origin).epoch > readOrigin(closed).epoch;
}

/**
 * The note of a row that is the checkpoint that it says it is: what is kept here has to be the log's own word.
 * @throws TvsError STORE_CORRUPT
 */
async function ownNote({ epoch, size, note }: StoredCheckpoint, epochs: readonly LogEpoch[]) {
  const opened = await openCheckpoint(note, await openingKeysOf(epochs.filter((one) => one.epoch === epoch)));
  if (!(opened instanceof Refusal) && opened.size === size) return note;
  throw notOurs();
}

function notOurs(): TvsError {
  const message =
    "the newest checkpoint in the database is not one of the evidence log; tvs log audit says more";
  return new TvsError("STORE_CORRUPT", message);
}

/**
 * A checkpoint that was kept before the database had it is one like the others, unless another one was signed meanwhile:
 * then it is no link of the chain, and the next one covers what it did.
 * @throws TvsError LOG_BEHIND when another key has signed it
 */
async function putBack(store: EvidenceStore, epoch: LogEpoch, note: string): Promise<void> {
  const { size, extensions } = treeHeadOf(note);
  const newest = await store.newest();
  if (newest?.epoch === epoch.epoch && newest.size >= size) return;
  const link = linkOf({ extensions: extensions ?? [] });
  if (link !== null && link !== linkTo(newest?.note ?? null)) return;
  const opened = await openCheckpoint(note, await openingKeysOf([epoch]));
  if (opened instanceof Refusal) throw behind(note, "another key has signed it");
  await store.keep({ epoch: epoch.epoch, size, signedAt: opened.seconds * 1000, note }, newest);
}

/** Whether there is something that no checkpoint covers. */
export function isSignable({ size, signedSize, waiting }: LogProgress): boolean {
  return waiting > 0 || size > signedSize;
}

/**
 * Whether a checkpoint of the database says as much as the one that is kept, or more: of two that were signed for the same
 * tree at the same time, the database has the one that others see.
 */
export function isAsFar(newest: StoredCheckpoint, kept: string | null, epochs: readonly LogEpoch[]): boolean {
  if (kept === null) return true;
  const { origin, size } = treeHeadOf(kept);
  const epoch = epochs.find((one) => one.origin === origin)?.epoch ?? 0;
  return newest.epoch > epoch || (newest.epoch === epoch && newest.size >= size);
}

/** What a database that is behind is, and what to do about it. */
export const behindAdvice =
  "it is an old copy, or rows were lost: restore the newest backup, or accept the loss openly with tvs log epoch";

/** @param note the kept checkpoint; null when there is none, and the database contradicts itself */
function behind(note: string | null, how: string): TvsError {
  const kept = note === null ? null : treeHeadOf(note);
  const signed = kept === null ? "" : `${kept.size} entries of ${kept.origin} were signed for, and `;
  const message = `the database is behind its evidence log: ${signed}${how}: ${behindAdvice}`;
  return new TvsError("LOG_BEHIND", message);
}
