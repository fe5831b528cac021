/**
 * The audit of the evidence log (decision D13.7). It promises:
 * 1. every attestation that is kept is the one that was logged, and none is missing but what the retention note names;
 * 2. every checkpoint that was signed is kept, and fits the leaves, up to the pinned one.
 * It reads in blocks and writes nothing, so a service may run at the same time.
 */

import { type Checkpoint, openCheckpoint } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { LogStore } from "../../store/evidence/log.ts";
import type { Secrets } from "../secrets.ts";
import { type AuditedRow, contradictionsIn, type SignatureChecks } from "./audit-rows.ts";
import { isSucceeded } from "./checkpoint.ts";
import {
  headIn,
  isOwnLog,
  type Log,
  linkOf,
  linkTo,
  openingKeysOf,
  openStored,
  type StoredCheckpoint,
} from "./log.ts";
import { openRetention } from "./retention.ts";
import { growTree, hashBytes, leafHash, missingLeafHash, type TileRoot, tileHashes } from "./tree.ts";

/**
 * An attestation that is not the one that was logged (changed, removed, inserted or moved), a checkpoint that is missing or
 * does not fit, and a database that was put back. In this order they are listed.
 */
const kinds = ["BEHIND", "ATTESTATION", "CHECKPOINT"] as const;

export type AuditFinding = {
  readonly what: (typeof kinds)[number];
  /** Of the leaf, or of a checkpoint its size; null where neither is meant. */
  readonly position: number | null;
  readonly verificationId: string | null;
  /** One sentence. */
  readonly says: string;
};

export type AuditResult = {
  /** Each log that was begun, and how many checkpoints of it are kept. */
  readonly logs: readonly { readonly origin: string; readonly checkpoints: number }[];
  readonly leaves: number;
  /** Attestations that were compared, and of how many the own signature was verified. */
  readonly compared: number;
  readonly verified: number;
  /** Attestations that retention has deleted. */
  readonly deleted: number;
  /** Attestations that have no leaf yet. */
  readonly waiting: number;
  /** The first hundred. */
  readonly findings: readonly AuditFinding[];
  /** How many there were, also of those that are not listed. */
  readonly found: number;
  /** False when no checkpoint is pinned: an old copy of the database would look the same. */
  readonly isPinned: boolean;
};

type AuditDependencies = {
  readonly store: LogStore;
  /** The pinned checkpoint, read before anything of the database; null without one. */
  readonly pinned: string | null;
  readonly secrets: Pick<Secrets, "mac">;
  readonly signatures: SignatureChecks;
  /** Waits until a process that is about to store the pinned checkpoint has done so. */
  readonly settle: () => Promise<void>;
  /** @param total leaves in all */
  onProgress(done: number, total: number): void;
};

type Reached = Pick<StoredCheckpoint, "log" | "size" | "note"> & { readonly root: Uint8Array };

type Findings = ReturnType<typeof createFindings>;

const maxListed = 100;
/** Checkpoints that are read and verified together. */
const checkpointsAtOnce = 256;
/** How far times may go back in the order of the log: clocks of nodes differ by up to a minute (decision D12.4). */
const disorderSeconds = 120;

function createFindings() {
  const found: AuditFinding[] = [];
  let count = 0;
  return {
    add(
      what: AuditFinding["what"],
      position: number | null,
      says: string,
      verificationId: string | null = null,
    ) {
      count++;
      if (found.length < maxListed) found.push({ what, position, verificationId, says });
    },
    list: () =>
      found.toSorted(
        (a, b) => kinds.indexOf(a.what) - kinds.indexOf(b.what) || (a.position ?? -1) - (b.position ?? -1),
      ),
    count: () => count,
  };
}

/** @returns null when there is no log, and none was pinned */
export async function auditLog(dependencies: AuditDependencies): Promise<AuditResult | null> {
  const { store, pinned, secrets, onProgress } = dependencies;
  const findings = createFindings();
  const [logs, newest] = [await store.logs(), await store.newest()];
  const [size, last, first] = [await store.size(), await store.lastId(), await store.firstId()];
  if (logs.length === 0 && pinned === null) return null;
  const own = logs.filter((log) => isOwnLog(log, secrets));
  for (const { origin } of logs.filter((log) => !own.includes(log)))
    findings.add("CHECKPOINT", null, `${origin} was begun by somebody without the master key`);
  if (first !== null && first < 1)
    findings.add("ATTESTATION", null, `attestation ${first} was inserted: the log begins with 1`);
  const checkpoints = createCheckpointCheck(store, { logs, own, newest, findings });
  const tiles = createTileCheck(store, size, findings);
  const tree = growTree(tiles.add);
  const rows = createRowCheck(dependencies, { log: own.at(-1), size, newest, findings });
  await rows.readRetention();
  const end = Math.max(size, last);
  const reached = await checkPinned(dependencies, { logs, size: end, findings });
  for (let from = 0; from < end; from += tileHashes) {
    const upTo = Math.min(end, from + tileHashes);
    const found = await store.auditRows(from + 1, upTo);
    const hashes = await store.tile(0, from / tileHashes);
    // The note is read behind the rows: it names what was deleted until then.
    if (found.length < upTo - from) await rows.readRetention();
    await checkpoints.readTo(upTo);
    let next = 0;
    for (let index = from; index < upTo; index++) {
      const row = found[next]?.id === index + 1 ? found[next++] : undefined;
      const leaf = index < size ? hashIn(hashes, index) : undefined;
      rows.check(index, row, leaf);
      if (leaf !== undefined) tree.push(leaf);
      checkpoints.compare(index + 1, leaf?.length === hashBytes ? tree.root : null);
      if (reached?.size === index + 1 && !isSameHash(tree.root() ?? new Uint8Array(), reached.root))
        findings.add("CHECKPOINT", reached.size, "the pinned checkpoint was signed for other leaves");
    }
    // An id far behind was written by hand, and there may be any number of ids before it.
    if (found.length === 0 && from >= size) break;
    await tiles.compare();
    onProgress(upTo, end);
  }
  await checkpoints.finish();
  if (reached !== null) await checkStored(dependencies, reached, findings);
  return {
    logs: logs.map(({ number, origin }) => ({ origin, checkpoints: checkpoints.countOf(number) })),
    leaves: size,
    ...rows.counts(),
    waiting: Math.max(0, last - size),
    findings: findings.list(),
    found: findings.count(),
    isPinned: pinned !== null || end === 0,
  };
}

function hashIn(tile: Uint8Array, position: number): Uint8Array {
  const at = (position % tileHashes) * hashBytes;
  return tile.subarray(at, at + hashBytes);
}

/** Promise 1: compares attestations with their leaves, and with the columns beside them. */
function createRowCheck(
  { store, signatures }: AuditDependencies,
  {
    log,
    size,
    newest,
    findings,
  }: { log: Log | undefined; size: number; newest: StoredCheckpoint | null; findings: Findings },
) {
  let [compared, verified, deleted, position, isForged] = [0, 0, 0, 0, false];
  let issuedBefore = Number.NEGATIVE_INFINITY;

  /** The log vouches for what a checkpoint covers; an older time than that of the one before is odd. */
  function forgeryOf(index: number, row: AuditedRow): string | null {
    const isOdd = row.issuedAt < issuedBefore - disorderSeconds;
    issuedBefore = row.issuedAt;
    if (!signatures.all && !isOdd && index < (newest?.size ?? 0)) return null;
    verified++;
    return signatures.findForgery(row);
  }

  function there(index: number, row: AuditedRow, leaf: Uint8Array | undefined): string | null {
    compared++;
    if (leaf !== undefined && !isSameHash(leafHash(row.jws), leaf))
      return "does not fit its leaf: it was changed, or one was removed or inserted here";
    const columns = contradictionsIn(row);
    if (columns.length > 0) return `contradicts its signed result in ${columns.join(", ")}`;
    const forgery = forgeryOf(index, row);
    return forgery === null ? null : `was inserted: ${forgery}`;
  }

  function missing(index: number, leaf: Uint8Array | undefined): string | null {
    if (index < position) {
      deleted++;
      return null;
    }
    const wasMissing = leaf === undefined || isSameHash(leaf, missingLeafHash(index + 1));
    return wasMissing ? "was removed before it was logged, or those behind it were inserted" : "was removed";
  }

  return {
    async readRetention(): Promise<void> {
      const note = await store.retention();
      const said = note === null || log === undefined ? null : await openRetention(note, log);
      position = Math.min(said?.position ?? 0, size);
      if (note === null || said !== null || isForged) return;
      isForged = true;
      findings.add("ATTESTATION", null, "the note of what retention has deleted is not signed by the log");
    },
    check(index: number, row: AuditedRow | undefined, leaf: Uint8Array | undefined): void {
      const says = row === undefined ? missing(index, leaf) : there(index, row, leaf);
      if (says === null) return;
      findings.add("ATTESTATION", index, `attestation ${index + 1} ${says}`, row?.verificationId);
    },
    counts: () => ({ compared, verified, deleted }),
  };
}

/** Compares the tiles above the leaves, by which proofs are given and the next root is computed. */
function createTileCheck(store: LogStore, size: number, findings: Findings) {
  let found: TileRoot[] = [];
  let isNamed = false;
  return {
    add(one: TileRoot): void {
      if ((one.position + 1) * tileHashes ** one.level <= size) found.push(one);
    },
    async compare(): Promise<void> {
      const roots = isNamed ? [] : found;
      found = [];
      for (const { level, position, root } of roots) {
        const place = Math.floor(position / tileHashes);
        const kept = await store.tile(level, place);
        if (isNamed || isSameHash(hashIn(kept, position), root)) continue;
        isNamed = true;
        findings.add("CHECKPOINT", null, `tile ${place} of level ${level} does not fit the leaves below it`);
      }
    },
  };
}

/** Promise 2: compares the root over the leaves with each checkpoint, and each checkpoint with the one that it names. */
function createCheckpointCheck(
  store: LogStore,
  {
    logs,
    own,
    newest,
    findings,
  }: {
    logs: readonly Log[];
    own: readonly Log[];
    newest: StoredCheckpoint | null;
    findings: Findings;
  },
) {
  const counts = new Map<number, number>();
  const queue: Checkpoint[] = [];
  let before: StoredCheckpoint | null = null;
  let [isRead, lastGood, isBlind] = [newest === null, 0, false];

  const wrong = (size: number, says: string) => findings.add("CHECKPOINT", size, says);

  /** Where a log begins: the last checkpoint before it must be the one with as many leaves. */
  function checkBeginnings(upTo: number): void {
    const from = before?.log ?? 1;
    for (const { number, origin, firstSize } of own)
      if (number > from && number <= upTo && firstSize !== (before?.size ?? 0))
        wrong(
          firstSize,
          `the last checkpoint before ${origin} was removed: it began with ${firstSize} leaves`,
        );
  }

  function check(stored: StoredCheckpoint, opened: Checkpoint | null): void {
    const name = `the checkpoint at ${stored.size}`;
    checkBeginnings(stored.log);
    counts.set(stored.log, (counts.get(stored.log) ?? 0) + 1);
    const named: string | null =
      before?.log === stored.log
        ? before.note
        : (own.find(({ number }) => number === stored.log)?.previous ?? null);
    before = stored;
    if (opened === null) {
      wrong(stored.size, `${name} is not signed by the key of its log`);
      return;
    }
    if (linkOf(opened) !== linkTo(named))
      wrong(stored.size, `the one before ${name} was removed or changed: it names another one`);
    if (opened.seconds * 1000 !== stored.signedAt)
      wrong(stored.size, `${name} is kept under another time than it was signed for`);
    queue.push(opened);
  }

  return {
    /** Reads what was signed for up to so many leaves. What is signed while the audit runs is for the next one. */
    async readTo(size: number): Promise<void> {
      while (!isRead && newest !== null && (before?.size ?? 0) <= size) {
        const page = await store.after(before ?? { size: 0, log: 0 }, newest.size, checkpointsAtOnce);
        const opened = await Promise.all(page.map((stored) => openStored(stored, own)));
        for (const [at, stored] of page.entries()) check(stored, opened[at] ?? null);
        isRead = page.length < checkpointsAtOnce;
      }
    },
    /** @param rootOf the root over the first `size` leaves; null where the log lacks the last of them */
    compare(size: number, rootOf: (() => Uint8Array | undefined) | null): void {
      for (let one = queue[0]; one !== undefined && one.size <= size; one = queue[0]) {
        queue.shift();
        // Once a root is another one, so is every further one: the first is named.
        if (isBlind) continue;
        const root = rootOf?.();
        isBlind = root === undefined || !isSameHash(root, one.root);
        if (isBlind)
          wrong(one.size, `the checkpoint at ${one.size} was signed for other leaves from ${lastGood} on`);
        else lastGood = one.size;
      }
    },
    async finish(): Promise<void> {
      await this.readTo(Number.MAX_SAFE_INTEGER);
      checkBeginnings(logs.at(-1)?.number ?? 1);
      for (const { size } of queue)
        wrong(size, `the checkpoint at ${size} was signed for more leaves than there are`);
    },
    countOf: (log: number) => counts.get(log) ?? 0,
  };
}

/**
 * Whether the database reaches the pinned checkpoint.
 * @returns that checkpoint, with whose root the leaves are compared; null where none is pinned, or a later log names it
 */
async function checkPinned(
  { pinned, secrets }: AuditDependencies,
  { logs, size, findings }: { logs: readonly Log[]; size: number; findings: Findings },
): Promise<Reached | null> {
  const [head, log] = [headIn(pinned), logs.at(-1)];
  if (pinned === null) return null;
  const found = (what: AuditFinding["what"], says: string) => {
    findings.add(what, head?.size ?? null, says);
    return null;
  };
  if (head === null) return found("CHECKPOINT", "what is pinned beside the master key is no checkpoint");
  if (log === undefined || head.origin !== log.origin) {
    if (isSucceeded(head, logs, secrets)) return null;
    return found("BEHIND", `the database does not know ${head.origin}, of which a checkpoint is pinned`);
  }
  const opened = await openCheckpoint(pinned, await openingKeysOf([log]));
  if (opened instanceof Refusal)
    return found("CHECKPOINT", "the pinned checkpoint is not signed by the key of the log");
  if (head.size > size)
    return found(
      "BEHIND",
      `${head.size} leaves of ${head.origin} were signed for, and the database has ${size}`,
    );
  return { log: log.number, note: pinned, ...head };
}

/** A checkpoint is pinned before it is stored: one that is only pinned was removed, or its process died in between. */
async function checkStored({ store, settle }: AuditDependencies, pinned: Reached, findings: Findings) {
  const { log, size, note } = pinned;
  const isStored = async () => (await store.after({ size, log: log - 1 }, size, 1))[0]?.note === note;
  if (await isStored()) return;
  await settle();
  if (await isStored()) return;
  const says =
    `the checkpoint at ${size} is pinned beside the master key and not in the database: it was removed, or a process ` +
    "died before it stored it; the next tvs serve or tvs log checkpoint stores it";
  findings.add("CHECKPOINT", size, says);
}
