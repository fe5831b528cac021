/**
 * How long attestations are kept, and how old ones are deleted. Retention deletes from the oldest on without a gap, and only
 * what the pinned checkpoint proves to be as it was signed for. It leaves a note that the log signs: all rows before this
 * position were deleted. So a row that is missing at or after that position was removed by somebody else (decision D13.9).
 */

import { Buffer } from "node:buffer";
import { readCount } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import { formatNote, keyIdOf, readNote, signatureTypes, verifyEd25519 } from "../../partner/signed-note.ts";
import type { LogStore } from "../../store/evidence/log.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import type { SettingsStore } from "../../store/settings.ts";
import { type Clock, isoTime, timeOfUuid } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { equalBytes, type Secrets } from "../secrets.ts";
import { actAndRest, repeat } from "../serial.ts";
import { readSigned } from "./audit-rows.ts";
import { checkpointKeyOf, headIn, type Log } from "./log.ts";
import { hashBytes, leafHash, missingLeafHash, provenLeaves, tileHashes } from "./tree.ts";

const dayMs = 86_400_000;
/** A year is counted long, so that nothing is deleted a day early. */
const unitMs: Readonly<Record<string, number>> = { d: dayMs, y: 366 * dayMs };
export const keepForever = "forever";

/** Nothing younger is deleted: `tvs teachers revoke` finds in the attestations who was told VALID in the last ninety days. */
const leastRetentionMs = 90 * dayMs;

/**
 * How long attestations are kept: `forever`, or days or years such as `3650d` or `7y`.
 * @returns milliseconds; null for ever
 * @throws TvsError CONFIG_INVALID
 */
export function parseRetention(text: string): number | null {
  if (text === keepForever) return null;
  const match = /^(\d{1,5})([dy])$/.exec(text);
  const ms = match === null ? 0 : Number(match[1]) * (unitMs[match[2] ?? "d"] ?? 0);
  if (ms >= leastRetentionMs) return ms;
  const message = `--keep-attestations (TVS_KEEP_ATTESTATIONS) must be forever, or at least ${leastRetentionMs / dayMs}d, such as 3650d or 7y`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** The setting of how long attestations are kept; its value is what `parseRetention` reads. */
export const retentionSetting = "keep_attestations";
/** The setting beside it that says that this program wrote it: it decides what is deleted. */
export const retentionTagSetting = "keep_attestations_mac";

const tagOf = (retention: string, { mac }: Pick<Secrets, "mac">) =>
  Buffer.from(mac("retention", `setting\n${retention}`)).toString("base64url");

/** The settings that say how long attestations are kept, as the operator has said it. */
export function retentionSettings(retention: string, secrets: Pick<Secrets, "mac">): Record<string, string> {
  return { [retentionSetting]: retention, [retentionTagSetting]: tagOf(retention, secrets) };
}

export function isOwnRetention(
  retention: string,
  tag: string | undefined,
  secrets: Pick<Secrets, "mac">,
): boolean {
  return tag !== undefined && equalBytes(Buffer.from(tagOf(retention, secrets)), Buffer.from(tag));
}

/** @returns milliseconds; null for ever. @throws TvsError STORE_CORRUPT */
async function ownRetention({ settings, secrets }: Pick<Retaining, "settings" | "secrets">) {
  const stored = await settings.read();
  const retention = stored.get(retentionSetting) ?? keepForever;
  const keepMs = parseRetention(retention);
  if (keepMs === null || isOwnRetention(retention, stored.get(retentionTagSetting), secrets)) return keepMs;
  const message =
    `that attestations are kept for ${retention} was written by somebody else: nothing is deleted; ` +
    "say it again with tvs serve --keep-attestations";
  throw new TvsError("STORE_CORRUPT", message);
}

/** What retention has deleted. */
type Deleted = {
  /** All rows before this position were deleted: those of the first so many leaves. */
  readonly position: number;
  /** All of them were issued before this time, in seconds since the epoch. */
  readonly issuedBefore: number;
};

/** No origin: no key signs a checkpoint whose first line this is. */
const firstLine = "tvs/v1/retention";

/** The retention note: what was deleted, signed by the newest log. */
export async function signRetention(
  { position, issuedBefore }: Deleted,
  log: Log,
  secrets: Pick<Secrets, "open">,
): Promise<string> {
  const text = [firstLine, log.origin, position, issuedBefore].map((line) => `${line}\n`).join("");
  const key = checkpointKeyOf(log, secrets);
  const keyId = await keyIdOf(log.origin, signatureTypes.plain, key.publicKey);
  const signature = new Uint8Array(await key.sign(new TextEncoder().encode(text)));
  return formatNote(text, [{ name: log.origin, keyId, signature }]);
}

/** @returns null for a note that this log did not sign: it excuses nothing */
export async function openRetention(note: string, log: Log): Promise<Deleted | null> {
  const signed = readNote(note);
  if (signed instanceof Refusal) return null;
  const [first, origin, position = "", issuedBefore = "", ...rest] = signed.text.split("\n");
  const deleted = { position: readCount(position), issuedBefore: readCount(issuedBefore) };
  if (first !== firstLine || origin !== log.origin || rest.join("") !== "") return null;
  if (deleted.position === null || deleted.issuedBefore === null) return null;
  const key = new Uint8Array(log.publicKey);
  const [line] = signed.signatures;
  const isSigned =
    line !== undefined && (await verifyEd25519(key, new TextEncoder().encode(signed.text), line.signature));
  return isSigned ? { position: deleted.position, issuedBefore: deleted.issuedBefore } : null;
}

const nothing: Deleted = { position: 0, issuedBefore: 0 };

/** The note and what it says; nothing was deleted where there is none. @throws TvsError STORE_CORRUPT */
async function readDeleted(
  store: LogStore,
): Promise<{ log: Log; note: string | null; deleted: Deleted } | null> {
  const [log, note] = [(await store.logs()).at(-1), await store.retention()];
  if (log === undefined) return null;
  const deleted = note === null ? nothing : await openRetention(note, log);
  if (deleted !== null) return { log, note, deleted };
  const message = "the retention note is not signed by the log: nothing is deleted; look at tvs log audit";
  throw new TvsError("STORE_CORRUPT", message);
}

/** What is known of attestations that are not kept any more. */
export type KeptLog = {
  /** What was issued before may be deleted, in milliseconds since the epoch; null when nothing was deleted. */
  readonly from: number | null;
  /** The setting as it was given. */
  readonly retention: string;
};

export async function keptLog({
  settings,
  evidence,
}: Pick<Retaining, "settings" | "evidence">): Promise<KeptLog> {
  const retention = (await settings.read()).get(retentionSetting) ?? keepForever;
  const found = await readDeleted(evidence).catch(() => null);
  const from = found === null || found.deleted.position === 0 ? null : found.deleted.issuedBefore * 1000;
  return { from, retention };
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

/** The sentence for every place that would have asked for the log's older end. */
export function describeKeptLog({ from, retention }: KeptLog): string {
  const setting = retention === keepForever ? "" : ` (they are kept for ${retention})`;
  return `attestations from before ${isoTime(from ?? 0)} have been deleted${setting}`;
}

type Retaining = {
  readonly evidence: LogStore;
  readonly settings: Pick<SettingsStore, "read">;
  readonly secrets: Pick<Secrets, "mac" | "open">;
  readonly pinned: Pick<PinnedCheckpoint, "read">;
  readonly clock: Clock;
};

/** A step of retention: how many were deleted, whether there is more to do, and at which attestation it had to stop. */
type Step = { readonly deleted: number; readonly isOver: boolean; readonly held: number | null };

/** The people of so many rows of deleted statements are forgotten in a commit as short as the others. */
const peopleInStep = 256;

/**
 * Deletes what is older than the retention that is in force, in commits of a millisecond or two with as much time between
 * them: a caller's commit waits behind none of them for long. One that is stopped or killed goes on at the next.
 * @param options `onHeld` is told of an attestation that is old and not proven: nothing is deleted from there on
 * @returns how many attestations were deleted
 * @throws TvsError STORE_CORRUPT when the setting or the retention note is not what this service wrote
 */
export async function pruneAttestations(
  retaining: Retaining,
  {
    isStopped = () => false,
    onHeld = () => {},
  }: { isStopped?: () => boolean; onHeld?: (id: number) => void } = {},
): Promise<number> {
  const { clock, evidence } = retaining;
  const keepMs = await ownRetention(retaining);
  if (keepMs === null) return 0;
  const before = Math.floor((clock.now() - keepMs) / 1000);
  let deleted = 0;
  for (let isOver = false; !isOver && !isStopped(); ) {
    const step: Step = await actAndRest(() => pruneTile(retaining, before), clock);
    deleted += step.deleted;
    isOver = step.isOver;
    if (step.held !== null) onHeld(step.held);
  }
  const forget = () => actAndRest(() => evidence.prunePeople(peopleInStep), clock);
  while (!isStopped() && (await forget()) === peopleInStep);
  return deleted;
}

/** Deletes what is old of the attestations that have their leaves in the tile behind what was deleted. */
async function pruneTile({ evidence, secrets, pinned }: Retaining, before: number): Promise<Step> {
  const found = await readDeleted(evidence);
  const head = headIn(pinned.read());
  const over = { deleted: 0, isOver: true, held: null };
  // Another log's checkpoint proves nothing of this one; the next is pinned soon.
  if (found === null || head?.origin !== found.log.origin) return over;
  const { log, note, deleted } = found;
  const tile = Math.floor(deleted.position / tileHashes);
  const tileEnd = Math.min((tile + 1) * tileHashes, head.size);
  const rows = await evidence.deletable(deleted.position + 1, tileHashes);
  const last = rows.at(-1)?.id ?? 0;
  const signed = new Map(rows.map(({ id, jws }) => [id, jws]));
  const isOld = (jws: string) => (readSigned(jws)?.issuedAt ?? Number.POSITIVE_INFINITY) < before;
  const first = rows[0];
  if (first === undefined || !isOld(first.jws)) return over;
  const leaves = await provenLeaves(tile, head, evidence.tiles);
  let position = deleted.position;
  for (; leaves !== null && position < Math.min(tileEnd, last); position++) {
    const [id, at] = [position + 1, (position % tileHashes) * hashBytes];
    const jws = signed.get(id);
    const isProven = isSameHash(
      leaves.subarray(at, at + hashBytes),
      jws === undefined ? missingLeafHash(id) : leafHash(jws),
    );
    if (!isProven || (jws !== undefined && !isOld(jws))) break;
  }
  const stopped = signed.get(position + 1);
  // Old, and the pinned checkpoint covers it, yet it is not what was signed for; or it is not there at all.
  const isHeld = position < Math.min(tileEnd, last) && (stopped === undefined || isOld(stopped));
  const held = isHeld ? position + 1 : null;
  if (position === deleted.position) return { ...over, held };
  const issuedBefore = Math.max(deleted.issuedBefore, before);
  const is = await signRetention({ position, issuedBefore }, log, secrets);
  const count = rows.filter(({ id }) => id <= position).length;
  // Where another process has changed the note since, all is looked at again the next time.
  if (!(await evidence.prune(position, { log: log.number, was: note, is }))) return over;
  return { deleted: count, isOver: position < tileEnd || position === head.size, held };
}

const pruneMs = 60_000;

/**
 * Deletes what is too old, until it is stopped.
 * @param dependencies `onPruned` is told how many attestations were deleted, `onHeld` once at which one retention has to
 *   stop, `onError` of what failed; the next turn tries again
 * @returns stops it, when the step that is under way has ended
 */
export function startRetention(
  dependencies: Retaining & {
    onPruned: (count: number) => void;
    onHeld: (id: number) => void;
    onError: (error: unknown) => void;
  },
): () => Promise<void> {
  const { clock, onPruned, onError } = dependencies;
  let held: number | null = null;

  function onHeld(id: number): void {
    if (id !== held) dependencies.onHeld(id);
    held = id;
  }

  async function prune(isStopped: () => boolean): Promise<void> {
    const count = await pruneAttestations(dependencies, { isStopped, onHeld });
    if (count > 0) onPruned(count);
  }

  return repeat(prune, { everyMs: pruneMs, onError, clock });
}
