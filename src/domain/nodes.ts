import { type Clock, timersOf } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { createSerial } from "./serial.ts";

/** One `tvs serve`, as it has written itself into the database (decision D12.1). Times in milliseconds by the database's clock. */
export type Node = {
  /** A UUID of version 7, another one at each start. */
  readonly nodeId: string;
  readonly host: string;
  readonly url: string;
  readonly version: string;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly state: "live" | "gone";
  /** By how many milliseconds, at least, its clock was ahead of the database's; negative when it was behind. */
  readonly clockAheadMs: number;
  /** The pending signing key that all of its threads have loaded. */
  readonly pendingKid: string | null;
  /** Where on its own machine it has the console; null without one. */
  readonly consolePort: number | null;
  /** Whether it does what one node does for all of them (decision D12.2). */
  readonly keepsHouse: boolean;
};

/** What a node says of itself. */
type NodeReport = Self & Pick<Node, "clockAheadMs" | "pendingKid">;

/** What of it stays the same while it runs. */
type Self = Pick<Node, "nodeId" | "host" | "url" | "version" | "consolePort">;

export type Beat = {
  /** All that stand in the database, the oldest first. */
  readonly nodes: readonly Node[];
  /** The number under which this node holds the lease of the housekeeping; null while another one does. */
  readonly fence: number | null;
  /** The database's clock; null where it is this machine's own. */
  readonly now: number | null;
};

/** Who serves the database, and who keeps house. */
export type NodeStore = {
  /**
   * Writes a node in, or says that it lives, and takes or renews the lease of the housekeeping if it is to be had. A
   * node whose clock is wrong keeps no house: by that clock licences would end, and evidence be too old to keep.
   */
  beat(report: NodeReport): Promise<Beat>;
  /** Takes a node out that has ended, and gives its lease back. */
  leave(nodeId: string): Promise<void>;
  /** Takes every other node out: this one holds the lock of the file, so they have all ended. */
  removeOthers(nodeId: string): Promise<void>;
  list(): Promise<Node[]>;
  /** Forgets nodes that have not been seen for so many milliseconds. */
  forget(goneForMs: number): Promise<void>;
  /** The database's clock; null where it is this machine's own. */
  now(): Promise<number | null>;
};

export const nodeTimes = {
  /** How often a node of several says that it lives. */
  beatMs: 2_000,
  /** One that has not been seen for so long is gone. */
  goneMs: 10_000,
  /** How long the lease of the housekeeping lasts: its next holder has it within two beats more. */
  leaseMs: 10_000,
  /** How long one that is gone is still listed. */
  forgetMs: 24 * 3_600_000,
} as const;

/** By how much a node's clock may differ from the database's (decision D12.4): beyond the first it is warned of. */
export const clockBoundsMs = { warned: 2_000, refused: 30_000 } as const;

/** Whether a clock differs from the database's by more than a node's may. */
export function isClockWrong(aheadMs: number): boolean {
  return Math.abs(aheadMs) > clockBoundsMs.refused;
}

/** @throws TvsError CLOCK_WRONG when a clock differs by more than a node's may */
export function requireRightClock(aheadMs: number): void {
  if (!isClockWrong(aheadMs)) return;
  const message =
    `this machine's clock is ${describeClock(aheadMs)} the database's, and what it would sign would bear a wrong time; ` +
    "set the clock (timedatectl, chronyc tracking), then try again";
  throw new TvsError("CLOCK_WRONG", message);
}

export function describeClock(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs < 0 ? "behind" : "ahead of"}`;
}

/**
 * By how much a clock is certainly ahead: what was asked between two readings of it may have been answered at any time
 * between them.
 * @param asked by the own clock, just before the database was asked for its own, and just after it had answered
 */
export function clockAhead(databaseNow: number | null, asked: { before: number; after: number }): number {
  if (databaseNow === null) return 0;
  if (asked.before > databaseNow) return asked.before - databaseNow;
  return Math.min(0, asked.after - databaseNow);
}

/**
 * Compares this machine's clock with that of a database on a server, before anything is written by it.
 * @throws TvsError CLOCK_WRONG
 */
export async function requireClockOf(store: Pick<NodeStore, "now">, clock: Clock): Promise<void> {
  const before = clock.now();
  const databaseNow = await store.now();
  requireRightClock(clockAhead(databaseNow, { before, after: clock.now() }));
}

type MembershipDependencies = {
  readonly store: NodeStore;
  readonly clock: Clock;
  readonly self: Self;
  /** Whether this is the only node there can be: then nobody has to hear again and again that it lives. */
  readonly isAlone: boolean;
  /** The pending key that all threads have loaded, as far as this thread knows. */
  loadedPendingKid(): string | null;
  /** Told what each beat has found, before it counts as made. */
  onBeat(beat: Beat, aheadMs: number): void;
};

/** Joins the nodes: the first beat is made when this resolves. */
export async function joinNodes(dependencies: MembershipDependencies) {
  const { store, clock, self, isAlone, loadedPendingKid, onBeat } = dependencies;
  const everyMs = isAlone ? Number.POSITIVE_INFINITY : nodeTimes.beatMs;
  const inTurn = createSerial();
  const { elapsed } = timersOf(clock);
  let last: Beat = { nodes: [], fence: null, now: null };
  let aheadMs = 0;
  let saidKid: string | null = null;
  let beatAtMs = Number.NEGATIVE_INFINITY;
  let hasLeft = false;

  async function beat(): Promise<void> {
    const pendingKid = loadedPendingKid();
    const isTime = elapsed() - beatAtMs >= everyMs;
    if (hasLeft || (!isTime && pendingKid === saidKid)) return;
    const begunMs = elapsed();
    const before = clock.now();
    last = await store.beat({ ...self, clockAheadMs: aheadMs, pendingKid });
    aheadMs = clockAhead(last.now, { before, after: clock.now() });
    [saidKid, beatAtMs] = [pendingKid, begunMs];
    onBeat(last, aheadMs);
  }

  await beat();
  return {
    /** As the last beat found them; the only one there can be is seen by whoever asks. */
    nodes: (): readonly Node[] =>
      isAlone ? last.nodes.map((node) => ({ ...node, seenAt: clock.now() })) : last.nodes,
    /** By how many milliseconds this node's clock is ahead of the database's. */
    clockAheadMs: () => aheadMs,
    /** Says that this node lives, if it is time to, or if what it says of itself has changed. */
    tick: () => inTurn(beat),
    async leave(): Promise<void> {
      hasLeft = true;
      await inTurn(() => store.leave(self.nodeId));
    },
  };
}
