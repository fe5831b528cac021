/**
 * How long attestations are kept, and how old ones are deleted. Retention deletes from the oldest attestation on without a
 * gap, and only those that the pinned checkpoint proves to be unchanged. It leaves a retention note that the log signs: all
 * rows before this position were deleted. Somebody else removed a row that is missing from there on (decision D13.9).
 */

import { Buffer } from "node:buffer";
import { readCount } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import { formatNote, keyIdOf, readNote, signatureTypes, verifyEd25519 } from "../../partner/signed-note.ts";
import type { Log, LogStore } from "../../store/evidence/log.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import type { SettingsStore } from "../../store/settings.ts";
import { type Clock, isoTime, timeOfUuid } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { equalBytes, type Secrets } from "../secrets.ts";
import { repeat, runAndPause } from "../serial.ts";
import { readSigned } from "./audit-rows.ts";
import { checkpointKeyOf, headIn } from "./log.ts";
import { hashAt, leafHash, missingLeafHash, provenLeaves, tileHashes } from "./tree.ts";

const dayMs = 86_400_000;
/** A year has 366 days, so that nothing is deleted a day early. */
const unitMs: Readonly<Record<string, number>> = { d: dayMs, y: 366 * dayMs };
export const keepForever = "forever";

/** Nothing younger is deleted: `tvs teachers revoke` reads from the attestations which partners got VALID in ninety days. */
const leastRetentionMs = 90 * dayMs;

/**
 * How long attestations are kept: `forever`, or days or years such as `3650d` or `7y`.
 * @returns milliseconds; null for `forever`
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

/** The setting of how long attestations are kept, in the form that `parseRetention` reads. */
export const retentionSetting = "keep_attestations";
/** The setting with a MAC of the one above: only an operator with the master key decides what is deleted. */
export const retentionTagSetting = "keep_attestations_mac";

/** Both settings for how long attestations are kept. */
export function retentionSettings(retention: string, { mac }: Pick<Secrets, "mac">): Record<string, string> {
  const tag = Buffer.from(mac("retention", `setting\n${retention}`)).toString("base64url");
  return { [retentionSetting]: retention, [retentionTagSetting]: tag };
}

/** How long attestations are kept by the stored settings, and whether an operator with the master key set it. */
export function readRetention(stored: ReadonlyMap<string, string>, secrets: Pick<Secrets, "mac">) {
  const retention = stored.get(retentionSetting) ?? keepForever;
  const tag = retentionSettings(retention, secrets)[retentionTagSetting] ?? "";
  const isOwn = equalBytes(Buffer.from(tag), Buffer.from(stored.get(retentionTagSetting) ?? ""));
  return { retention, isOwn };
}

type Deleted = {
  /** The rows of so many leaves, from the first on, were deleted. */
  readonly position: number;
  /** All of them were issued before this time, in seconds since the epoch. */
  readonly issuedBefore: number;
};

/** Not an origin: no log signs a checkpoint whose first line this is. */
const firstLine = "tvs/v1/retention";

/** Makes the retention note: what was deleted, signed by a log. */
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

/** Verifies a retention note. @returns null when this log did not sign it: then it excuses no missing row */
export async function openRetention(note: string, log: Log): Promise<Deleted | null> {
  const signed = readNote(note);
  if (signed instanceof Refusal) return null;
  const [first, origin, position = "", issuedBefore = "", ...rest] = signed.text.split("\n");
  const deleted = { position: readCount(position), issuedBefore: readCount(issuedBefore) };
  if (first !== firstLine || origin !== log.origin || rest.join("") !== "") return null;
  if (deleted.position === null || deleted.issuedBefore === null) return null;
  const [line] = signed.signatures;
  const bytes = new TextEncoder().encode(signed.text);
  const isSigned =
    line !== undefined && (await verifyEd25519(new Uint8Array(log.publicKey), bytes, line.signature));
  return isSigned ? { position: deleted.position, issuedBefore: deleted.issuedBefore } : null;
}

/** The newest log, its retention note and what the note says; null without a log. @throws TvsError STORE_CORRUPT */
async function readDeleted(store: LogStore) {
  const [log, note] = [(await store.logs()).at(-1), await store.retention()];
  if (log === undefined) return null;
  const deleted = note === null ? { position: 0, issuedBefore: 0 } : await openRetention(note, log);
  if (deleted !== null) return { log, note, deleted };
  const message = "the retention note is not signed by the log: nothing is deleted; look at tvs log audit";
  throw new TvsError("STORE_CORRUPT", message);
}

export type KeptLog = Awaited<ReturnType<typeof keptLog>>;

/** Reads the time before which attestations may be deleted (ms; null when none was), and the setting as it was given. */
export async function keptLog({ settings, evidence }: Pick<Retaining, "settings" | "evidence">) {
  const retention = (await settings.read()).get(retentionSetting) ?? keepForever;
  const found = await readDeleted(evidence).catch(() => null);
  const from = found === null || found.deleted.position === 0 ? null : found.deleted.issuedBefore * 1000;
  return { from, retention };
}

/** How far the time in an id may be ahead of the signed time: ids never go back when a clock is set back. */
const idAheadMs = dayMs;

/** Whether the attestation of an id may have been deleted. @param id of a verification or of a request */
export function mayBePruned({ from }: KeptLog, id: string): boolean {
  const at = timeOfUuid(id);
  return from !== null && at !== null && at < from + idAheadMs;
}

/** The sentence for output that may lack deleted attestations. */
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

type Step = {
  readonly deleted: number;
  /** Whether nothing more can be deleted now. */
  readonly isOver: boolean;
  /** The id of an attestation that is old and not proven to be unchanged. Nothing is deleted from there on. */
  readonly held: number | null;
};

/** People of deleted statements that are forgotten in one commit. */
const peopleInStep = 256;

/**
 * Deletes attestations that are older than the retention setting. Each commit takes a millisecond or two and is followed by
 * a pause of the same length, so that calls wait for none of them for long. The next run goes on where a killed one ended.
 * @param options `onHeld` gets the id of {@link Step.held}
 * @returns how many attestations were deleted
 * @throws TvsError STORE_CORRUPT when this service wrote neither the setting nor the retention note
 */
export async function pruneAttestations(
  retaining: Retaining,
  {
    isStopped = () => false,
    onHeld = () => {},
  }: { isStopped?: () => boolean; onHeld?: (id: number) => void } = {},
): Promise<number> {
  const { clock, evidence, settings, secrets } = retaining;
  const { retention, isOwn } = readRetention(await settings.read(), secrets);
  const keepMs = parseRetention(retention);
  if (keepMs === null) return 0;
  if (!isOwn) {
    const message =
      `that attestations are kept for ${retention} was written by somebody else: nothing is deleted; ` +
      "say it again with tvs serve --keep-attestations";
    throw new TvsError("STORE_CORRUPT", message);
  }
  const before = Math.floor((clock.now() - keepMs) / 1000);
  let deleted = 0;
  for (let isOver = false; !isOver && !isStopped(); ) {
    const step: Step = await runAndPause(() => pruneTile(retaining, before), clock);
    deleted += step.deleted;
    isOver = step.isOver;
    if (step.held !== null) onHeld(step.held);
  }
  const forget = () => runAndPause(() => evidence.prunePeople(peopleInStep), clock);
  while (!isStopped() && (await forget()) === peopleInStep);
  return deleted;
}

/** Deletes the old attestations whose leaves are in the first tile that is not deleted yet. */
async function pruneTile({ evidence, secrets, pinned }: Retaining, before: number): Promise<Step> {
  const over = { deleted: 0, isOver: true, held: null };
  const [found, head] = [await readDeleted(evidence), headIn(pinned.read())];
  // The checkpoint of another log proves nothing here; the next one is pinned soon.
  if (found === null || head?.origin !== found.log.origin) return over;
  const { log, note, deleted } = found;
  // The newest row stays: the next attestation gets the id after it.
  const newest = await evidence.lastId();
  const rows = (await evidence.attested(deleted.position + 1, tileHashes)).filter(({ id }) => id < newest);
  const jwsOf = new Map(rows.map(({ id, jws }) => [id, jws]));
  const isOld = (jws: string) => (readSigned(jws)?.issuedAt ?? Number.POSITIVE_INFINITY) < before;
  if (rows[0] === undefined || !isOld(rows[0].jws)) return over;

  const tile = Math.floor(deleted.position / tileHashes);
  const tileEnd = Math.min((tile + 1) * tileHashes, head.size);
  const end = Math.min(tileEnd, rows.at(-1)?.id ?? 0);
  const leaves = await provenLeaves(tile, head, evidence.tiles);
  let position = deleted.position;
  for (; leaves !== null && position < end; position++) {
    const [id, jws] = [position + 1, jwsOf.get(position + 1)];
    const expected = jws === undefined ? missingLeafHash(id) : leafHash(jws);
    if (!isSameHash(hashAt(leaves, position), expected) || (jws !== undefined && !isOld(jws))) break;
  }
  const stopped = jwsOf.get(position + 1);
  const held = position < end && (stopped === undefined || isOld(stopped)) ? position + 1 : null;
  if (position === deleted.position) return { ...over, held };

  const issuedBefore = Math.max(deleted.issuedBefore, before);
  const is = await signRetention({ position, issuedBefore }, log, secrets);
  // On the disk: nothing new. After a kill here the next run signs the same again.
  if (!(await evidence.prune(position, { log: log.number, was: note, is }))) return over;
  // On the disk: the note, and no row that it names. A kill inside the transaction leaves the rows and the old note.
  const count = rows.filter(({ id }) => id <= position).length;
  return { deleted: count, isOver: position < tileEnd || position === head.size, held };
}

const pruneMs = 60_000;

/**
 * Deletes old attestations once a minute until it is stopped.
 * @param dependencies `onPruned` gets how many were deleted, `onHeld` once the id that retention stops at, `onError` an error;
 *   the next turn tries again
 * @returns stops it, after the step that is running
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
