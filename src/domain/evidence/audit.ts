/**
 * The audit of the evidence log (decision D13.7). It promises:
 * 1. every attestation that is kept is the one that was logged, and none is missing but what the retention note names;
 * 2. every checkpoint that was signed is kept, and fits the leaves, up to the pinned one.
 * It reads in blocks and writes nothing, so a service may run at the same time.
 */

import type { Checkpoint } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import type { AuditedRow, Log, LogStore, StoredCheckpoint } from "../../store/evidence/log.ts";
import type { Secrets } from "../secrets.ts";
import { contradictionsIn, type SignatureChecks } from "./audit-rows.ts";
import { lossOf } from "./checkpoint.ts";
import { headIn, isOwnLog, linkOf, linkTo, openStored, treeHeadOf } from "./log.ts";
import { openRetention } from "./retention.ts";
import { growTree, hashAt, hashBytes, leafHash, missingLeafHash, tileHashes } from "./tree.ts";

export type AuditFinding = {
  /**
   * BEHIND: the database has lost what was signed for, and `serve` refuses it. ATTESTATION: it was changed, removed, inserted
   * or moved. CHECKPOINT: it is missing or does not fit.
   */
  readonly what: "BEHIND" | "ATTESTATION" | "CHECKPOINT";
  /** Index of the leaf, or size of the checkpoint; null for neither. */
  readonly position: number | null;
  readonly verificationId: string | null;
  readonly says: string;
};

export type AuditResult = {
  /** Each log that was begun, and how many of its checkpoints are kept. */
  readonly logs: readonly { readonly origin: string; readonly checkpoints: number }[];
  readonly leaves: number;
  /** Attestations that were compared, and those of them whose signature was verified. */
  readonly compared: number;
  readonly verified: number;
  /** Attestations that retention has deleted. */
  readonly deleted: number;
  /** Attestations that have no leaf yet. */
  readonly waiting: number;
  /** The first hundred findings. */
  readonly findings: readonly AuditFinding[];
  /** The number of all findings. */
  readonly found: number;
  /** False without a pinned checkpoint: an old copy of the database would look the same. */
  readonly isPinned: boolean;
};

type AuditDependencies = {
  readonly store: LogStore;
  /** The pinned checkpoint, read before anything of the database; null without one. */
  readonly pinned: string | null;
  readonly secrets: Pick<Secrets, "mac">;
  readonly signatures: SignatureChecks;
  /** Waits for a process that has pinned a checkpoint and is about to store it. */
  readonly settle: () => Promise<void>;
  /** @param total leaves in all */
  onProgress(done: number, total: number): void;
};

type Findings = ReturnType<typeof createFindings>;

const maxListed = 100;
/** Checkpoints of one read. */
const checkpointsAtOnce = 256;
/** How far times may go back in the order of the log: clocks of nodes differ by up to a minute (decision D12.4). */
const maxClockSkewSeconds = 120;

function createFindings() {
  const findings: AuditFinding[] = [];
  let found = 0;
  return {
    add(
      what: AuditFinding["what"],
      position: number | null,
      says: string,
      verificationId: string | null = null,
    ) {
      found++;
      if (findings.length < maxListed) findings.push({ what, position, verificationId, says });
    },
    result: () => ({ findings, found }),
  };
}

/**
 * Audits the log.
 * @returns null without a log and a pinned checkpoint
 * @throws TvsError INPUT_UNREADABLE when the pinned checkpoint cannot be read
 */
export async function auditLog(dependencies: AuditDependencies): Promise<AuditResult | null> {
  const { store, pinned, secrets, onProgress } = dependencies;
  const findings = createFindings();
  const loss = await lossOf(pinned, dependencies);
  if (loss !== null) findings.add("BEHIND", headIn(pinned)?.size ?? null, loss);
  const [logs, newest] = [await store.logs(), await store.newest()];
  const [size, last] = [await store.size(), await store.lastId()];
  if (logs.length === 0 && pinned === null) return null;
  const own = logs.filter((log) => isOwnLog(log, secrets));
  for (const { origin } of logs.filter((log) => !own.includes(log)))
    findings.add("CHECKPOINT", null, `${origin} was begun by somebody without the master key`);
  const checkpoints = createCheckpointCheck(store, { own, newest, findings });
  const tiles = createTileCheck(store, size, findings);
  const tree = growTree(tiles.add);
  const rows = createRowCheck(dependencies, { log: own.at(-1), size, signed: newest?.size ?? 0, findings });
  await rows.readRetention();
  await rows.checkFirst();
  const end = Math.max(size, last);
  for (let from = 0; from < end; from += tileHashes) {
    const upTo = Math.min(end, from + tileHashes);
    const found = await store.auditRows(from + 1, upTo);
    const [leaves = new Uint8Array()] = await store.tiles([{ level: 0, position: from / tileHashes }]);
    // Retention may go on while the audit runs. A note that is read after the rows names all that was deleted before.
    if (found.length < upTo - from) await rows.readRetention();
    await checkpoints.readTo(upTo);
    let next = 0;
    for (let index = from; index < upTo; index++) {
      const row = found[next]?.id === index + 1 ? found[next++] : undefined;
      const leaf = index < size ? hashAt(leaves, index) : undefined;
      rows.check(index, row, leaf);
      if (leaf !== undefined) tree.push(leaf);
      checkpoints.compare(index + 1, leaf?.length === hashBytes ? tree.root : null);
    }
    // Somebody wrote an id by hand that is far above the others: there may be any number of ids before it.
    if (found.length === 0 && from >= size) break;
    await tiles.compare();
    onProgress(upTo, end);
  }
  await checkpoints.finish();
  if (loss === null) await checkStored(dependencies, logs, findings);
  return {
    logs: logs.map(({ number, origin }) => ({ origin, checkpoints: checkpoints.countOf(number) })),
    leaves: size,
    ...rows.counts(),
    waiting: Math.max(0, last - size),
    ...findings.result(),
    isPinned: pinned !== null || end === 0,
  };
}

/** Promise 1: compares attestations with their leaves and with their columns. */
function createRowCheck(
  { store, signatures }: AuditDependencies,
  { log, size, signed, findings }: { log: Log | undefined; size: number; signed: number; findings: Findings },
) {
  let [compared, verified, deleted, position, isForged] = [0, 0, 0, 0, false];
  let issuedBefore = Number.NEGATIVE_INFINITY;

  /** What a checkpoint covers was there when it was signed. A signature is verified above that, or where the time is odd. */
  function forgeryOf(index: number, row: AuditedRow): string | null {
    const isOdd = row.issuedAt < issuedBefore - maxClockSkewSeconds;
    issuedBefore = row.issuedAt;
    if (!signatures.all && !isOdd && index < signed) return null;
    verified++;
    return signatures.findForgery(row);
  }

  function wrongIn(index: number, row: AuditedRow, leaf: Uint8Array | undefined): string | null {
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
    const hadNoLeaf = leaf === undefined || isSameHash(leaf, missingLeafHash(index + 1));
    return hadNoLeaf ? "was removed before it was logged, or those after it were inserted" : "was removed";
  }

  return {
    async readRetention(): Promise<void> {
      const note = await store.retention();
      const deleted = note === null || log === undefined ? null : await openRetention(note, log);
      position = Math.min(deleted?.position ?? 0, size);
      if (note === null || deleted !== null || isForged) return;
      isForged = true;
      findings.add("ATTESTATION", null, "the retention note is not signed by the log");
    },
    async checkFirst(): Promise<void> {
      const [first] = await store.attested(Number.MIN_SAFE_INTEGER, 1);
      if (first !== undefined && first.id < 1)
        findings.add("ATTESTATION", null, `attestation ${first.id} was inserted: the log begins with 1`);
    },
    check(index: number, row: AuditedRow | undefined, leaf: Uint8Array | undefined): void {
      const says = row === undefined ? missing(index, leaf) : wrongIn(index, row, leaf);
      if (says !== null)
        findings.add("ATTESTATION", index, `attestation ${index + 1} ${says}`, row?.verificationId);
    },
    counts: () => ({ compared, verified, deleted }),
  };
}

/** Compares the tiles above the leaves, from which proofs and roots are computed. Names the first tile that does not fit. */
function createTileCheck(store: LogStore, size: number, findings: Findings) {
  type TileHash = { level: number; position: number; root: Uint8Array };
  let hashes: TileHash[] = [];
  let isNamed = false;
  return {
    add({ level, position }: Omit<TileHash, "root">, root: Uint8Array): void {
      if (!isNamed && (position + 1) * tileHashes ** level <= size) hashes.push({ level, position, root });
    },
    async compare(): Promise<void> {
      for (const { level, position, root } of hashes) {
        const tile = Math.floor(position / tileHashes);
        const [stored = new Uint8Array()] = await store.tiles([{ level, position: tile }]);
        if (isNamed || isSameHash(hashAt(stored, position), root)) continue;
        isNamed = true;
        findings.add("CHECKPOINT", null, `tile ${tile} of level ${level} does not fit the leaves below it`);
      }
      hashes = [];
    },
  };
}

/** Promise 2: compares the root over the leaves with each checkpoint, and each checkpoint with the one that it names. */
function createCheckpointCheck(
  store: LogStore,
  { own, newest, findings }: { own: readonly Log[]; newest: StoredCheckpoint | null; findings: Findings },
) {
  const counts = new Map<number, number>();
  const queue: Checkpoint[] = [];
  let before: StoredCheckpoint | null = null;
  let [isRead, lastGood, isBroken] = [newest === null, 0, false];

  const wrong = (size: number, says: string) => findings.add("CHECKPOINT", size, says);

  /** The last checkpoint before a log has as many leaves as the log began with. */
  function checkBeginnings(upToLog: number): void {
    for (const { number, origin, firstSize } of own)
      if (number > (before?.log ?? 1) && number <= upToLog && firstSize !== (before?.size ?? 0))
        wrong(
          firstSize,
          `the last checkpoint before ${origin} was removed: it began with ${firstSize} leaves`,
        );
  }

  function check(stored: StoredCheckpoint, opened: Checkpoint | null): void {
    const name = `the checkpoint at ${stored.size}`;
    checkBeginnings(stored.log);
    counts.set(stored.log, (counts.get(stored.log) ?? 0) + 1);
    const previous: string | null =
      before?.log === stored.log
        ? before.note
        : (own.find(({ number }) => number === stored.log)?.previous ?? null);
    before = stored;
    if (opened === null) {
      wrong(stored.size, `${name} is not signed by the key of its log`);
      return;
    }
    if (linkOf(opened) !== linkTo(previous))
      wrong(stored.size, `the one before ${name} was removed or changed: it names another one`);
    if (opened.seconds * 1000 !== stored.signedAt)
      wrong(stored.size, `${name} is kept under another time than it was signed for`);
    queue.push(opened);
  }

  return {
    /** Reads the checkpoints of up to so many leaves. Those signed after the audit began are left to the next audit. */
    async readTo(size: number): Promise<void> {
      while (!isRead && newest !== null && (before?.size ?? 0) <= size) {
        const page = await store.after(before ?? { size: 0, log: 0 }, newest.size, checkpointsAtOnce);
        const opened = await Promise.all(page.map((stored) => openStored(stored, own)));
        for (const [at, stored] of page.entries()) check(stored, opened[at] ?? null);
        isRead = page.length < checkpointsAtOnce;
      }
    },
    /** @param rootOf the root over the first `size` leaves; null where the last of them is missing */
    compare(size: number, rootOf: (() => Uint8Array | undefined) | null): void {
      for (let one = queue[0]; one !== undefined && one.size <= size; one = queue[0]) {
        queue.shift();
        // After the first root that differs all others differ too: only the first is named.
        if (isBroken) continue;
        const root = rootOf?.();
        isBroken = root === undefined || !isSameHash(root, one.root);
        if (isBroken)
          wrong(one.size, `the checkpoint at ${one.size} was signed for other leaves from ${lastGood} on`);
        else lastGood = one.size;
      }
    },
    async finish(): Promise<void> {
      await this.readTo(Number.MAX_SAFE_INTEGER);
      checkBeginnings(Number.MAX_SAFE_INTEGER);
      for (const { size } of queue)
        wrong(size, `the checkpoint at ${size} was signed for more leaves than there are`);
    },
    countOf: (log: number) => counts.get(log) ?? 0,
  };
}

/** Looks for the pinned checkpoint in the database: it is pinned before it is stored, so a kill may have come in between. */
async function checkStored(
  { store, pinned, settle }: AuditDependencies,
  logs: readonly Log[],
  findings: Findings,
): Promise<void> {
  const log = logs.at(-1);
  if (pinned === null || log === undefined || treeHeadOf(pinned).origin !== log.origin) return;
  const { size } = treeHeadOf(pinned);
  const isStored = async () =>
    (await store.after({ size, log: log.number - 1 }, size, 1))[0]?.note === pinned;
  if (await isStored()) return;
  await settle();
  if (await isStored()) return;
  const says =
    `the checkpoint at ${size} is pinned beside the master key and not in the database: it was removed, or a process ` +
    "died before it stored it; the next tvs serve or tvs log checkpoint stores it";
  findings.add("CHECKPOINT", size, says);
}
