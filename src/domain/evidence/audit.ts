/**
 * Audits the evidence log (decision D13.7). The audit checks two promises:
 * 1. Each stored attestation is the one that was logged, and only attestations that retention deleted are missing.
 * 2. Each signed checkpoint up to the pinned one is stored, and its root follows from the leaves.
 * The audit reads blocks of rows and writes nothing, so a service can run at the same time.
 */

import type { Checkpoint } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import type { AttestationRow, Log, LogStore, StoredCheckpoint } from "../../store/evidence/log.ts";
import type { SigningKey } from "../keys.ts";
import type { Secrets } from "../secrets.ts";
import { findContradictingColumns, findSignatureFault, importPublicKeys } from "./audit-rows.ts";
import { describeLostEntries } from "./checkpoint.ts";
import {
  findPredecessorLine,
  isGenuineLog,
  makePredecessorLine,
  readCheckpointHead,
  verifyStoredCheckpoint,
} from "./log.ts";
import { verifyRetentionNote } from "./retention.ts";
import {
  bytesPerHash,
  createRootBuilder,
  hashesPerTile,
  leafHashOf,
  leafHashOfMissing,
  type TileAddress,
  tileHashAt,
} from "./tree.ts";

type AuditFinding = {
  /**
   * ATTESTATION: an attestation was changed, removed, inserted or moved, or the retention note is forged. CHECKPOINT: a
   * checkpoint, log or tile is missing or wrong. BEHIND: the database lacks answers that a checkpoint covers.
   */
  readonly what: "BEHIND" | "ATTESTATION" | "CHECKPOINT";
  /** The index of the leaf, or the number of leaves under the checkpoint; null for other findings. */
  readonly position: number | null;
  readonly verificationId: string | null;
  readonly says: string;
};

export type AuditResult = NonNullable<Awaited<ReturnType<typeof auditEvidenceLog>>>;

type AuditDependencies = {
  readonly store: LogStore;
  /** The pinned checkpoint, which the caller reads before the database; null if none is pinned. */
  readonly pinned: string | null;
  readonly secrets: Pick<Secrets, "mac">;
  readonly keys: readonly Pick<SigningKey, "kid" | "jwk">[];
  /** True verifies every signature. The audit then takes about twenty times as long. */
  readonly allSignatures: boolean;
  /** Waits before a second look for a pinned checkpoint: a process pins it first, and stores it soon after. */
  readonly settle: () => Promise<void>;
  /** Called after each block. @param done attestations audited so far @param total all attestations */
  onProgress(done: number, total: number): void;
};

type Report = (
  what: AuditFinding["what"],
  position: number | null,
  says: string,
  verificationId?: string | null,
) => void;

const maxListed = 100;
const checkpointsAtOnce = 256;
/** Seconds by which a row may be older than the previous row, because nodes' clocks differ (decision D12.4). */
const maxClockSkewSeconds = 120;

/**
 * Audits the evidence log.
 * @returns null if there is neither a log nor a pinned checkpoint
 * @throws TvsError INPUT_UNREADABLE if the pinned checkpoint cannot be read
 */
export async function auditEvidenceLog(dependencies: AuditDependencies) {
  const { store, pinned, secrets, onProgress } = dependencies;
  const findings: AuditFinding[] = [];
  let found = 0;
  const report: Report = (what, position, says, verificationId = null) => {
    if (found++ < maxListed) findings.push({ what, position, verificationId, says });
  };
  const loss = await describeLostEntries(pinned, dependencies);
  if (loss !== null) report("BEHIND", readCheckpointHead(pinned)?.size ?? null, loss);
  const [logs, newest] = [await store.logs(), await store.newest()];
  const [size, last] = [await store.size(), await store.lastId()];
  if (logs.length === 0 && pinned === null) return null;
  const own = logs.filter((log) => isGenuineLog(log, secrets));
  for (const { origin } of logs.filter((log) => !own.includes(log)))
    report("CHECKPOINT", null, `${origin} was begun by somebody without the master key`);
  const checkpoints = createCheckpointCheck(store, { own, newest, report });
  const above: TileHash[] = [];
  let wrongTile: TileAddress | undefined;
  const tree = createRootBuilder((address, root) => above.push({ ...address, root }));
  const rows = createRowCheck(dependencies, { log: own.at(-1), size, signed: newest?.size ?? 0, report });
  await rows.readRetention();
  const [first] = await store.attested(Number.MIN_SAFE_INTEGER, 1);
  if (first !== undefined && first.id < 1)
    report("ATTESTATION", null, `attestation ${first.id} was inserted: the log begins with 1`);
  const end = Math.max(size, last);
  for (let from = 0; from < end; from += hashesPerTile) {
    const upTo = Math.min(end, from + hashesPerTile);
    const read = (await store.attested(from + 1, upTo - from)).filter(({ id }) => id <= upTo);
    const [leaves = new Uint8Array()] = await store.tiles([{ level: 0, position: from / hashesPerTile }]);
    // Retention may delete rows during the audit. The note is read after the rows, so the note covers all deleted rows.
    if (read.length < upTo - from) await rows.readRetention();
    await checkpoints.readTo(upTo);
    let next = 0;
    for (let index = from; index < upTo; index++) {
      const row = read[next]?.id === index + 1 ? read[next++] : undefined;
      const leaf = index < size ? tileHashAt(leaves, index) : undefined;
      rows.check(index, row, leaf);
      if (leaf !== undefined) tree.push(leaf);
      checkpoints.compare(index + 1, leaf?.length === bytesPerHash ? tree.root : null);
    }
    // A forged id may be far above all other ids. The audit does not visit the unused ids below the forged id.
    if (read.length === 0 && from >= size) break;
    wrongTile ??= await findWrongTile(above.splice(0), store);
    onProgress(upTo, end);
  }
  if (wrongTile !== undefined) {
    const { level, position } = wrongTile;
    report("CHECKPOINT", null, `tile ${position} of level ${level} does not fit the leaves below it`);
  }
  await checkpoints.finish();
  if (loss === null) await checkPinnedIsStored(dependencies, logs, report);
  return {
    /** Each log of the register, and the number of its stored checkpoints. */
    logs: logs.map(({ number, origin }) => ({ origin, checkpoints: checkpoints.countOf(number) })),
    leaves: size,
    ...rows.counts(),
    waiting: Math.max(0, last - size),
    /** The first hundred findings. `found` counts all. */
    findings,
    found,
    /** False if no checkpoint is pinned. An old copy of the database then passes the audit. */
    isPinned: pinned !== null || end === 0,
  };
}

/** Creates the check of attestations (promise 1): compares each JWS with its leaf, and the columns with the JWS. */
function createRowCheck(
  { store, keys, allSignatures }: AuditDependencies,
  { log, size, signed, report }: { log: Log | undefined; size: number; signed: number; report: Report },
) {
  let [compared, verified, deleted, position, isForged] = [0, 0, 0, 0, false];
  let issuedBefore = Number.NEGATIVE_INFINITY;
  const opened = importPublicKeys(keys);

  /** Verifies the signature if `allSignatures`, if no checkpoint covers the row, or if the row is dated too early. */
  function forgeryOf(index: number, row: AttestationRow): string | null {
    const isOutOfOrder = row.issuedAt < issuedBefore - maxClockSkewSeconds;
    issuedBefore = row.issuedAt;
    if (!allSignatures && !isOutOfOrder && index < signed) return null;
    verified++;
    return findSignatureFault(row, opened);
  }

  function describeFault(index: number, row: AttestationRow, leaf: Uint8Array | undefined): string | null {
    compared++;
    if (leaf !== undefined && !isSameHash(leafHashOf(row.jws), leaf))
      return "does not fit its leaf: it was changed, or one was removed or inserted here";
    const columns = findContradictingColumns(row);
    if (columns.length > 0) return `contradicts its signed result in ${columns.join(", ")}`;
    const forgery = forgeryOf(index, row);
    return forgery === null ? null : `was inserted: ${forgery}`;
  }

  function describeMissing(index: number, leaf: Uint8Array | undefined): string | null {
    if (index < position) {
      deleted++;
      return null;
    }
    const hadNoLeaf = leaf === undefined || isSameHash(leaf, leafHashOfMissing(index + 1));
    return hadNoLeaf ? "was removed before it was logged, or those after it were inserted" : "was removed";
  }

  return {
    async readRetention(): Promise<void> {
      const note = await store.retention();
      const excused = note === null || log === undefined ? null : await verifyRetentionNote(note, log);
      position = Math.min(excused?.position ?? 0, size);
      if (note === null || excused !== null || isForged) return;
      isForged = true;
      report("ATTESTATION", null, "the retention note is not signed by the log");
    },
    check(index: number, row: AttestationRow | undefined, leaf: Uint8Array | undefined): void {
      const says = row === undefined ? describeMissing(index, leaf) : describeFault(index, row, leaf);
      if (says !== null)
        report("ATTESTATION", index, `attestation ${index + 1} ${says}`, row?.verificationId);
    },
    counts: () => ({ compared, verified, deleted }),
  };
}

type TileHash = TileAddress & { readonly root: Uint8Array };

/** Finds the first stored tile that contradicts the leaves. A proof from such a tile would be wrong. */
async function findWrongTile(hashes: readonly TileHash[], store: LogStore): Promise<TileAddress | undefined> {
  for (const { level, position, root } of hashes) {
    const tile = { level, position: Math.floor(position / hashesPerTile) };
    const [stored = new Uint8Array()] = await store.tiles([tile]);
    if (!isSameHash(tileHashAt(stored, position), root)) return tile;
  }
  return undefined;
}

/** Creates the check of checkpoints (promise 2): compares each with the leaves and with the previous checkpoint. */
function createCheckpointCheck(
  store: LogStore,
  { own, newest, report }: { own: readonly Log[]; newest: StoredCheckpoint | null; report: Report },
) {
  const counts = new Map<number, number>();
  /** Checkpoints over leaves that the audit has not reached yet. */
  const queue: Checkpoint[] = [];
  let before: StoredCheckpoint | null = null;
  let [isRead, lastGood, isBroken] = [newest === null, 0, false];

  const wrong = (size: number, says: string) => report("CHECKPOINT", size, says);

  /** Checks that each log after `before` began with the size of `before`: if not, a checkpoint between was removed. */
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
    if (findPredecessorLine(opened) !== makePredecessorLine(previous))
      wrong(stored.size, `the one before ${name} was removed or changed: it names another one`);
    if (opened.seconds * 1000 !== stored.signedAt)
      wrong(stored.size, `${name} is kept under another time than it was signed for`);
    queue.push(opened);
  }

  return {
    /** Reads the checkpoints over at most `size` leaves, except those that were signed after the audit began. */
    async readTo(size: number): Promise<void> {
      while (!isRead && newest !== null && (before?.size ?? 0) <= size) {
        const page = await store.after(before ?? { size: 0, log: 0 }, newest.size, checkpointsAtOnce);
        const opened = await Promise.all(page.map((stored) => verifyStoredCheckpoint(stored, own)));
        for (const [at, stored] of page.entries()) check(stored, opened[at] ?? null);
        isRead = page.length < checkpointsAtOnce;
      }
    },
    /** Compares the checkpoints over `size` leaves with the tree. @param rootOf null if the last leaf is missing */
    compare(size: number, rootOf: (() => Uint8Array | undefined) | null): void {
      for (let one = queue[0]; one !== undefined && one.size <= size; one = queue[0]) {
        queue.shift();
        // After a wrong root all later roots are wrong too, so only the first is reported.
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

/** Checks that the database has the pinned checkpoint. A process first pins a checkpoint and then stores it. */
async function checkPinnedIsStored(
  { store, pinned, settle }: AuditDependencies,
  logs: readonly Log[],
  report: Report,
): Promise<void> {
  const [log, head] = [logs.at(-1), readCheckpointHead(pinned)];
  if (log === undefined || head?.origin !== log.origin) return;
  const { size } = head;
  const isStored = async () =>
    (await store.after({ size, log: log.number - 1 }, size, 1))[0]?.note === pinned;
  if (await isStored()) return;
  await settle();
  if (await isStored()) return;
  const says =
    `the checkpoint at ${size} is pinned beside the master key and not in the database: it was removed, or a process ` +
    "died before it stored it; the next tvs serve or tvs log checkpoint stores it";
  report("CHECKPOINT", size, says);
}
