/**
 * The model of one partner: its quota, its answers by idempotency key, its own teachers, and the settings and keys that
 * all partners share. Each answer says how much of the quota was used at its commit, and so gives the order of commits.
 * An answer from data older than its commit contradicts another answer.
 */
import type { Model } from "./linearizability.ts";

/** A teacher in the register, with a new name after each change; null if absent. */
export type TeacherState = {
  readonly name: string;
  readonly status: "VALID" | "EXPIRED" | "REVOKED";
  readonly certificate: "VERIFIED" | "CLAIMED";
} | null;

export type PartnerState = {
  readonly isEnabled: boolean;
  readonly revokedKeys: readonly string[];
  readonly perMinute: number;
  readonly perDay: number;
  /** The smallest quotas so far, because a refusal may use quotas that are a second old (decision D1.4). */
  readonly least: { readonly minute: number; readonly day: number };
  readonly activeKid: string;
  /** Whether the policy accepts a claimed certificate. */
  readonly takesClaimed: boolean;
  readonly teachers: readonly TeacherState[];
  /** The use of each window, by `minute 1700000000`. */
  readonly used: ReadonlyMap<string, number>;
  /** The answer to each idempotency key; null while no caller has received it. */
  readonly answered: ReadonlyMap<string, { readonly body: string; readonly answer: string | null }>;
  /** The use of windows at the end of the present commit. No other commit or change comes between its calls. */
  readonly owed: ReadonlyMap<string, number>;
};

/** A change by the operator. */
export type OperatorChange = { readonly what: string; to(state: PartnerState): PartnerState };

/** A call of a partner, with its reply. */
export type PartnerCall = {
  readonly what: string;
  readonly keyId: string;
  readonly teachers: readonly number[];
  /** The idempotency key, with the operation. */
  readonly key: string | null;
  readonly body: string;
  /** The cost in each window. */
  readonly cost: number;
  /** The windows in which the call may have come: several at the turn of a minute. */
  readonly windows: readonly Windows[];
  /** The cost of this partner's concurrent calls. */
  readonly crowd: number;
  /** Whether a concurrent call had the same idempotency key. */
  readonly hasRival: boolean;
  readonly heard: ObservedAnswer | null;
  /** A later reply under the same idempotency key. */
  readonly later: ObservedAnswer | null;
};

/** The names of a minute and of its day. */
export type Windows = { readonly minute: string; readonly day: string };

export type ObservedAnswer = {
  readonly status: number;
  readonly isReplay: boolean;
  /** Two answers with the same text have the same bytes. */
  readonly body: string;
  /** The signed result of each teacher, as {@link saying} writes it. */
  readonly signed: readonly string[];
  readonly kids: readonly string[];
  /** Null if the answer has no quota, or one that may be older than its commit. */
  readonly account: QuotaAccount | null;
};
export type QuotaAccount = { readonly limits: Amounts; readonly left: Amounts };
type Amounts = { readonly minute: number; readonly day: number };

export type Call = PartnerCall | OperatorChange;

/** The result that must be signed for a teacher. */
function saying(standing: TeacherState, takesClaimed: boolean): string {
  if (standing === null) return "nobody";
  const { name, status, certificate } = standing;
  const isEligible = status === "VALID" && (certificate === "VERIFIED" || takesClaimed);
  return `${name} ${status} ${certificate} ${isEligible}`;
}

export function partnerModel(initial: PartnerState): Model<PartnerState, Call> {
  return {
    initial,
    step: (state, call, isLost) => {
      if ("to" in call) return state.owed.size === 0 ? [call.to(state)] : [];
      return isLost ? afterLost(state, call) : afterHeard(state, call, call.heard as ObservedAnswer);
    },
    key: (state) =>
      JSON.stringify({
        ...state,
        used: sorted(state.used),
        owed: sorted(state.owed),
        answered: sorted(state.answered),
      }),
    // Without an idempotency key, a lost call has only its cost.
    alike: (call) =>
      "to" in call ? call.what : [call.keyId, call.key, call.cost, call.key === null || call.body].join(),
  };
}

const sorted = (map: ReadonlyMap<string, unknown>) =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));

function afterHeard(state: PartnerState, call: PartnerCall, heard: ObservedAnswer): PartnerState[] {
  const { status, isReplay, body } = heard;
  const known = call.key === null ? undefined : state.answered.get(call.key);
  if (status === 200 && !isReplay) return ran(state, call, heard);
  if (status === 200) {
    const isSame = known?.body === call.body && (known.answer ?? body) === body;
    return isSame ? paid(state, call, heard).map((next) => remembering(next, call, body)) : [];
  }
  if (status === 422) return known !== undefined && known.body !== call.body ? paid(state, call, heard) : [];
  if (status === 409) return call.hasRival ? paid(state, call, heard) : [];
  if (status === 400) return paid(state, call, heard);
  if (state.owed.size > 0) return [];
  // A failed call may be charged to the minute, but stores nothing.
  if (status === 503) return [state, ...paid(state, call, null)];
  if (status === 401) return admits(state, call) ? [] : [state];
  if (status !== 429) throw new Error(`an unknown answer: ${status} ${body}`);
  return isCrowded(state, call) ? [state, ...paid(state, call, null)] : [];
}

/** The outcomes of a lost call: its work, or the cost of a refusal or a replay. */
function afterLost(state: PartnerState, call: PartnerCall): PartnerState[] {
  const { later } = call;
  const ranAs = later === null ? [] : ran(state, call, { ...later, account: null });
  return [...ranAs, ...(later === null ? ran(state, call, null) : []), ...paid(state, call, null)];
}

const admits = (state: PartnerState, { keyId }: PartnerCall) =>
  state.isEnabled && !state.revokedKeys.includes(keyId);

/** Whether concurrent calls of the same node may have used the rest of the quota. */
function isCrowded({ used, least }: PartnerState, { windows, cost, crowd }: PartnerCall): boolean {
  return windows.some(({ minute, day }) => {
    const most = (name: string) => (used.get(name) ?? 0) + crowd + cost;
    return most(minute) > least.minute || most(day) > least.day;
  });
}

/** Does the work of a call, whose signed results must be those of the present state. */
function ran(state: PartnerState, call: PartnerCall, heard: ObservedAnswer | null): PartnerState[] {
  const { key, cost, body } = call;
  if (!admits(state, call) || (key !== null && state.answered.has(key))) return [];
  const isSo = ({ signed, kids }: ObservedAnswer) =>
    kids.every((kid) => kid === state.activeKid) &&
    call.teachers.every((n, at) => signed[at] === saying(state.teachers[n] ?? null, state.takesClaimed));
  if (heard !== null && !isSo(heard)) return [];
  return call.windows
    .flatMap((windows) => charged(state, windows, { costs: { minute: cost, day: cost }, heard }))
    .map((next) => (key === null ? next : remembering(next, { key, body }, heard?.body ?? null)));
}

function remembering(
  state: PartnerState,
  { key, body }: Pick<PartnerCall, "key" | "body">,
  answer: string | null,
): PartnerState {
  const known = state.answered.get(key ?? "");
  if (key === null || (known !== undefined && known.answer === answer)) return state;
  return { ...state, answered: new Map(state.answered).set(key, { body, answer }) };
}

/** Charges the minute of a call without another effect. */
function paid(state: PartnerState, call: PartnerCall, heard: ObservedAnswer | null): PartnerState[] {
  if (!admits(state, call)) return [];
  const costs = { minute: 1, day: 0 };
  return call.windows.flatMap((windows) => charged(state, windows, { costs, heard }));
}

/**
 * Charges the windows, which must have room. All calls of one commit report the use at its end. From the first of these
 * calls on, `owed` has this use, until the calls have reached it.
 */
function charged(
  state: PartnerState,
  { minute, day }: Windows,
  { costs, heard }: { costs: Amounts; heard: ObservedAnswer | null },
): PartnerState[] {
  const { perMinute, perDay } = state;
  const now = {
    minute: (state.used.get(minute) ?? 0) + costs.minute,
    day: (state.used.get(day) ?? 0) + costs.day,
  };
  if (now.minute > perMinute || now.day > (costs.day === 0 ? Number.POSITIVE_INFINITY : perDay)) return [];
  const used = new Map(state.used).set(minute, now.minute).set(day, now.day);
  const account = heard?.account ?? null;
  if (account === null) return settled({ ...state, used });
  const { limits, left } = account;
  if (limits.minute !== perMinute || limits.day !== perDay) return [];
  const reported = new Map([
    [minute, limits.minute - left.minute] as const,
    [day, limits.day - left.day] as const,
  ]);
  // Calls of one commit report the same use of the same window.
  const isOther = [...reported].some(([name, end]) => (state.owed.get(name) ?? end) !== end);
  const isBeside = state.owed.size > 0 && !state.owed.has(day);
  return isOther || isBeside ? [] : settled({ ...state, used, owed: new Map([...state.owed, ...reported]) });
}

/** Ends the commit when the use is as reported. More use than reported is impossible. */
function settled(state: PartnerState): PartnerState[] {
  if (state.owed.size === 0) return [state];
  const due = [...state.owed].map(([name, end]) => end - (state.used.get(name) ?? 0));
  if (due.some((left) => left < 0)) return [];
  return [due.every((left) => left === 0) ? { ...state, owed: new Map() } : state];
}
