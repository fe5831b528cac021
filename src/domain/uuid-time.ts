/**
 * The time that a UUID of version 7 begins with (RFC 9562, 5.7). Verification ids and request ids are such: they sort
 * by time, so that an id is enough to know where to look for it.
 */

/**
 * @param id hexadecimal in groups, as RFC 9562 writes it
 * @returns milliseconds since the epoch; null for an id of another kind, which this service never gave
 */
export function timeOfUuid(id: string): number | null {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(id);
  return match === null ? null : Number.parseInt(`${match[1]}${match[2]}`, 16);
}

/** The latest time that fits. */
const maxTime = 2 ** 48 - 1;

/**
 * A text that no id of a time or later sorts before, and no earlier id after.
 * @param time milliseconds since the epoch
 */
export function uuidFrom(time: number): string {
  const hex = Math.min(maxTime, Math.max(0, Math.ceil(time)))
    .toString(16)
    .padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
