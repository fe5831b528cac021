/**
 * Checks whether a history is linearizable, by the search of Wing and Gong (1993) with Lowe's memory (2017) of visited
 * configurations. A call takes effect at one moment between its beginning and its end. A call whose reply was lost takes
 * effect at any moment after its beginning, or never.
 */

/** One call of a history. Beginnings and ends are numbered in the order in which one observer saw them. */
export type RecordedCall<Call> = {
  readonly call: Call;
  readonly begin: number;
  /** `Infinity` when the reply was lost. */
  readonly end: number;
};

/** The behaviour of the system if its calls run one after the other. */
export type Model<State, Call> = {
  readonly initial: State;
  /** The possible states after a call with its reply; no state if the reply is impossible. */
  step(state: State, call: Call, isLost: boolean): readonly State[];
  /** Two states with the same text are the same. */
  key(state: State): string;
  /** Lost calls with the same text are interchangeable. */
  alike?(call: Call): string;
};

/** The longest order, which no call can follow. */
export type LongestOrder<State, Call> = {
  readonly placed: number;
  readonly state: State;
  readonly next: readonly Call[];
};

/** The most configurations of a search. */
const maxConfigurations = 3_000_000;

/** The calls that were ordered, and the state after them. Below `low`, all calls with a reply are ordered. */
type Configuration<State> = {
  readonly low: number;
  /** A bit for each call from `low` on. */
  readonly beyond: bigint;
  /** A bit for each lost call. */
  readonly lost: bigint;
  readonly placed: number;
  readonly state: State;
};

/** Finds an order that the model allows. @returns null if one exists, else the longest @throws Error for too many orders */
export function checkLinearizability<State, Call>(
  history: readonly RecordedCall<Call>[],
  model: Model<State, Call>,
): LongestOrder<State, Call> | null {
  const inOrder = history.toSorted((one, other) => one.begin - other.begin);
  const heard = inOrder.filter(({ end }) => end !== Number.POSITIVE_INFINITY);
  const lost = inOrder.filter(({ end }) => end === Number.POSITIVE_INFINITY);
  const isLike = lost.map(({ call }) => model.alike?.(call));

  /** The possible next calls, which began before the first end of an unordered call. */
  function nextOf({ low, beyond }: Configuration<State>): { heardNext: number[]; firstEnd: number } {
    const heardNext: number[] = [];
    let firstEnd = Number.POSITIVE_INFINITY;
    for (let at = low; at < heard.length && begins(at) < firstEnd; at++) {
      if (((beyond >> BigInt(at - low)) & 1n) === 1n) continue;
      firstEnd = Math.min(firstEnd, ends(at));
      heardNext.push(at);
    }
    const open = heardNext.filter((at) => begins(at) < firstEnd);
    return { heardNext: open.sort((one, other) => ends(one) - ends(other)), firstEnd };
  }

  const begins = (at: number) => (heard[at] as RecordedCall<Call>).begin;
  const ends = (at: number) => (heard[at] as RecordedCall<Call>).end;

  function withHeard(from: Configuration<State>, at: number, state: State): Configuration<State> {
    let [low, beyond] = [from.low, from.beyond | (1n << BigInt(at - from.low))];
    for (; (beyond & 1n) === 1n; beyond >>= 1n) low++;
    return { ...from, low, beyond, placed: from.placed + 1, state };
  }

  function* choicesOf(from: Configuration<State>): Generator<Configuration<State>> {
    const { heardNext, firstEnd } = nextOf(from);
    for (const at of heardNext)
      for (const state of model.step(from.state, (heard[at] as RecordedCall<Call>).call, false))
        yield withHeard(from, at, state);
    // Lost calls are tried last; of interchangeable ones, the one that began first.
    const tried = new Set<string>();
    for (const [at, { call, begin }] of lost.entries()) {
      const like = isLike[at];
      if (begin > firstEnd) break;
      if (((from.lost >> BigInt(at)) & 1n) === 1n || (like !== undefined && tried.has(like))) continue;
      if (like !== undefined) tried.add(like);
      for (const state of model.step(from.state, call, true))
        yield { ...from, lost: from.lost | (1n << BigInt(at)), state };
    }
  }

  const start: Configuration<State> = { low: 0, beyond: 0n, lost: 0n, placed: 0, state: model.initial };
  let farthest = start;
  const reached = new Set<string>();
  const path = [choicesOf(start)];
  while (farthest.low < heard.length) {
    const { value: next } = path.at(-1)?.next() ?? {};
    if (next === undefined) {
      if (path.length === 0) return stuckAt(farthest);
      path.pop();
      continue;
    }
    const name = `${next.low} ${next.beyond} ${next.lost} ${model.key(next.state)}`;
    if (reached.has(name)) continue;
    if (reached.size >= maxConfigurations) throw new Error("there are too many orders to try them all");
    reached.add(name);
    if (next.placed > farthest.placed) farthest = next;
    path.push(choicesOf(next));
  }
  return null;

  function stuckAt(at: Configuration<State>): LongestOrder<State, Call> {
    const next = nextOf(at).heardNext.map((index) => (heard[index] as RecordedCall<Call>).call);
    return { placed: at.placed, state: at.state, next };
  }
}
