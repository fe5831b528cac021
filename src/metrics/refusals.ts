import type { Call } from "../domain/calls.ts";
import type { ApiErrorCode } from "../partner/error-codes.ts";

export type Refusals = ReturnType<typeof createRefusals>;

/** Whether a call counts as refused: for what its partner did, or for having no valid credential. */
export function isRefusal({ partnerId, status }: Pick<Call, "partnerId" | "status">): boolean {
  return status >= 400 && status <= 499 && (partnerId !== null || status === 401);
}

const minuteMs = 60_000;
const recentMinutes = 15;
/**
 * Callers that are told apart: partners and their keys are as many as an operator has made. Of a register that has
 * more, the keys of further partners are counted together, under no key.
 */
const maxCallers = 10_000;

type Counted = {
  /** Null for calls without a valid credential. */
  partnerId: string | null;
  keyId: string | null;
  /** When the last one was, in milliseconds since the epoch. */
  lastAt: number;
  codes: Map<ApiErrorCode, Counts>;
};
/** `minutes` is a ring: the place of a minute is the number of the minute, modulo its length. */
type Counts = { total: number; minute: number; minutes: Uint32Array };

/** Counters in memory of what partners are refused, since the start and of late. */
export function createRefusals(clock: { now(): number }) {
  const callers = new Map<string, Counted>();

  function callerOf(partnerId: string | null, keyId: string | null): Counted {
    const name = `${partnerId ?? ""} ${keyId ?? ""}`;
    const known = callers.get(name);
    if (known !== undefined) return known;
    if (callers.size >= maxCallers && keyId !== null) return callerOf(partnerId, null);
    const fresh = { partnerId, keyId, lastAt: 0, codes: new Map<ApiErrorCode, Counts>() };
    callers.set(name, fresh);
    return fresh;
  }

  return {
    observe(call: Pick<Call, "partnerId" | "keyId" | "status" | "error">): void {
      const { partnerId, keyId, error: code } = call;
      if (code === null || !isRefusal(call)) return;
      const now = clock.now();
      const caller = callerOf(partnerId, keyId);
      caller.lastAt = now;
      let counts = caller.codes.get(code);
      if (counts === undefined) {
        counts = { total: 0, minute: 0, minutes: new Uint32Array(recentMinutes) };
        caller.codes.set(code, counts);
      }
      const minute = Math.floor(now / minuteMs);
      forget(counts, minute);
      const place = minute % recentMinutes;
      counts.minutes[place] = (counts.minutes[place] ?? 0) + 1;
      counts.total++;
    },
    /**
     * What every caller was refused, by code, who was refused last first: since the start, and of the last quarter
     * of an hour, to the minute.
     */
    callers() {
      const minute = Math.floor(clock.now() / minuteMs);
      const all = [...callers.values()].map(({ partnerId, keyId, lastAt, codes }) => ({
        partnerId,
        keyId,
        lastAt,
        sinceStart: byCode(codes, ({ total }) => total),
        recent: byCode(codes, (counts) => {
          forget(counts, minute);
          return counts.minutes.reduce((sum, one) => sum + one, 0);
        }),
      }));
      return all.sort((one, other) => other.lastAt - one.lastAt);
    },
    /** What a partner was refused since the start, whatever the key, by code; null for no partner. */
    byPartner(): {
      readonly partnerId: string | null;
      readonly code: ApiErrorCode;
      readonly count: number;
    }[] {
      const sums = new Map<string, { partnerId: string | null; code: ApiErrorCode; count: number }>();
      for (const { partnerId, codes } of callers.values()) {
        for (const [code, { total }] of codes) {
          const name = `${code} ${partnerId ?? ""}`;
          const sum = sums.get(name) ?? { partnerId, code, count: 0 };
          sum.count += total;
          sums.set(name, sum);
        }
      }
      return [...sums.values()];
    },
  };
}

/** Empties the places of the minutes that have begun since the last look. */
function forget(counts: Counts, minute: number): void {
  const passed = Math.min(recentMinutes, minute - counts.minute);
  for (let back = 0; back < passed; back++) counts.minutes[(minute - back) % recentMinutes] = 0;
  counts.minute = Math.max(counts.minute, minute);
}

function byCode(codes: ReadonlyMap<ApiErrorCode, Counts>, count: (counts: Counts) => number) {
  const counted = [...codes].map(([code, counts]) => [code, count(counts)] as const);
  return new Map(counted.filter(([, times]) => times > 0).sort(([one], [other]) => (one < other ? -1 : 1)));
}
