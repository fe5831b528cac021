import type { QuotaCharge, QuotaStore, WindowKind, WindowStarts } from "../domain/quota-windows.ts";
import { type Condition, isAttested, isAttestedAs, isRevision } from "./conditions.ts";
import type { Commit } from "./driver/commits.ts";
import type { Driver, SqlStatement, Value } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

const select = "SELECT partner_id, kind, starts_at, used FROM quota_windows";
const selectUsed = `SELECT
  coalesce((SELECT used FROM quota_windows WHERE partner_id = ?1 AND kind = 'minute' AND starts_at = ?2), 0) AS minute,
  coalesce((SELECT used FROM quota_windows WHERE partner_id = ?1 AND kind = 'day' AND starts_at = ?3), 0) AS day`;

/** A window has room: SQL for the partner, the window's start and what may be used of it before. */
export function hasRoom(kind: WindowKind, [partner, start, most]: readonly [string, string, string]): string {
  return `coalesce((SELECT used FROM quota_windows
  WHERE partner_id = ${partner} AND kind = '${kind}' AND starts_at = ${start}), 0) <= ${most}`;
}
const minuteHasRoom = hasRoom("minute", ["?", "?", "?"]);
const bothHaveRoom = `${minuteHasRoom} AND ${hasRoom("day", ["?", "?", "?"])}`;

const addToBoth = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT ?, column1, column2, column3 FROM (VALUES ('minute', ?, ?), ('day', ?, ?)) WHERE ${isAttested}
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = used + excluded.used`;
/** {@link addToBoth} for many calls, `[verificationId, partnerId, minute, day, calls]` each. */
const addForEach = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT call.value ->> 1, column1, iif(column1 = 'minute', call.value ->> 2, call.value ->> 3), sum(call.value ->> 4)
  FROM json_each(?) AS call CROSS JOIN (VALUES ('minute'), ('day'))
  WHERE ${isAttestedAs("call.value ->> 0")} GROUP BY 1, 2, 3
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = used + excluded.used`;
const addToMinute = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT ?, 'minute', ?, ? WHERE ${isRevision} AND ${minuteHasRoom}
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = used + excluded.used RETURNING 1 AS charged`;

/** Both windows have room for a call. */
export function roomFor(charge: QuotaCharge): Condition {
  return { sql: bothHaveRoom, args: [...roomValues(charge, "minute"), ...roomValues(charge, "day")] };
}

function roomValues(charge: QuotaCharge, kind: WindowKind): Value[] {
  return [charge.partnerId, charge.starts[kind], mostBefore(charge, kind)];
}

/** How much of a window may be used before a call, so that it still has room. */
export function mostBefore({ calls, ofDay = calls, limits }: QuotaCharge, kind: WindowKind): number {
  return limits[kind] - (kind === "day" ? ofDay : calls);
}

/** Charges both windows for a call whose attestation is stored. */
export function chargeStatement(
  { partnerId, starts, calls, ofDay = calls }: QuotaCharge,
  verificationId: string,
) {
  return { sql: addToBoth, args: [partnerId, starts.minute, calls, starts.day, ofDay, verificationId] };
}

/** Charges both windows of each call whose attestation is stored. @param calls as {@link addForEach} has them */
export function chargesStatement(calls: string): SqlStatement {
  return { sql: addForEach, args: [calls] };
}

/** What partners have used of their windows. */
export function createQuotaStore(driver: Driver, commit: Commit): QuotaStore {
  return {
    async windows(starts) {
      const sql = `${select} WHERE (kind = 'minute' AND starts_at = ?) OR (kind = 'day' AND starts_at = ?)`;
      const rows = await (starts === undefined ? driver.query(select) : driver.query(sql, timesOf(starts)));
      return rows.map((row) => ({
        partnerId: text(row, "partner_id"),
        kind: text(row, "kind") as WindowKind,
        startsAt: integer(row, "starts_at"),
        used: integer(row, "used"),
      }));
    },
    async used(partnerId, starts) {
      const [row = {}] = await driver.query(selectUsed, [partnerId, ...timesOf(starts)]);
      return { minute: integer(row, "minute"), day: integer(row, "day") };
    },
    async chargeMinute(charge, revision) {
      const { partnerId, starts, calls } = charge;
      const add = [partnerId, starts.minute, calls, revision, ...roomValues(charge, "minute")];
      const [charged, [row = {}] = []] = await commit([
        { sql: addToMinute, args: add },
        { sql: selectUsed, args: [partnerId, ...timesOf(starts)] },
      ]);
      return charged?.length === 1 ? { minute: integer(row, "minute"), day: integer(row, "day") } : null;
    },
    async prune(before) {
      const sql =
        "DELETE FROM quota_windows WHERE (kind = 'minute' AND starts_at < ?) OR (kind = 'day' AND starts_at < ?)";
      await driver.batch([{ sql, args: timesOf(before) }]);
    },
  };
}

function timesOf({ minute, day }: WindowStarts): number[] {
  return [minute, day];
}
