/** Checkpoints that were handed out, and what those that come back say of this database (decision D13.8). */

import { openCheckpoint, readOrigin } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal, type RefusalReason } from "../../partner/reasons.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import { treeHeadOf } from "./chain.ts";
import { openingKeysOf } from "./epochs.ts";
import type { LogEpoch } from "./evidence.ts";
import { rootOf } from "./tree.ts";

/** A checkpoint that was handed out to somebody who can later say when it was there. */
export type LogAnchor = {
  readonly id: number;
  readonly epoch: number;
  readonly size: number;
  /** Where it went: a folder, or a time-stamp authority (RFC 3161). */
  readonly kind: "folder" | "rfc3161";
  /** The folder's path, or the authority's address. */
  readonly place: string;
  /** When it was handed out by our clock, ms since the epoch. */
  readonly anchoredAt: number;
  /** The authority's whole answer as DER; null for a folder. */
  readonly token: Uint8Array | null;
};

/** The ending of the files that checkpoints are handed out in. */
const ending = ".checkpoint";
const sizeDigits = 12;

/** How the files of one epoch's checkpoints begin: its origin, in letters that every file system takes. */
function fileStart({ epoch, origin }: Pick<LogEpoch, "epoch" | "origin">): string {
  return `${slugOf(origin)}-log-${epoch}-`;
}

const slugOf = (origin: string) =>
  readOrigin(origin)
    .log.replace(/\/log$/, "")
    .replace(/[^A-Za-z0-9.-]/g, "_");

/** The name of a checkpoint's file: by it, a folder lists them in their order. */
export function anchorFileName(epoch: Pick<LogEpoch, "epoch" | "origin">, size: number): string {
  return `${fileStart(epoch)}${String(size).padStart(sizeDigits, "0")}${ending}`;
}

/** Whether a file is named as the checkpoints of this log are, of whatever epoch. */
export function isAnchorFile(name: string, epochs: readonly LogEpoch[]): boolean {
  const slug = /^(.+)-log-\d+-\d{12,16}\.checkpoint$/.exec(name)?.[1];
  return slug !== undefined && epochs.some(({ origin }) => slugOf(origin) === slug);
}

/**
 * Holds a checkpoint that was handed out against this database's tree.
 * @returns what contradicts, as the end of a sentence about it; null when all agrees
 */
export async function contradictionOf(
  note: string,
  { epochs, store }: { epochs: readonly LogEpoch[]; store: Pick<EvidenceStore, "tiles"> },
): Promise<string | null> {
  const opened = await openCheckpoint(note, await openingKeysOf(epochs));
  if (opened instanceof Refusal) return unreadable[opened.reason] ?? "is not a checkpoint of this log";
  const at = epochs.findIndex(({ origin }) => origin === opened.origin);
  const [epoch, next] = [epochs[at], epochs[at + 1]];
  if (epoch === undefined) return "is not a checkpoint of this log";
  if (opened.size > epoch.size) {
    const closed = next?.previous ?? null;
    // What was lost before a further epoch was opened is no contradiction while that epoch says so.
    const isTold = closed !== null && isOf(closed, opened.origin) && treeHeadOf(closed).size >= opened.size;
    return isTold ? null : `covers ${opened.size} entries, and this database has ${epoch.size} of them`;
  }
  const root = await rootOf(opened.size, store.tiles(epoch.epoch));
  return isSameHash(root, opened.root) ? null : "was signed for other entries";
}

const unreadable: { readonly [reason in RefusalReason]?: string } = {
  PROOF_MALFORMED: "is damaged: it can no longer be read",
  LOG_EPOCH_UNKNOWN: "is of an epoch of the log that this database does not know",
  CHECKPOINT_SIGNATURE_INVALID: "was not signed by this log's key, or was changed",
};

const isOf = (note: string, origin: string) => treeHeadOf(note).origin === origin;
