/**
 * What one partner may see: its account, its answers by key, and the teachers whom nobody else asks about, under the
 * settings and keys of all. The answers of a partner tell in what order they were committed, because each tells what
 * had been used of the quota by then. So a call that was judged by something older than its commit contradicts another.
 */
import type { Model } from "./linearizability.ts";

/** What the register says of a teacher, each change under a name of its own; null for nobody. */
export type Standing = {
  readonly name: string;
  readonly status: "VALID" | "EXPIRED" | "REVOKED";
  readonly certificate: "VERIFIED" | "CLAIMED";
} | null;

export type State = {
  readonly isEnabled: boolean;
  readonly revokedKeys: readonly string[];
  readonly perMinute: number;
  readonly perDay: number;
  /** The smallest quotas so far: a refusal may be a second old (decision D1.4). */
  readonly least: { readonly minute: number; readonly day: number };
  readonly activeKid: string;
  /** Whether the policy takes a certificate that is only claimed. */
  readonly takesClaimed: boolean;
  readonly teachers: readonly Standing[];
  /** By window (`minute 1700000000`). */
  readonly used: ReadonlyMap<string, number>;
  /** By idempotency key; the answer is null while nobody has seen it. */
  readonly answered: ReadonlyMap<string, { readonly body: string; readonly answer: string | null }>;
  /** What the commit that is being placed ends with: no other one, and no change, comes between its calls. */
  readonly owed: ReadonlyMap<string, number>;
};

/** What an operator did, which is heard of when it is done. */
export type Change = { readonly what: string; to(state: State): State };

/** What a partner asked, and what it heard. */
export type Check = {
  readonly what: string;
  readonly keyId: string;
  readonly teachers: readonly number[];
  /** The idempotency key, with the operation. */
  readonly key: string | null;
  readonly body: string;
  /** What the work costs of either window. */
  readonly cost: number;
  /** The windows in which it may have come: one, but at the turn of a minute. */
  readonly windows: readonly Windows[];
  /** What the calls of this partner beside it may have cost. */
  readonly crowd: number;
  /** Whether another call with its key went on beside it. */
  readonly hasRival: boolean;
  readonly heard: Heard | null;
  /** What was heard later under its key. */
  readonly later: Heard | null;
};

/** The names of a minute and of its day. */
export type Windows = { readonly minute: string; readonly day: string };

export type Heard = {
  readonly status: number;
  readonly isReplay: boolean;
  /** Two answers with the same text have the same bytes. */
  readonly body: string;
  /** What was signed of each teacher, in the words of {@link saying}. */
  readonly signed: readonly string[];
  readonly kids: readonly string[];
  /** Absent where the answer says nothing of the quota, and where it may be older than its commit. */
  readonly account: Account | null;
};
export type Account = { readonly limits: Amounts; readonly left: Amounts };
type Amounts = { readonly minute: number; readonly day: number };

export type Call = Check | Change;

/** What must be signed of a teacher. */
function saying(standing: Standing, takesClaimed: boolean): string {
  if (standing === null) return "nobody";
  const { name, status, certificate } = standing;
  const isEligible = status === "VALID" && (certificate === "VERIFIED" || takesClaimed);
  return `${name} ${status} ${certificate} ${isEligible}`;
}

export function partnerModel(initial: State): Model<State, Call> {
  return {
    initial,
    step: (state, call, isLost) => {
      if ("to" in call) return state.owed.size === 0 ? [call.to(state)] : [];
      return isLost ? afterLost(state, call) : afterHeard(state, call, call.heard as Heard);
    },
    key: (state) =>
      JSON.stringify({
        ...state,
        used: sorted(state.used),
        owed: sorted(state.owed),
        answered: sorted(state.answered),
      }),
    // Without a key, an answer that nobody heard has only cost something.
    alike: (call) =>
      "to" in call ? call.what : [call.keyId, call.key, call.cost, call.key === null || call.body].join(),
  };
}

const sorted = (map: ReadonlyMap<string, unknown>) =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));

function afterHeard(state: State, call: Check, heard: Heard): State[] {
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
  // A failure may have cost the minute, but leaves nothing.
  if (status === 503) return [state, ...paid(state, call, null)];
  if (status === 401) return admits(state, call) ? [] : [state];
  if (status !== 429) throw new Error(`an answer that is none: ${status} ${body}`);
  return isCrowded(state, call) ? [state, ...paid(state, call, null)] : [];
}

/** Whatever a call may have done of which nobody heard: its work, or what a refusal or a replay costs. */
function afterLost(state: State, call: Check): State[] {
  const { later } = call;
  const ranAs = later === null ? [] : ran(state, call, { ...later, account: null });
  return [...ranAs, ...(later === null ? ran(state, call, null) : []), ...paid(state, call, null)];
}

const admits = (state: State, { keyId }: Check) => state.isEnabled && !state.revokedKeys.includes(keyId);

/** Room is refused early for what goes on in the same server, too. */
function isCrowded({ used, least }: State, { windows, cost, crowd }: Check): boolean {
  return windows.some(({ minute, day }) => {
    const most = (name: string) => (used.get(name) ?? 0) + crowd + cost;
    return most(minute) > least.minute || most(day) > least.day;
  });
}

/** Does the work of a call, of which all that was signed must be so now. */
function ran(state: State, call: Check, heard: Heard | null): State[] {
  const { key, cost, body } = call;
  if (!admits(state, call) || (key !== null && state.answered.has(key))) return [];
  const isSo = ({ signed, kids }: Heard) =>
    kids.every((kid) => kid === state.activeKid) &&
    call.teachers.every((n, at) => signed[at] === saying(state.teachers[n] ?? null, state.takesClaimed));
  if (heard !== null && !isSo(heard)) return [];
  return call.windows
    .flatMap((windows) => charged(state, windows, { costs: { minute: cost, day: cost }, heard }))
    .map((next) => (key === null ? next : remembering(next, { key, body }, heard?.body ?? null)));
}

function remembering(state: State, { key, body }: Pick<Check, "key" | "body">, answer: string | null): State {
  const known = state.answered.get(key ?? "");
  if (key === null || (known !== undefined && known.answer === answer)) return state;
  return { ...state, answered: new Map(state.answered).set(key, { body, answer }) };
}

/** Pays the minute of a call that leaves nothing else. */
function paid(state: State, call: Check, heard: Heard | null): State[] {
  if (!admits(state, call)) return [];
  const costs = { minute: 1, day: 0 };
  return call.windows.flatMap((windows) => charged(state, windows, { costs, heard }));
}

/**
 * Charges the windows, in which there must be room. The calls of one commit are all told what was used at its end: from
 * the first of them on that is owed, until the last of them has brought it about.
 */
function charged(
  state: State,
  { minute, day }: Windows,
  { costs, heard }: { costs: Amounts; heard: Heard | null },
): State[] {
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
  const isPublishedTo = limits.minute === perMinute && limits.day === perDay;
  if (!isPublishedTo) return [];
  const told = new Map([
    [minute, limits.minute - left.minute] as const,
    [day, limits.day - left.day] as const,
  ]);
  // Whoever was committed together is told the same of the same window.
  const isOther = [...told].some(([name, end]) => (state.owed.get(name) ?? end) !== end);
  const isBeside = state.owed.size > 0 && !state.owed.has(day);
  return isOther || isBeside ? [] : settled({ ...state, used, owed: new Map([...state.owed, ...told]) });
}

/** Once everything is as it was told, the commit is whole; nothing where more was used than that. */
function settled(state: State): State[] {
  if (state.owed.size === 0) return [state];
  const due = [...state.owed].map(([name, end]) => end - (state.used.get(name) ?? 0));
  if (due.some((left) => left < 0)) return [];
  return [due.every((left) => left === 0) ? { ...state, owed: new Map() } : state];
}
