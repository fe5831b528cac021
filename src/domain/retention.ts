import type { AttestationMaintenance } from "./attestations.ts";
import { isoTime, timeOfUuid } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { EvidenceStore, LogEpoch } from "./evidence/evidence.ts";
import { signedEnd } from "./evidence/proven-epochs.ts";
import {
  isOwnRetention,
  openMark,
  type RetentionMark,
  retentionTag,
  retentionTagSetting,
  sealMark,
} from "./evidence/retention-mark.ts";
import type { Secrets } from "./secrets.ts";
import type { SettingsStore } from "./settings.ts";

const dayMs = 86_400_000;
/** A year is counted long, so that nothing is deleted a day early. */
const unitMs: Readonly<Record<string, number>> = { d: dayMs, y: 366 * dayMs };
/** `tvs teachers revoke` says who was told VALID in the last ninety days, from the attestations. */
const minDays = 90;
/** Nothing younger is ever deleted. */
export const leastRetentionMs = minDays * dayMs;

/** The setting's name; its value is what {@link parseRetention} reads. */
export const retentionSetting = "keep_attestations";
export const keepForever = "forever";

/**
 * How long attestations are kept: `forever`, or days or years such as `3650d` or `7y`.
 * @returns milliseconds; null for ever
 * @throws TvsError CONFIG_INVALID
 */
export function parseRetention(text: string): number | null {
  if (text === keepForever) return null;
  const match = /^(\d{1,5})([dy])$/.exec(text);
  const ms = match === null ? 0 : Number(match[1]) * (unitMs[match[2] ?? "d"] ?? 0);
  if (ms >= minDays * dayMs) return ms;
  const message = `--keep-attestations (TVS_KEEP_ATTESTATIONS) must be forever, or at least ${minDays}d, such as 3650d or 7y`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** How the end of the log that is no longer there is known: what was issued before `from` may be gone. */
export type KeptLog = {
  /** Milliseconds since the epoch; null when nothing was ever deleted. */
  readonly from: number | null;
  /** The setting as it was given. */
  readonly retention: string;
};

/** What retention is judged and done with. */
export type Retaining = {
  readonly maintenance: AttestationMaintenance;
  readonly settings: SettingsStore;
  readonly secrets: Pick<Secrets, "mac">;
};

/** The settings that say how long attestations are kept, as the operator has said it. */
export function retentionSettings(retention: string, secrets: Pick<Secrets, "mac">): Record<string, string> {
  return { [retentionSetting]: retention, [retentionTagSetting]: retentionTag(retention, secrets) };
}

/** How far apart the clocks of who deletes and who asks may be. */
const clockMs = 60_000;

/**
 * The mark that is to be believed.
 * @param isOld whether the log has no checkpoint yet that demands a mark: then what the database says is taken for one
 * @returns null when nothing says what may be missing
 */
export async function readMark(
  { maintenance, secrets }: Omit<Retaining, "settings">,
  { isOld, now }: { isOld: boolean; now: number },
): Promise<RetentionMark | null> {
  const { mark, from } = await maintenance.kept();
  if (mark !== null) return openMark(mark, secrets);
  return isOld ? unsealedMark(from, Number.MAX_SAFE_INTEGER, now) : null;
}

/** What a release said that authenticated nothing. A time that retention cannot have reached was set by hand. */
function unsealedMark(from: number | null, begun: number, now: number): RetentionMark {
  const isPossible = from !== null && from <= now - leastRetentionMs + clockMs;
  return { begun, through: begun - 1, from: null, unsealedFrom: isPossible ? from / 1000 : null };
}

/**
 * Makes the first mark, with which everything that retention deletes is authenticated from then on. What a release before
 * has noted is taken over, for what is missing already.
 * @param renew puts a mark in the place of one that is not ours, which takes over nothing: what is missing stays missing
 */
export async function beginRetention(
  {
    maintenance,
    settings,
    secrets,
    evidence,
  }: Retaining & { readonly evidence: Pick<EvidenceStore, "epochs"> },
  { now, renew = false }: { now: number; renew?: boolean },
): Promise<void> {
  const { mark, from } = await maintenance.kept();
  if (mark !== null && (!renew || openMark(mark, secrets) !== null)) return;
  // Before the mark: who is killed between the two begins anew, and where there is a mark nothing is taken over.
  const retention = renew ? undefined : (await settings.read()).get(retentionSetting);
  if (retention !== undefined) await settings.write(retentionSettings(retention, secrets));
  const begins = Object.fromEntries((await evidence.epochs()).map(({ epoch, firstId }) => [epoch, firstId]));
  const isTakenOver = from !== null && !renew;
  const firstId = await maintenance.firstId(isTakenOver);
  const begun = unsealedMark(isTakenOver ? from : null, firstId, now);
  await maintenance.setMark(mark, sealMark({ ...begun, begins }, secrets));
}

/**
 * Authenticates what the newest epoch has signed for. It has to be done before the next one is opened, because that destroys
 * the key by which it can be told; done twice, or in vain, it is still true.
 */
export async function noteEnd(
  {
    maintenance,
    secrets,
  }: Pick<Retaining, "maintenance"> & { readonly secrets: Pick<Secrets, "mac" | "open"> },
  evidence: Pick<EvidenceStore, "epochs" | "newest">,
): Promise<void> {
  const end = await signedEnd(evidence, secrets);
  if (end === null) return;
  const { epoch, ...tree } = end;
  await changeMark({ maintenance, secrets }, (mark) => ({ ...mark, ends: { ...mark.ends, [epoch]: tree } }));
}

/**
 * Authenticates with which id an epoch begins. Where that was given before, what had it was lost openly: nothing is deleted
 * yet of those that have it now.
 */
export async function noteBegin(
  known: Omit<Retaining, "settings">,
  { epoch, firstId }: Pick<LogEpoch, "epoch" | "firstId">,
): Promise<void> {
  await changeMark(known, (mark) => ({
    ...mark,
    begun: Math.min(mark.begun, firstId),
    through: Math.min(mark.through, firstId - 1),
    begins: { ...mark.begins, [epoch]: firstId },
  }));
}

/** Does nothing where there is no mark of ours. */
async function changeMark(
  { maintenance, secrets }: Omit<Retaining, "settings">,
  change: (mark: RetentionMark) => RetentionMark,
): Promise<void> {
  for (;;) {
    const { mark: was } = await maintenance.kept();
    const mark = was === null ? null : openMark(was, secrets);
    if (mark === null) return;
    // Retention may have gone on meanwhile.
    if (await maintenance.setMark(was, sealMark(change(mark), secrets))) return;
  }
}

export async function keptLog(
  { settings, ...known }: Retaining,
  at: { isOld: boolean; now: number },
): Promise<KeptLog> {
  const retention = (await settings.read()).get(retentionSetting) ?? keepForever;
  const mark = await readMark(known, at);
  const from = mark?.from ?? mark?.unsealedFrom ?? null;
  return { from: from === null ? null : from * 1000, retention };
}

/**
 * How far the time in an id may be ahead of `issued_at`, by which rows are deleted: a batch's ids are made while it
 * is answered, and ids go on from where they were when a clock is set back.
 */
const idAheadMs = dayMs;

/**
 * True when what an id names may have been deleted: its absence then says nothing.
 * @param id of a verification or of a request
 */
export function mayBePruned({ from }: KeptLog, id: string): boolean {
  const at = timeOfUuid(id);
  return from !== null && at !== null && at < from + idAheadMs;
}

/** The sentence for wherever the log's older end would have been asked. */
export function describeKeptLog({ from, retention }: KeptLog): string {
  const setting = retention === keepForever ? "" : ` (they are kept for ${retention})`;
  return `attestations from before ${isoTime(from ?? 0)} have been deleted${setting}`;
}

/** @returns milliseconds; null for ever. @throws TvsError STORE_CORRUPT */
export async function ownRetention({
  settings,
  secrets,
}: Omit<Retaining, "maintenance">): Promise<number | null> {
  const stored = await settings.read();
  const retention = stored.get(retentionSetting) ?? keepForever;
  const keepMs = parseRetention(retention);
  if (keepMs === null || isOwnRetention(retention, stored.get(retentionTagSetting), secrets)) return keepMs;
  const message =
    `that attestations are kept for ${retention} was written by somebody else: nothing is deleted; ` +
    "say it anew with tvs serve --keep-attestations";
  throw new TvsError("STORE_CORRUPT", message);
}

/**
 * The mark, by which alone anything is deleted, as it is kept and as it says.
 * @throws TvsError STORE_CORRUPT for one that is missing or not ours
 */
export async function ownMark({
  maintenance,
  secrets,
}: Omit<Retaining, "settings">): Promise<{ sealed: string; mark: RetentionMark }> {
  const { mark: sealed } = await maintenance.kept();
  const mark = sealed === null ? null : openMark(sealed, secrets);
  if (sealed !== null && mark !== null) return { sealed, mark };
  const message =
    "the mark of what retention has deleted is missing or not ours: nothing is deleted; look at tvs log audit";
  throw new TvsError("STORE_CORRUPT", message);
}
