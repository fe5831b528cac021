import type {
  QuotaCharge,
  QuotaStore,
  WindowKind,
  WindowStarts,
  WindowsUsed,
} from "../domain/quota-windows.ts";
import { type Condition, isAttested, isAttestedAs, isRevisionAs } from "./conditions.ts";
import type { ActKind, Commit } from "./driver/commits.ts";
import { type Driver, rowsInJson, type SqlStatement, type Value } from "./driver/driver.ts";
import { flag, integer, text } from "./driver/rows.ts";

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
/** What a window of a group of calls has used. */
const usedOf = (kind: WindowKind, startsAt: string) => `coalesce((SELECT used FROM quota_windows
  WHERE partner_id = value ->> 0 AND kind = '${kind}' AND starts_at = ${startsAt}), 0)`;
const isRevisionOfGroup = isRevisionAs("value ->> 5");
/** Of groups of calls, `[partnerId, minute, day, calls, limit, revision]` each, what their windows have used. */
const lookAtGroups = `SELECT ${isRevisionOfGroup} AS holds, ${usedOf("minute", "value ->> 1")} AS minute,
  ${usedOf("day", "value ->> 2")} AS day FROM json_each(?) ORDER BY key`;
/** Charges the minutes of the same groups for as many of their calls as there is room for. */
const addToMinutes = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT value ->> 0, 'minute', value ->> 1, min(value ->> 3, value ->> 4 - ${usedOf("minute", "value ->> 1")})
  FROM json_each(?) WHERE ${isRevisionOfGroup} AND ${usedOf("minute", "value ->> 1")} < value ->> 4
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = used + excluded.used`;

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
    chargeMinute: (charge, revision) => commit.inBatch(minuteCharges, { charge, revision }),
    async prune(before) {
      const sql =
        "DELETE FROM quota_windows WHERE (kind = 'minute' AND starts_at < ?) OR (kind = 'day' AND starts_at < ?)";
      await driver.batch([{ sql, args: timesOf(before) }]);
    },
  };
}

/**
 * Minutes that wait for the same commit are paid together, those of one partner by one row. At most one group of a
 * partner's minute is judged by the revision that holds, so what each call has cost follows from what was used before.
 */
const minuteCharges: ActKind<MinuteCharge, WindowsUsed | null> = {
  plan(items) {
    const groups = new Map<string, { readonly of: MinuteCharge; calls: number }>();
    const placed = items.map((item) => {
      const { partnerId, starts, limits } = item.charge;
      const name = [partnerId, starts.minute, limits.minute, item.revision].join(" ");
      const group = groups.get(name) ?? { of: item, calls: 0 };
      groups.set(name, group);
      group.calls += item.charge.calls;
      return { group, upTo: group.calls };
    });
    const all = [...groups.values()];
    const rows = all.map(({ of: { charge, revision }, calls }) => {
      const { partnerId, starts, limits } = charge;
      return [partnerId, ...timesOf(starts), calls, limits.minute, revision];
    });
    const args = [rowsInJson(rows)];
    return {
      statements: [
        { sql: lookAtGroups, args },
        { sql: addToMinutes, args },
      ],
      results([found = []]) {
        const rowOf = new Map(all.map((group, index) => [group, found[index] ?? {}]));
        return placed.map(({ group, upTo }) => {
          const row = rowOf.get(group) ?? {};
          const minute = integer(row, "minute") + upTo;
          const isPaid = flag(row, "holds") && minute <= group.of.charge.limits.minute;
          return isPaid ? { minute, day: integer(row, "day") } : null;
        });
      },
    };
  },
};

type MinuteCharge = { readonly charge: QuotaCharge; readonly revision: number };

function timesOf({ minute, day }: WindowStarts): number[] {
  return [minute, day];
}
