/**
 * What retention has deleted, authenticated under the master key (decision D13.10): a row of the database alone excuses no
 * gap in it. The mark is made before the first checkpoint that is chained; what was deleted before that is believed only
 * where a signed time shows that it was old enough.
 */

import { Buffer } from "node:buffer";
import { openCheckpoint } from "../../partner/log-checkpoint.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { AttestationMaintenance } from "../../store/evidence/attestation-maintenance.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { SettingsStore } from "../../store/settings.ts";
import { TvsError } from "../errors.ts";
import { equalBytes, type Secrets } from "../secrets.ts";
import { hasOwnKey, openingKeysOf } from "./epochs.ts";
import type { LogEpoch } from "./evidence.ts";

export type RetentionMark = {
  /** Of the attestations from this id on, only those may be missing that the mark covers. */
  readonly begun: number;
  /** Up to this one, it included, they may have been deleted; below `begun` when none was. */
  readonly through: number;
  /** What was issued before may have been deleted, in seconds since the epoch; null when nothing was. */
  readonly from: number | null;
  /** The same as `from`, as a release said that authenticated nothing; of the ids below `begun`. */
  readonly unsealedFrom: number | null;
  /** The ids with which epochs begin: without it, whoever moves ids and beginnings together moves the mark too. */
  readonly begins?: Readonly<Record<string, number>>;
  /** What closed epochs had signed for when they were closed, their root in base64. */
  readonly ends?: Readonly<Record<string, { readonly size: number; readonly root: string }>>;
};

type Mac = Pick<Secrets, "mac">;

const tagOf = ({ mac }: Mac, kind: "mark" | "setting", text: string) =>
  Buffer.from(mac("retention", `${kind}\n${text}`)).toString("base64url");

function isTag(secrets: Mac, kind: "mark" | "setting", text: string, tag: string): boolean {
  return equalBytes(Buffer.from(tagOf(secrets, kind, text)), Buffer.from(tag));
}

/** The mark as the database has it: JSON, a dot, and the MAC over all of it. */
export function sealMark(mark: RetentionMark, secrets: Mac): string {
  const text = JSON.stringify(mark);
  return `${text}.${tagOf(secrets, "mark", text)}`;
}

/** @returns null for one that was not made under this master key */
export function openMark(sealed: string, secrets: Mac): RetentionMark | null {
  const end = sealed.lastIndexOf(".");
  const text = sealed.slice(0, Math.max(end, 0));
  return isTag(secrets, "mark", text, sealed.slice(end + 1)) ? (JSON.parse(text) as RetentionMark) : null;
}

/** The setting of how long attestations are kept; its value is what `parseRetention` reads. */
export const retentionSetting = "keep_attestations";
/** The setting beside it that says that this program wrote it. */
export const retentionTagSetting = "keep_attestations_mac";

export function isOwnRetention(retention: string, tag: string | undefined, secrets: Mac): boolean {
  return tag !== undefined && isTag(secrets, "setting", retention, tag);
}

/** The settings that say how long attestations are kept, as the operator has said it. */
export function retentionSettings(retention: string, secrets: Mac): Record<string, string> {
  return { [retentionSetting]: retention, [retentionTagSetting]: tagOf(secrets, "setting", retention) };
}

/** Nothing younger is ever deleted: `tvs teachers revoke` says from the attestations who was told VALID in the last ninety days. */
export const leastRetentionMs = 90 * 86_400_000;
/** How far apart the clocks of who deletes and who asks may be. */
const clockMs = 60_000;

/** Whether what was signed at a time can be old enough to have been deleted by now. */
export function couldBeDeleted(at: number, now: number): boolean {
  return at <= now - leastRetentionMs + clockMs;
}

/** What retention is judged and done with. */
export type Retaining = {
  readonly maintenance: AttestationMaintenance;
  readonly settings: SettingsStore;
  readonly secrets: Mac;
};

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
  const isPossible = from !== null && couldBeDeleted(from, now);
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
 * What the newest epoch has signed for, so that it can be told when its key is destroyed: only who has the master key can
 * have sealed that key, and only with it can the checkpoint have been signed.
 * @returns null where nothing was signed, or by another key
 */
async function signedEnd(evidence: Pick<EvidenceStore, "epochs" | "newest">, secrets: Pick<Secrets, "open">) {
  const [epoch, newest] = [(await evidence.epochs()).at(-1), await evidence.newest()];
  if (epoch === undefined || newest?.epoch !== epoch.epoch || hasOwnKey(epoch, secrets) !== true) return null;
  const opened = await openCheckpoint(newest.note, await openingKeysOf([epoch]));
  if (opened instanceof Refusal) return null;
  return { epoch: epoch.epoch, size: opened.size, root: Buffer.from(opened.root).toString("base64") };
}

/**
 * Authenticates with which id an epoch is about to begin: who is cut off behind its opening leaves nothing that nobody has
 * noted. Where that id was given before, what had it was lost openly: nothing is deleted yet of those that have it now.
 * @returns the mark that the opening has to find, null where there is none; undefined where another one has changed it,
 *   opened that epoch, or signed for what it would have begun with, meanwhile: of that some may be deleted already
 */
export async function noteBegin(
  { maintenance, secrets }: Omit<Retaining, "settings">,
  { epoch, firstId }: Pick<LogEpoch, "epoch" | "firstId">,
): Promise<string | null | undefined> {
  const { mark: was } = await maintenance.kept();
  const mark = was === null ? null : openMark(was, secrets);
  if (mark === null) return was;
  const [begun, through] = [Math.min(mark.begun, firstId), Math.min(mark.through, firstId - 1)];
  const is = sealMark({ ...mark, begun, through, begins: { ...mark.begins, [epoch]: firstId } }, secrets);
  return (await maintenance.setMark(was, is, { epoch, firstId })) ? is : undefined;
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

/**
 * The mark, by which alone anything is deleted, as it is kept and as it says.
 * @throws TvsError STORE_CORRUPT for one that is missing or not ours
 */
export async function ownMark({ maintenance, secrets }: Omit<Retaining, "settings">) {
  const { mark: sealed } = await maintenance.kept();
  const mark = sealed === null ? null : openMark(sealed, secrets);
  if (sealed !== null && mark !== null) return { sealed, mark };
  const message =
    "the mark of what retention has deleted is missing or not ours: nothing is deleted; look at tvs log audit";
  throw new TvsError("STORE_CORRUPT", message);
}
