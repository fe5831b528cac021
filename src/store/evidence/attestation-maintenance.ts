import type { LogEpoch } from "../../domain/evidence/evidence.ts";
import type { Driver } from "../driver/driver.ts";
import { integer, integerOrNull, text, textOrNull } from "../driver/rows.ts";
import { nextFirstId, nextLoggedId, nextSignedId } from "./evidence.ts";
import { prunePeople } from "./statement-people.ts";

/** The rows that may go: never the newest one, whose id the next one follows, nor one with which an epoch may begin. */
const deletable = `SELECT id, jws FROM attestations WHERE id >= ?1 AND id < (SELECT max(id) FROM attestations)
  AND id < (${nextSignedId}) ORDER BY id LIMIT ?2`;
const setMark = `UPDATE attestation_upkeep SET mark = ?2 WHERE id = 1 AND mark IS ?1
  AND (?3 IS NULL OR (${nextFirstId} = ?4 AND NOT EXISTS (SELECT 1 FROM log_epochs WHERE epoch >= ?3))) RETURNING id`;
const toPrune = `FROM attestations WHERE id IN (SELECT value FROM json_each(?2))
  AND EXISTS (SELECT 1 FROM attestation_upkeep WHERE id = 1 AND mark = ?1)`;
/** Who ever verified a teacher is kept, because events go by it. */
const noteVerified = `INSERT OR IGNORE INTO verified_before (teacher_id, partner_id)
  SELECT teacher_id, partner_id ${toPrune} AND teacher_id IS NOT NULL`;
const notePruned = `UPDATE attestation_upkeep SET kept_from = max(coalesce(kept_from, 0), ?2),
    pruned = pruned + changes() WHERE id = 1 AND mark = ?1`;
const readKept = "SELECT kept_from, pruned, mark FROM attestation_upkeep WHERE id = 1";
const firstId = `SELECT coalesce((SELECT min(id) FROM attestations), (${nextLoggedId}), 1) AS id`;
/** So many of the oldest rows may have gaps among them: more are not answered in the minutes by which clocks differ. */
const gapRows = 10_000;
const behindGaps = `SELECT max(next) AS id FROM (SELECT id, lead(id) OVER (ORDER BY id) AS next
  FROM (SELECT id FROM attestations ORDER BY id LIMIT ${gapRows})) WHERE next > id + 1`;
const verifiedBy = `SELECT partner_id FROM verified_before WHERE teacher_id = ?1
  UNION SELECT partner_id FROM attestations WHERE teacher_id = ?1 ORDER BY partner_id`;

export type AttestationMaintenance = ReturnType<typeof createAttestationMaintenance>;

/** Maintenance of the evidence log: deletes what is too old, and knows what of it was deleted. */
export function createAttestationMaintenance(driver: Driver) {
  return {
    /** The next attestations that may be deleted, in the order of their ids, from the id `from` on. */
    async deletable(from: number, limit: number) {
      const rows = await driver.query(deletable, [from, limit]);
      return rows.map((row) => ({ id: integer(row, "id"), jws: text(row, "jws") }));
    },
    /**
     * Deletes attestations and changes the mark that says so, in one act.
     * @returns false, having done nothing, when the mark is another one by now
     */
    async prune(ids: readonly number[], { was, is, from }: { was: string; is: string; from: number }) {
      const pruned = [is, JSON.stringify(ids)];
      const [marked] = await driver.batch([
        { sql: setMark, args: [was, is, null, null] },
        { sql: noteVerified, args: pruned },
        { sql: `DELETE ${toPrune}`, args: pruned },
        { sql: notePruned, args: [is, from] },
      ]);
      return marked?.length === 1;
    },
    /** Forgets of whom statements spoke that were deleted, so many at most. @returns how many there were */
    async prunePeople(limit: number) {
      const [gone] = await driver.batch([{ sql: prunePeople, args: [limit] }]);
      return gone?.length ?? 0;
    },
    /**
     * Puts a mark in the place of another one, or where there is none.
     * @param next an epoch that must not have been opened yet, and that would begin with that id
     * @returns false when it is another one by now, that epoch is there, or would begin elsewhere
     */
    async setMark(was: string | null, is: string, next?: Pick<LogEpoch, "epoch" | "firstId">) {
      const args = [was, is, next?.epoch ?? null, next?.firstId ?? null];
      const [marked] = await driver.batch([{ sql: setMark, args }]);
      return marked?.length === 1;
    },
    /**
     * The id of the oldest attestation that is there, or of the one that comes first.
     * @param wanted the id behind the last gap among the oldest ones, if there is one: releases before deleted by
     *   `issued_at`, which the order of ids follows by some minutes
     */
    async firstId(wanted: boolean) {
      const [gap] = wanted ? await driver.query(behindGaps) : [];
      const behind = gap === undefined ? null : integerOrNull(gap, "id");
      if (behind !== null) return behind;
      const [row] = await driver.query(firstId);
      return row === undefined ? 1 : integer(row, "id");
    },
    async verifiedBy(teacherId: number) {
      return (await driver.query(verifiedBy, [teacherId])).map((row) => text(row, "partner_id"));
    },
    /**
     * What the database says was deleted: what was issued before `from` (milliseconds since the epoch), null for nothing; how
     * many; and the mark (`retention-mark.ts`), which alone is to be believed.
     */
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
