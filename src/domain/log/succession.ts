/**
 * What becomes of a log whose database is not what was signed for: it goes on in a new epoch, openly, linked to the last
 * checkpoint that is known of the one before (decision D13.4).
 */

import { readOrigin } from "../../partner/log-checkpoint.ts";
import type { Clock } from "../clock.ts";
import { isTvsError, TvsError } from "../errors.ts";
import type { SettingsStore } from "../live.ts";
import { epochDueName, type LogOpening, openEpoch } from "./epochs.ts";
import { createLogKeeper, isAsFar, type LogHead, treeHeadOf } from "./keeper.ts";
import type { LogEpoch, LogStore } from "./log.ts";

/** A log as it is known at one place: in the database, and by the checkpoint beside it. */
type KnownLog = { readonly store: LogStore; readonly head: LogHead };

type Succession = LogOpening & KnownLog;

/** What a database has lost of its log. */
export type LogLoss = {
  /** The newest checkpoint that is known of it; null when none is. */
  readonly previous: { readonly origin: string; readonly size: number } | null;
  /** Entries that were signed for, and whose attestations are not there; null when nobody knows how many. */
  readonly lost: number | null;
  /** The number of the epoch in which the log is to go on. */
  readonly epoch: number;
};

/** Another epoch may be opened, or a checkpoint signed, between looking and opening; three in a row are a fault. */
const maxAttempts = 3;

/**
 * Looks at a database that takes the place of another one.
 * @returns null when its log goes on: nothing that was signed for is missing, or nothing ever was
 * @throws TvsError INPUT_UNREADABLE for a kept checkpoint that is none
 */
export async function findLoss(known: KnownLog, clock: Clock): Promise<LogLoss | null> {
  const { store, head } = known;
  const kept = head.read();
  const isBegun = (await store.epochs()).length > 0;
  if (kept === null && !isBegun) return null;
  // What nobody here has kept a checkpoint of may have been signed for elsewhere, whatever this database says.
  if (kept !== null && (await isReached(known, clock))) return null;
  const { previous, epoch } = await standOf(known);
  const last = previous === "" ? null : treeHeadOf(previous);
  const lost = kept === null || last === null ? null : await countLost(store, last);
  return { previous: last === null ? null : { origin: last.origin, size: last.size }, lost, epoch };
}

async function isReached({ store, head }: KnownLog, clock: Clock): Promise<boolean> {
  const noKey = (): never => {
    throw new TvsError("INTERNAL", "nothing is signed by who only looks");
  };
  try {
    await createLogKeeper({ store, head, secrets: { open: noKey }, clock }).requireNotBehind();
    return true;
  } catch (error) {
    if (!isTvsError(error, "LOG_BEHIND")) throw error;
    return false;
  }
}

async function countLost(
  store: LogStore,
  kept: { readonly origin: string; readonly size: number },
): Promise<number | null> {
  const progress = await store.progress();
  if (progress?.origin !== kept.origin) return null;
  const lost = kept.size - (progress.size + progress.waiting - progress.missing);
  return lost > 0 ? lost : null;
}

/** What the next epoch follows: the newest checkpoint that is known, and a number that no known epoch has. */
async function standOf({ store, head }: KnownLog) {
  const epochs = await store.epochs();
  const [kept, newest] = [head.read(), await store.newest()];
  const last = epochs.at(-1)?.epoch ?? 0;
  const isKnown = (note: string) => epochs.some(({ origin }) => origin === treeHeadOf(note).origin);
  const isOlder = kept === null || (newest !== null && isKnown(kept) && isAsFar(newest, kept, epochs));
  const previous = isOlder ? (newest?.note ?? "") : kept;
  const before = kept === null ? 0 : readOrigin(treeHeadOf(kept).origin).epoch;
  const signedSize = newest?.epoch === last ? newest.size : 0;
  return { previous, epoch: Math.max(last, before) + 1, after: { epoch: last, signedSize } };
}

/**
 * Opens a further epoch.
 * @param reason why, for everybody who looks at the log
 * @throws TvsError STORE_BUSY when others open epochs or sign at the same time, again and again
 */
export async function openNextEpoch(succession: Succession, reason: string): Promise<LogEpoch> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { epoch, ...link } = await standOf(succession);
    if (!(await openEpoch(succession, epoch, { ...link, reason }))) continue;
    const opened = (await succession.store.epochs()).find((one) => one.epoch === epoch);
    if (opened !== undefined) return opened;
  }
  throw new TvsError("STORE_BUSY", "the evidence log is being signed by others all the time; try again");
}

/**
 * Opens the epoch that is due, if one is: a restored database says so until it has one.
 * @returns the new epoch; null when none was due
 */
export async function openDueEpoch(
  succession: Succession,
  settings: Pick<SettingsStore, "read">,
): Promise<LogEpoch | null> {
  const reason = (await settings.read()).get(epochDueName);
  if (reason === undefined) return null;
  const isBegun = (await succession.store.epochs()).length > 0 || succession.head.read() !== null;
  // Without either there is nothing to follow: the log begins.
  return isBegun ? openNextEpoch(succession, reason) : null;
}
