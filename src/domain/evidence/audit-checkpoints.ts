/**
 * The checkpoints of an audit, in the order of the log. Each must be signed by its epoch's key, stand where it was signed
 * for, and name the one before it, so that none was taken out.
 */

import { type Checkpoint, openCheckpoint, readOrigin } from "../../partner/log-checkpoint.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { AuditStore } from "../../store/evidence/audit.ts";
import type { Findings } from "./audit-findings.ts";
import type { EpochState } from "./audit-rows.ts";
import { headIn, linkOf, linkTo } from "./chain.ts";
import { openingKeysOf } from "./epochs.ts";
import type { LogEpoch, StoredCheckpoint } from "./evidence.ts";

/** Checkpoints that are read and verified at once. */
const atOnce = 256;
/** How far times may go back in the order of the log: clocks of nodes differ by up to a minute (decision D12.4). */
export const disorderSeconds = 120;
/** So many of the newest ones may be named by the next: two nodes of different releases may have signed at once. */
const nameable = 8;

/** What was read of all epochs so far: the links of the newest checkpoints, and the last one whose leaves were compared. */
type Chain = { newest: readonly string[]; passed: Checkpoint | null };

export const newChain = (): Chain => ({ newest: [linkTo(null)], passed: null });

type Plan = {
  readonly epoch: LogEpoch;
  readonly state: EpochState;
  /** The epoch after this one, which names the last checkpoint that was known of this one. */
  readonly next: LogEpoch | undefined;
  /** The newest checkpoint outside the database, as a note. */
  readonly head: string | null;
};

type Known = { readonly store: AuditStore; readonly findings: Findings; readonly chain: Chain };

/** What an epoch has signed for: its kept checkpoints, the one that the next epoch names, and the one outside. */
export type SignedHeads = Awaited<ReturnType<typeof openSignedHeads>>;

export async function openSignedHeads(plan: Plan, { store, findings, chain }: Known) {
  const { epoch, state, next, head } = plan;
  const keys = await openingKeysOf([epoch]);
  const wrong = (index: number, says: string) => findings.add("CHECKPOINT", epoch.epoch, { index, says });
  const read = (after: number, upTo: number, limit: number) =>
    store.checkpoints({ epoch: epoch.epoch, after, upTo, limit });
  let [count, last, seconds, isRead] = [0, 0, 0, false];

  async function opened(note: string, size: number, name: string): Promise<Checkpoint | null> {
    const found = await openCheckpoint(note, keys);
    if (!(found instanceof Refusal)) return found;
    wrong(size, `${name} is not signed by the log's key`);
    return null;
  }

  const isOwnHead = head !== null && headIn(head)?.origin === epoch.origin;
  const kept = isOwnHead ? await opened(head, 0, "the checkpoint beside the master key") : null;
  const named = `the checkpoint that epoch ${epoch.epoch + 1} names as the last one before it`;
  const linked = namesThis(plan) ? await opened(next?.previous ?? "", 0, named) : null;
  const outside = [linked, kept].filter((one) => one !== null);
  const [newest] = await read(state.signed - 1, state.signed, 1);
  const ofNewest = newest === undefined ? null : await openCheckpoint(newest.note, keys);
  const stored = ofNewest === null || ofNewest instanceof Refusal ? 0 : ofNewest.size;
  const queue = outside.toSorted((a, b) => a.size - b.size);

  function follow(name: string, checkpoint: Checkpoint): void {
    const link = linkOf(checkpoint);
    if (link !== null && !chain.newest.includes(link))
      wrong(checkpoint.size, `the one before ${name} was removed or changed: it names another one`);
  }

  function check(stored: StoredCheckpoint, found: Checkpoint | null): void {
    const name = `the checkpoint at ${stored.size} of epoch ${epoch.epoch}`;
    if (found !== null) {
      follow(name, found);
      if (found.size !== stored.size || found.seconds * 1000 !== stored.signedAt)
        wrong(stored.size, `${name} is kept under another size or time than it was signed for`);
      else if (found.seconds < seconds - disorderSeconds)
        wrong(stored.size, `${name} is older than one before it`);
      else queue.push(found);
      seconds = Math.max(seconds, found.seconds);
    }
    chain.newest = [...chain.newest.slice(1 - nameable), linkTo(stored.note)];
  }

  /** Reads what was signed for up to so many leaves, and the one after that. What is signed meanwhile is for the next audit. */
  async function readTo(size: number): Promise<void> {
    while (!isRead && last <= size) {
      const page = await read(last, state.signed, atOnce);
      const nameOf = ({ size: at }: StoredCheckpoint) => `the checkpoint at ${at} of epoch ${epoch.epoch}`;
      const found = await Promise.all(page.map((one) => opened(one.note, one.size, nameOf(one))));
      for (const [at, stored] of page.entries()) check(stored, found[at] ?? null);
      queue.sort((a, b) => a.size - b.size);
      count += page.length;
      isRead = page.length < atOnce;
      last = page.at(-1)?.size ?? last;
    }
  }

  return {
    /** The one beside the master key, where it is this epoch's. */
    kept,
    /** Leaves that the next epoch says were signed for: what of them is not there was lost openly. */
    accepted: linked?.size ?? 0,
    /** Leaves that a good checkpoint covers. */
    signed: Math.max(stored, ...outside.map(({ size }) => size)),
    /** Those of them that one in the database covers: it was never there without its leaves. */
    stored,
    readTo,
    /** The next one to be compared; undefined behind the last. */
    peek: (): Checkpoint | undefined => queue[0],
    take(): void {
      chain.passed = queue.shift() ?? null;
    },
    /** The last one that was taken, of this epoch or one before; null before the first. */
    passed: () => chain.passed,
    /**
     * Checks what is left: all of them, and that the one outside follows, as far as the database reaches it.
     * @returns how many are kept
     */
    async finish(reach: number): Promise<number> {
      await readTo(Number.MAX_SAFE_INTEGER);
      if (kept !== null && kept.size > state.signed && kept.size <= reach)
        follow("the checkpoint beside the master key", kept);
      return count;
    },
  };
}

/**
 * Whether the next epoch names the last checkpoint of this one: it may name none, when none was known, or that of an epoch
 * between the two, which was lost with the database (decision D13.4). Where this one was closed before it had signed for
 * anything, as one whose opening was cut off, it names what this one named.
 */
function namesThis({ next, epoch, state }: Plan): boolean {
  const named = headIn(next?.previous);
  const number = named === null ? Number.POSITIVE_INFINITY : readOrigin(named.origin).epoch;
  return number === epoch.epoch || (number < epoch.epoch && state.leaves + state.signed > 0);
}
