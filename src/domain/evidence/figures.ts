/** How the evidence log does: what of it an operator watches, and from when on it needs one (decisions D13.2, D13.8). */

import type { LogProgress } from "./evidence.ts";

/** The newest checkpoint that was handed out at one place. */
export type AnchorFigures = {
  readonly kind: string;
  readonly place: string;
  readonly epoch: number;
  /** Leaves that the anchored checkpoint covers. */
  readonly size: number;
  /** In milliseconds since the epoch. */
  readonly anchoredAt: number;
};

/** The newest tree, how far it is signed for, and who else has it. */
export type EvidenceFigures = LogProgress & {
  /** Since when the oldest attestation waits that no checkpoint covers (ms since the epoch); null when none does. */
  readonly uncoveredSince: number | null;
  /** The newest anchor at each place, the newest first. */
  readonly anchors: readonly AnchorFigures[];
};

/** How many leaves, in words. */
export function countLeaves(size: number): string {
  return size === 1 ? "1 leaf" : `${size} leaves`;
}

/** Checkpoints come every 30 seconds; an attestation that waits for so long shows that something is stuck. */
const lateCheckpointMs = 5 * 60_000;
/** Anchors are made once a day at least, by a timer that may be an hour late. */
const lateAnchorMs = 25 * 3_600_000;
/** A place that has had no anchor for so long was given up, as long as another is in use. */
const givenUpMs = 30 * 86_400_000;

/** How long an attestation has waited for its checkpoint, in milliseconds; null while that is as it should be. */
export function checkpointLateness({ uncoveredSince }: EvidenceFigures, now: number): number | null {
  if (uncoveredSince === null || now - uncoveredSince < lateCheckpointMs) return null;
  return now - uncoveredSince;
}

/** The places in use whose newest anchor is old, although checkpoints have been made since that they have not got. */
export function lateAnchors({ anchors, epoch, signedSize }: EvidenceFigures, now: number): AnchorFigures[] {
  const recent = anchors.filter((one) => now - one.anchoredAt < givenUpMs);
  const inUse = recent.length > 0 ? recent : anchors.slice(0, 1);
  const isBehind = (one: AnchorFigures) => one.epoch !== epoch || one.size < signedSize;
  return inUse.filter((one) => isBehind(one) && now - one.anchoredAt > lateAnchorMs);
}
