import type { Driver, Value } from "./driver/driver.ts";
import { bytes, integer } from "./driver/rows.ts";
import { bitsOf, mayHold, type SoughtBy } from "./segment-filter.ts";

/** Ids from `first` to `last`, both included. */
export type Stretch = { readonly first: number; readonly last: number };

/** Filters read at a time: two megabytes. */
const filtersAtOnce = 256;
const maxId = Number.MAX_SAFE_INTEGER;

/**
 * The stretches of the log that may speak of someone: those whose filter does not exclude it, and what is too
 * new to have a filter. In the order of the log, or against it.
 */
export async function* stretchesOf(
  driver: Driver,
  key: SoughtBy,
  { newestFirst }: { newestFirst: boolean },
): AsyncGenerator<Stretch> {
  const bits = bitsOf(key);
  const [end] = await driver.query("SELECT coalesce(max(last_id), 0) AS id FROM attestation_stretches");
  const filtered = end === undefined ? 0 : integer(end, "id");
  const unfiltered = { first: filtered + 1, last: maxId };
  if (newestFirst) yield unfiltered;
  let from = newestFirst ? filtered + 1 : 0;
  for (;;) {
    const rows = await driver.query(page(newestFirst), [from, filtered, filtersAtOnce]);
    for (const row of rows) {
      from = integer(row, "last_id");
      if (mayHold(bytes(row, "filter"), bits)) yield { first: integer(row, "first_id"), last: from };
    }
    if (rows.length < filtersAtOnce) break;
  }
  if (!newestFirst) yield unfiltered;
}

function page(newestFirst: boolean): string {
  const where = newestFirst ? "last_id < ?1" : "last_id > ?1";
  return `SELECT first_id, last_id, filter FROM attestation_stretches
    WHERE ${where} AND last_id <= ?2 ORDER BY last_id ${newestFirst ? "DESC" : ""} LIMIT ?3`;
}

/** The condition of a key over attestations, and its value. */
export function conditionOf(key: SoughtBy): readonly [sql: string, value: Value] {
  if ("teacherId" in key) return ["teacher_id = ?3", key.teacherId];
  if ("partnerId" in key) return ["partner_id = ?3", key.partnerId];
  return ["nin_index = ?3", key.ninIndex];
}
