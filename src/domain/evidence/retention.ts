/**
 * Deletes old attestations, the oldest first (decision D13.9). Deletion stops at the first attestation that is too new,
 * or that the pinned checkpoint does not prove to be unchanged. The same transaction stores a retention note, which the
 * log signs: all rows before position N were deleted. The audit therefore reports missing rows only from N on.
 */

import { Buffer } from "node:buffer";
import { parseDecimalCount } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import { formatNote, keyIdOf, readNote, signatureTypes, verifyEd25519 } from "../../partner/signed-note.ts";
import type { Log, LogStore } from "../../store/evidence/log.ts";
import type { PinnedCheckpointStore } from "../../store/evidence/pinned-checkpoint.ts";
import type { SettingsStore } from "../../store/settings.ts";
import { type Clock, isoTime, timeOfUuid } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { areBytesEqual, type Secrets } from "../secrets.ts";
import { runAndPause, startRepeating } from "../serial.ts";
import { readSignedClaims } from "./audit-rows.ts";
import { decryptCheckpointKey, readCheckpointHead } from "./log.ts";
import { hashesPerTile, leafHashOf, leafHashOfMissing, readProvenLeaves, tileHashAt } from "./tree.ts";

const dayMs = 86_400_000;
/** A year is 366 days here, so that nothing is deleted a day early. */
const msOfUnit: Readonly<Record<string, number>> = { d: dayMs, y: 366 * dayMs };
export const foreverRetention = "forever";

/** Shortest retention in ms, because `tvs teachers revoke` lists the partners that got VALID in the last 90 days. */
const minRetentionMs = 90 * dayMs;

/** Parses a retention: `forever`, `3650d`, `7y`. @returns ms; null for `forever` @throws TvsError CONFIG_INVALID */
export function parseRetention(text: string): number | null {
  if (text === foreverRetention) return null;
  const match = /^(\d{1,5})([dy])$/.exec(text);
  const ms = match === null ? 0 : Number(match[1]) * (msOfUnit[match[2] ?? "d"] ?? 0);
  if (ms >= minRetentionMs) return ms;
  const message = `--keep-attestations (TVS_KEEP_ATTESTATIONS) must be forever, or at least ${minRetentionMs / dayMs}d, such as 3650d or 7y`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** Name of the setting that stores the retention as text for {@link parseRetention}. */
export const retentionSettingName = "keep_attestations";
/** Name of the setting with the retention's MAC. Only an operator with the master key can decide what is deleted. */
export const retentionMacSettingName = "keep_attestations_mac";

/** Makes the two settings that store a retention: its text and its MAC. */
export function makeRetentionSettings(
  retention: string,
  { mac }: Pick<Secrets, "mac">,
): Record<string, string> {
  const tag = Buffer.from(mac("retention", `setting\n${retention}`)).toString("base64url");
  return { [retentionSettingName]: retention, [retentionMacSettingName]: tag };
}

/** Reads the stored retention. `isAuthentic`: the MAC proves that somebody with the master key set the retention. */
export function readRetentionSetting(stored: ReadonlyMap<string, string>, secrets: Pick<Secrets, "mac">) {
  const retention = stored.get(retentionSettingName) ?? foreverRetention;
  const tag = makeRetentionSettings(retention, secrets)[retentionMacSettingName] ?? "";
  const isAuthentic = areBytesEqual(Buffer.from(tag), Buffer.from(stored.get(retentionMacSettingName) ?? ""));
  return { retention, isAuthentic };
}

/** The deleted range: the first `position` attestations, all issued before `issuedBefore` (Unix seconds). */
type DeletedRange = { readonly position: number; readonly issuedBefore: number };

/** First line of a retention note. No log has this name, so the note cannot be used as a checkpoint. */
const noteTitle = "tvs/v1/retention";

export async function signRetentionNote(
  { position, issuedBefore }: DeletedRange,
  log: Log,
  secrets: Pick<Secrets, "open">,
): Promise<string> {
  const text = [noteTitle, log.origin, position, issuedBefore].map((line) => `${line}\n`).join("");
  const key = decryptCheckpointKey(log, secrets);
  const keyId = await keyIdOf(log.origin, signatureTypes.plain, key.publicKey);
  const signature = new Uint8Array(await key.sign(new TextEncoder().encode(text)));
  return formatNote(text, [{ name: log.origin, keyId, signature }]);
}

/** Verifies a retention note. @returns null if this log has not signed the note */
export async function verifyRetentionNote(note: string, log: Log): Promise<DeletedRange | null> {
  const signed = readNote(note);
  if (signed instanceof Refusal) return null;
  const [first, origin, ...counts] = signed.text.split("\n");
  const [position = null, issuedBefore = null] = counts.map(parseDecimalCount);
  if (first !== noteTitle || origin !== log.origin || counts.length !== 3) return null;
  const [line] = signed.signatures;
  if (position === null || issuedBefore === null || line === undefined) return null;
  const bytes = new TextEncoder().encode(signed.text);
  const isSigned = await verifyEd25519(new Uint8Array(log.publicKey), bytes, line.signature);
  return isSigned ? { position, issuedBefore } : null;
}

/** Reads the newest log and its verified retention note. @returns null before the first log @throws TvsError STORE_CORRUPT */
async function readDeleted(store: LogStore) {
  const [log, note] = [(await store.logs()).at(-1), await store.retention()];
  if (log === undefined) return null;
  const deleted = note === null ? { position: 0, issuedBefore: 0 } : await verifyRetentionNote(note, log);
  if (deleted !== null) return { log, note, deleted };
  const message = "the retention note is not signed by the log: nothing is deleted; look at tvs log audit";
  throw new TvsError("STORE_CORRUPT", message);
}

export type RetentionState = Awaited<ReturnType<typeof readRetentionState>>;

/** Reads the retention, and `from`: attestations before this time (ms) may be deleted; null if none was deleted. */
export async function readRetentionState({ settings, evidence }: Pick<Retaining, "settings" | "evidence">) {
  const retention = (await settings.read()).get(retentionSettingName) ?? foreverRetention;
  const found = await readDeleted(evidence).catch(() => null);
  const from = found === null || found.deleted.position === 0 ? null : found.deleted.issuedBefore * 1000;
  return { from, retention };
}

/** Maximum ms by which the time in an id is ahead of the signed time: ids keep growing after a clock is set back. */
const maxIdAheadMs = dayMs;

/** Whether retention may have deleted an attestation. @param id the id of the verification or of the request */
export function isPossiblyDeleted({ from }: RetentionState, id: string): boolean {
  const at = timeOfUuid(id);
  return from !== null && at !== null && at < from + maxIdAheadMs;
}

/** Describes which attestations were deleted, for output that may lack them. */
export function describeRetention({ from, retention }: RetentionState): string {
  const setting = retention === foreverRetention ? "" : ` (they are kept for ${retention})`;
  return `attestations from before ${isoTime(from ?? 0)} have been deleted${setting}`;
}

type Retaining = {
  readonly evidence: LogStore;
  readonly settings: Pick<SettingsStore, "read">;
  readonly secrets: Pick<Secrets, "mac" | "open">;
  readonly pinned: Pick<PinnedCheckpointStore, "read">;
  readonly clock: Clock;
};

type PruningStep = {
  readonly deleted: number;
  /** Whether nothing more can be deleted at present. */
  readonly isOver: boolean;
  /** The id of the first old attestation that the pinned checkpoint does not prove; null if all are proven. */
  readonly held: number | null;
};

/** Maximum rows of `statement_people` that one transaction deletes. */
const peopleInStep = 256;

/**
 * Deletes attestations that are older than the retention. Each transaction takes a millisecond or two. A pause of the
 * same length follows, so that the commits of calls get half of the time. After a kill the next run continues.
 * @returns the number of deleted attestations, and the id at which retention stopped ({@link PruningStep.held})
 * @throws TvsError STORE_CORRUPT if the setting has a wrong MAC, or the log has not signed the retention note
 */
export async function pruneAttestations(retaining: Retaining, isStopped = () => false) {
  const { clock, evidence, settings, secrets } = retaining;
  const { retention, isAuthentic } = readRetentionSetting(await settings.read(), secrets);
  const keepMs = parseRetention(retention);
  let [deleted, held]: [number, number | null] = [0, null];
  if (keepMs === null) return { deleted, held };
  if (!isAuthentic) {
    const message =
      `that attestations are kept for ${retention} was written by somebody else: nothing is deleted; ` +
      "say it again with tvs serve --keep-attestations";
    throw new TvsError("STORE_CORRUPT", message);
  }
  const before = Math.floor((clock.now() - keepMs) / 1000);
  for (let isOver = false; !isOver && !isStopped(); ) {
    const step: PruningStep = await runAndPause(() => pruneTile(retaining, before));
    deleted += step.deleted;
    ({ isOver, held } = step);
  }
  const prunePeople = () => runAndPause(() => evidence.prunePeople(peopleInStep));
  while (!isStopped() && (await prunePeople()) === peopleInStep);
  return { deleted, held };
}

/** Deletes old attestations of one tile: the tile of the first attestation that is not deleted yet. */
async function pruneTile({ evidence, secrets, pinned }: Retaining, before: number): Promise<PruningStep> {
  const over = { deleted: 0, isOver: true, held: null };
  const [found, head] = [await readDeleted(evidence), readCheckpointHead(pinned.read())];
  // The pinned checkpoint of an earlier log proves nothing here. The present log soon signs its first checkpoint.
  if (found === null || head?.origin !== found.log.origin) return over;
  const { log, note, deleted } = found;
  // The newest row stays, because SQLite assigns the id after the largest stored id.
  const newest = await evidence.lastId();
  const rows = (await evidence.attested(deleted.position + 1, hashesPerTile)).filter(({ id }) => id < newest);
  const jwsOf = new Map(rows.map(({ id, jws }) => [id, jws]));
  const isOld = (jws: string) => (readSignedClaims(jws)?.issuedAt ?? Number.POSITIVE_INFINITY) < before;
  if (rows[0] === undefined || !isOld(rows[0].jws)) return over;

  const tile = Math.floor(deleted.position / hashesPerTile);
  const tileEnd = Math.min((tile + 1) * hashesPerTile, head.size);
  const end = Math.min(tileEnd, rows.at(-1)?.id ?? 0);
  const leaves = await readProvenLeaves(tile, head, evidence.tiles);
  let position = deleted.position;
  for (; leaves !== null && position < end; position++) {
    const [id, jws] = [position + 1, jwsOf.get(position + 1)];
    const expected = jws === undefined ? leafHashOfMissing(id) : leafHashOf(jws);
    if (!isSameHash(tileHashAt(leaves, position), expected) || (jws !== undefined && !isOld(jws))) break;
  }
  const stopped = jwsOf.get(position + 1);
  const held = position < end && (stopped === undefined || isOld(stopped)) ? position + 1 : null;
  if (position === deleted.position) return { ...over, held };

  const issuedBefore = Math.max(deleted.issuedBefore, before);
  const next = await signRetentionNote({ position, issuedBefore }, log, secrets);
  // On the disk now: no new note. After a kill the next run signs a new note.
  if (!(await evidence.prune(position, { log: log.number, before: note, next }))) return over;
  // On the disk now: the new note, and no row before its position. A kill during `prune` leaves the old rows and note.
  const count = rows.filter(({ id }) => id <= position).length;
  return { deleted: count, isOver: position < tileEnd || position === head.size, held };
}

const pruneIntervalMs = 60_000;

/**
 * Deletes old attestations once a minute.
 * @param dependencies `onPruned` is called with the number of deleted attestations, `onHeld` once for each id of {@link
 *   PruningStep.held}, `onError` with an error; after an error the next run tries again
 * @returns a function that stops the work after the present step
 */
export function startAttestationPruning(
  dependencies: Retaining & {
    onPruned: (count: number) => void;
    onHeld: (id: number) => void;
    onError: (error: unknown) => void;
  },
): () => Promise<void> {
  const { onPruned, onHeld, onError } = dependencies;
  let held: number | null = null;

  async function prune(isStopped: () => boolean): Promise<void> {
    const step = await pruneAttestations(dependencies, isStopped);
    if (step.held !== null && step.held !== held) onHeld(step.held);
    held = step.held ?? held;
    if (step.deleted > 0) onPruned(step.deleted);
  }

  return startRepeating(prune, { everyMs: pruneIntervalMs, onError });
}
