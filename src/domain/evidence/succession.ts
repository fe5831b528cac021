/**
 * What becomes of a log whose database is not what was signed for: it goes on in a new epoch, openly, linked to the last
 * checkpoint that is known of the one before (decision D13.4).
 */

import { readOrigin } from "../../partner/log-checkpoint.ts";
import type { DueEpochFile } from "../../store/evidence/due.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import type { SettingsStore } from "../../store/settings.ts";
import type { Clock } from "../clock.ts";
import { isTvsError, TvsError } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import { createEvidenceBuilder, isAsFar } from "./builder.ts";
import { treeHeadOf } from "./chain.ts";
import { epochDueName, type LogOpening, openEpoch } from "./epochs.ts";
import type { LogEpoch } from "./evidence.ts";
import type { noteBegin } from "./retention-mark.ts";

/** A log as it is known at one place: in the database, and by the checkpoint beside it. */
type KnownLog = { readonly store: EvidenceStore; readonly head: PinnedCheckpoint };

type Succession = LogOpening &
  KnownLog & {
    /** Notes how the present epoch ends, and with which id the next one begins, for the opening to hold to. */
    readonly note?: (next: Pick<LogEpoch, "epoch" | "firstId">) => ReturnType<typeof noteBegin>;
  };

/** What a database has lost of its log. */
type LogLoss = {
  /** The newest checkpoint that is known of it; null when none is. */
  readonly previous: { readonly origin: string; readonly size: number } | null;
  /** Entries that were signed for, and whose attestations are not there; null when nobody knows how many. */
  readonly lost: number | null;
  /** The number of the epoch in which the log is to go on. */
  readonly epoch: number;
};

/** What opens sealed keys; null where the master key is not at hand, and no epoch can be told from one that was made up. */
type Opening = Pick<Secrets, "open"> | null;

/** Another epoch may be opened, a checkpoint signed or something deleted between looking and opening, yet not for ever. */
const maxAttempts = 10;

/**
 * Looks at a database that takes the place of another one.
 * @returns null when its log goes on: nothing that was signed for is missing, or nothing ever was
 * @throws TvsError INPUT_UNREADABLE for a kept checkpoint that is none
 */
export async function findLoss(
  known: KnownLog,
  { clock, secrets }: { clock: Clock; secrets: Opening },
): Promise<LogLoss | null> {
  const { store, head } = known;
  const kept = head.read();
  const isBegun = (await store.epochs()).length > 0;
  if (kept === null && !isBegun) return null;
  // What nobody here has kept a checkpoint of may have been signed for elsewhere, whatever this database says.
  if (kept !== null && (await isReached(known, clock, secrets ?? noSecrets))) return null;
  const { previous, epoch } = await standOf(known);
  const last = previous === "" ? null : treeHeadOf(previous);
  const lost = kept === null || last === null ? null : await countLost(store, last);
  return { previous: last === null ? null : { origin: last.origin, size: last.size }, lost, epoch };
}

const noSecrets = {
  open(): never {
    throw new TvsError("MASTER_KEY_MISSING", "nothing is signed by who only looks");
  },
};

async function isReached({ store, head }: KnownLog, clock: Clock, secrets: NonNullable<Opening>) {
  try {
    await createEvidenceBuilder({ store, head, secrets, clock }).requireNotBehind();
    return true;
  } catch (error) {
    if (!isTvsError(error, "LOG_BEHIND")) throw error;
    return false;
  }
}

async function countLost(store: EvidenceStore, kept: { readonly origin: string; readonly size: number }) {
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
  const after = { epoch: last, signedSize };
  return { previous, isAhead: !isOlder, epoch: Math.max(last, before) + 1, after };
}

/** What passes by itself, and says nothing of what is in the database. */
const passing = ["STORE_BUSY", "STORE_FULL", "STORE_READ_ONLY", "STORE_UNAVAILABLE"] as const;

/**
 * Signs for what a kept checkpoint says that the database does not have. Whoever has kept it may be about to store it, or
 * could not: then nothing was lost, and nothing may be taken for lost.
 * @returns false where the database is behind, or damaged: that is what the next epoch is for
 */
async function makeUp(succession: Succession): Promise<boolean> {
  try {
    await createEvidenceBuilder(succession).sign();
    return true;
  } catch (error) {
    if (passing.some((code) => isTvsError(error, code))) throw error;
    return false;
  }
}

/** @returns what was noted of the epoch that is to be opened, undefined by nobody; null where others were faster */
async function noteNext({ store, note }: Succession, epoch: number) {
  if (note === undefined) return undefined;
  const firstId = await store.nextFirstId();
  const mark = await note({ epoch, firstId });
  return mark === undefined ? null : { firstId, mark };
}

/**
 * Opens a further epoch.
 * @param reason why, for everybody who looks at the log
 * @param wanted where there is one of this number by now, which another one has opened, that is the answer
 * @throws TvsError STORE_BUSY when others open epochs or sign at the same time, again and again
 */
export async function openNextEpoch(
  succession: Succession,
  reason: string,
  wanted = Number.POSITIVE_INFINITY,
): Promise<LogEpoch> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const newest = (await succession.store.epochs()).at(-1);
    if (newest !== undefined && newest.epoch >= wanted) return newest;
    const { epoch, isAhead, ...link } = await standOf(succession);
    if (isAhead && (await makeUp(succession))) continue;
    const noted = await noteNext(succession, epoch);
    if (noted === null || !(await openEpoch(succession, epoch, { ...link, reason, noted }))) continue;
    const opened = (await succession.store.epochs()).find((one) => one.epoch === epoch);
    if (opened !== undefined) return opened;
  }
  throw new TvsError("STORE_BUSY", "the evidence log is being signed by others all the time; try again");
}

/**
 * Opens the epoch that is due, if one is: a restored database says so until it has one. That it says so is not enough,
 * because who puts an old copy back can write that too: the mark beside the master key must say it of this database, and
 * not have been followed already.
 * @param succession `onDue` is done before the epoch is opened: behind it, nobody could tell that it was due
 * @returns the new epoch; null when none was due
 */
export async function openDueEpoch(
  succession: Succession & { readonly due: DueEpochFile; readonly onDue: () => Promise<void> },
  settings: Pick<SettingsStore, "read">,
): Promise<LogEpoch | null> {
  const token = (await settings.read()).get(epochDueName);
  const due = token === undefined ? null : succession.due.read();
  if (due === null || due.token !== token) return null;
  const isBegun = (await succession.store.epochs()).length > 0 || succession.head.read() !== null;
  // Without either there is nothing to follow: the log begins.
  if (!isBegun || (await standOf(succession)).epoch > due.epoch) return null;
  await succession.onDue();
  const opened = await openNextEpoch(succession, due.reason, due.epoch);
  succession.due.remove();
  return opened;
}

/**
 * Refuses a database that says by itself that a new epoch is due.
 * @throws TvsError REFUSED
 */
export async function refuseBareMark(settings: Pick<SettingsStore, "read">): Promise<void> {
  if (!(await settings.read()).has(epochDueName)) return;
  const message =
    "the database says that the evidence log must go on in a new epoch, and no tvs restore has said so here; find out " +
    'who can write to it, then say it openly: tvs log epoch --reason "a backup was restored"';
  throw new TvsError("REFUSED", message);
}
