import { Buffer } from "node:buffer";
import type { AttestationMaintenance } from "../../domain/attestations.ts";
import type { Driver, Value } from "../driver/driver.ts";
import { bytes, integer, integerOrNull, text, textOrNull } from "../driver/rows.ts";
import { addTo, bitsOf, mayHold } from "./bloom.ts";
import { nextLoggedId } from "./evidence.ts";

/**
 * Secondary indexes of the evidence log, built behind it: whom each of its segments speaks of, and who verified whom.
 * The tables keep the names that migrations gave them: attestation_stretches holds the segments, attestation_upkeep how
 * far maintenance has come.
 */

/** Attestations of one segment of the log, and the size of its filter: sixteen bits an attestation. */
export const segmentRows = 4096;
const filterBytes = 8192;

/** Whom or what attestations are sought by. */
export type SoughtBy =
  | { readonly teacherId: number }
  | { readonly ninIndex: Uint8Array }
  | { readonly partnerId: string };

/** Attestations of one step: a millisecond or so, which a call that waits for the disk does not notice. */
const verifiedRows = 512;

/**
 * Notes who verified whom, and how far that is noted. Both statements see the same rows, because nobody else writes
 * between them.
 */
const insertVerified = `INSERT INTO verified_teachers (partner_id, block, mask)
  SELECT partner_id, teacher_id / 62, sum(DISTINCT 1 << (teacher_id % 62)) FROM attestations
  WHERE id > (SELECT verified_through FROM attestation_upkeep WHERE id = 1)
    AND id <= (SELECT verified_through FROM attestation_upkeep WHERE id = 1) + ?1 AND teacher_id IS NOT NULL
  GROUP BY 1, 2
  ON CONFLICT (partner_id, block) DO UPDATE SET mask = mask | excluded.mask
    WHERE mask | excluded.mask <> mask`;
const moveVerified = `UPDATE attestation_upkeep SET
    verified_through = min(verified_through + ?1, (SELECT max(id) FROM attestations))
  WHERE id = 1 AND verified_through < (SELECT max(id) FROM attestations) RETURNING verified_through`;

/** Filters read at a time: two megabytes. */
const filtersAtOnce = 256;
const maxId = Number.MAX_SAFE_INTEGER;

/** The next segment that is complete: where it begins, and its last row. */
const nextSegment = `SELECT done.id + 1 AS first_id,
    (SELECT id FROM attestations WHERE id > done.id ORDER BY id LIMIT 1 OFFSET ?1) AS last_id
  FROM (SELECT coalesce((SELECT max(last_id) FROM attestation_stretches), 0) AS id) AS done`;
/**
 * Everything that one part of a segment speaks of, as one text: a row of its own for each costs ten times as much.
 */
const keysOfPart = `SELECT (SELECT max(id) FROM part) AS last_id, json_array(
    (SELECT json_group_array(DISTINCT teacher_id) FROM part), (SELECT json_group_array(DISTINCT hex(nin_index)) FROM part),
    (SELECT json_group_array(DISTINCT partner_id) FROM part)) AS keys
  FROM (SELECT 1)`;
const partOf = `WITH part AS MATERIALIZED (
  SELECT id, teacher_id, nin_index, partner_id FROM attestations WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT ?3)`;

/**
 * The rows that may go: never the newest one, whose id the next one follows, nor one that is not built upon yet, nor one
 * whose leaf is not in the tree.
 */
const deletable = `SELECT id, jws FROM attestations WHERE id >= ?1 AND id < (SELECT max(id) FROM attestations)
  AND id <= (SELECT verified_through FROM attestation_upkeep WHERE id = 1)
  AND id < (${nextLoggedId}) ORDER BY id LIMIT ?2`;
const setMark = "UPDATE attestation_upkeep SET mark = ?2 WHERE id = 1 AND mark IS ?1 RETURNING id";
const isMarked = "EXISTS (SELECT 1 FROM attestation_upkeep WHERE id = 1 AND mark = ?1)";
const prune = `DELETE FROM attestations WHERE ${isMarked} AND id IN (SELECT value FROM json_each(?2))`;
const notePruned = `UPDATE attestation_upkeep SET kept_from = max(coalesce(kept_from, 0), ?2),
    pruned = pruned + changes() WHERE id = 1 AND mark = ?1`;
const pruneSegments = "DELETE FROM attestation_stretches WHERE last_id < (SELECT min(id) FROM attestations)";
const readKept = "SELECT kept_from, pruned, mark FROM attestation_upkeep WHERE id = 1";
const firstId = `SELECT coalesce((SELECT min(id) FROM attestations), (${nextLoggedId}), 1) AS id`;
/** So many of the oldest rows may have gaps among them: more are not answered in the minutes by which clocks differ. */
const gapRows = 10_000;
const behindGaps = `SELECT max(next) AS id FROM (SELECT id, lead(id) OVER (ORDER BY id) AS next
  FROM (SELECT id FROM attestations ORDER BY id LIMIT ${gapRows})) WHERE next > id + 1`;

const verifiedBy = `SELECT partner_id FROM verified_teachers
  WHERE block = ?1 / 62 AND (mask >> (?1 % 62)) & 1 ORDER BY partner_id`;
/** Notes are made in another order than the log's, which costs a page each: only while somebody needs them. */
const wantsVerified = `SELECT 1 FROM settings WHERE name = 'keep_attestations' AND value <> 'forever'
  UNION ALL SELECT 1 FROM webhook_endpoints WHERE teachers = 'verified' LIMIT 1`;

/** Maintenance of the evidence log: builds its secondary indexes behind it, and deletes what is too old. */
export function createAttestationMaintenance(driver: Driver): AttestationMaintenance {
  async function noteVerified(): Promise<boolean> {
    const [, moved] = await driver.batch([
      { sql: insertVerified, args: [verifiedRows] },
      { sql: moveVerified, args: [verifiedRows] },
    ]);
    return moved?.length === 1;
  }

  /** The parts are read where the writing is done: there the rows are still in memory. */
  async function buildSegment(): Promise<boolean> {
    const [next] = await driver.query(nextSegment, [segmentRows - 1]);
    const last = next === undefined ? null : integerOrNull(next, "last_id");
    if (next === undefined || last === null) return false;
    const first = integer(next, "first_id");
    const keys: SoughtBy[] = [];
    for (let from = first; from <= last; ) {
      const [rows] = await driver.batch([{ sql: partOf + keysOfPart, args: [from, last, verifiedRows] }]);
      const [part] = rows ?? [];
      if (part === undefined || part.last_id === null) break;
      keys.push(...readKeys(text(part, "keys")));
      from = integer(part, "last_id") + 1;
    }
    const insert = `INSERT INTO attestation_stretches (first_id, last_id, filter) VALUES (?, ?, ?)
      ON CONFLICT DO NOTHING`;
    await driver.batch([{ sql: insert, args: [first, last, makeFilter(keys)] }]);
    return true;
  }

  return {
    async build() {
      const wanted = (await driver.query(wantsVerified)).length > 0;
      const verified = wanted && (await noteVerified());
      return (await buildSegment()) || verified;
    },
    noteVerified,
    async deletable(from, limit) {
      const rows = await driver.query(deletable, [from, limit]);
      return rows.map((row) => ({ id: integer(row, "id"), jws: text(row, "jws") }));
    },
    async prune(ids, { was, is, from }) {
      const [marked] = await driver.batch([
        { sql: setMark, args: [was, is] },
        { sql: prune, args: [is, JSON.stringify(ids)] },
        { sql: notePruned, args: [is, from] },
        { sql: pruneSegments, args: [] },
      ]);
      return marked?.length === 1;
    },
    async setMark(was, is) {
      const [marked] = await driver.batch([{ sql: setMark, args: [was, is] }]);
      return marked?.length === 1;
    },
    async firstId(wanted) {
      const [gap] = wanted ? await driver.query(behindGaps) : [];
      const behind = gap === undefined ? null : integerOrNull(gap, "id");
      if (behind !== null) return behind;
      const [row] = await driver.query(firstId);
      return row === undefined ? 1 : integer(row, "id");
    },
    async verifiedBy(teacherId) {
      return (await driver.query(verifiedBy, [teacherId])).map((row) => text(row, "partner_id"));
    },
    async kept() {
      const [row] = await driver.query(readKept);
      const from = row === undefined ? null : integerOrNull(row, "kept_from");
      return {
        from: from === null ? null : from * 1000,
        pruned: row === undefined ? 0 : integer(row, "pruned"),
        mark: row === undefined ? null : textOrNull(row, "mark"),
      };
    },
  };
}

function readKeys(json: string): SoughtBy[] {
  const [teachers, nins, partners] = JSON.parse(json) as [(number | null)[], string[], string[]];
  return [
    ...teachers.filter((teacherId) => teacherId !== null).map((teacherId) => ({ teacherId })),
    ...nins.filter((hex) => hex !== "").map((hex) => ({ ninIndex: Buffer.from(hex, "hex") })),
    ...partners.map((partnerId) => ({ partnerId })),
  ];
}

/** Ids from `first` to `last`, both included. */
type Segment = { readonly first: number; readonly last: number };

/**
 * The segments of the log that may speak of someone: those whose filter does not exclude it, and what is too
 * new to have a filter. In the order of the log, or against it.
 * @param range only segments with ids behind `after`, and up to `upTo`
 */
export async function* segmentsOf(
  driver: Driver,
  key: SoughtBy,
  { newestFirst, after = 0, upTo = maxId }: { newestFirst: boolean; after?: number; upTo?: number },
): AsyncGenerator<Segment> {
  const bits = bitsOf(nameOf(key), filterBytes);
  const [end] = await driver.query("SELECT coalesce(max(last_id), 0) AS id FROM attestation_stretches");
  const filtered = end === undefined ? 0 : integer(end, "id");
  const unfiltered = { first: filtered + 1, last: maxId };
  if (newestFirst && upTo > filtered) yield unfiltered;
  let from = newestFirst ? Math.min(filtered, upTo + segmentRows) + 1 : after;
  for (;;) {
    const rows = await driver.query(page(newestFirst), [from, filtered, filtersAtOnce]);
    for (const row of rows) {
      from = integer(row, "last_id");
      const first = integer(row, "first_id");
      if (newestFirst ? from <= after : first > upTo) return;
      if (first <= upTo && mayHold(bytes(row, "filter"), bits)) yield { first, last: from };
    }
    if (rows.length < filtersAtOnce) break;
  }
  if (!newestFirst && upTo > filtered) yield unfiltered;
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

/**
 * The Bloom filter of one segment: says surely that a teacher, a NIN or a partner does not occur in it, and mistakes one
 * in a thousand others. Filters are stored, so neither their size nor the names in them are ever changed.
 */
export function makeFilter(keys: Iterable<SoughtBy>): Uint8Array {
  const filter = new Uint8Array(filterBytes);
  for (const key of keys) addTo(filter, nameOf(key));
  return filter;
}

function nameOf(key: SoughtBy): string {
  if ("teacherId" in key) return `t${key.teacherId}`;
  if ("partnerId" in key) return `p${key.partnerId}`;
  return `n${Buffer.from(key.ninIndex).toString("hex").toUpperCase()}`;
}
