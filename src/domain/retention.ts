import { isoTime, timeOfUuid } from "./clock.ts";
import { TvsError } from "./errors.ts";
import {
  isOwnRetention,
  leastRetentionMs,
  type Retaining,
  readMark,
  retentionSetting,
  retentionTagSetting,
} from "./evidence/retention-mark.ts";

const dayMs = 86_400_000;
/** A year is counted long, so that nothing is deleted a day early. */
const unitMs: Readonly<Record<string, number>> = { d: dayMs, y: 366 * dayMs };
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
  if (ms >= leastRetentionMs) return ms;
  const message = `--keep-attestations (TVS_KEEP_ATTESTATIONS) must be forever, or at least ${leastRetentionMs / dayMs}d, such as 3650d or 7y`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** How the end of the log that is no longer there is known: what was issued before `from` may be gone. */
export type KeptLog = {
  /** Milliseconds since the epoch; null when nothing was ever deleted. */
  readonly from: number | null;
  /** The setting as it was given. */
  readonly retention: string;
};

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
export async function ownRetention({ settings, secrets }: Omit<Retaining, "maintenance">) {
  const stored = await settings.read();
  const retention = stored.get(retentionSetting) ?? keepForever;
  const keepMs = parseRetention(retention);
  if (keepMs === null || isOwnRetention(retention, stored.get(retentionTagSetting), secrets)) return keepMs;
  const message =
    `that attestations are kept for ${retention} was written by somebody else: nothing is deleted; ` +
    "say it anew with tvs serve --keep-attestations";
  throw new TvsError("STORE_CORRUPT", message);
}
