import { expect, test } from "bun:test";
import fc from "fast-check";
import { readSeed } from "../harness/trial.ts";
import { checkLinearizability, type Model, type RecordedCall } from "./linearizability.ts";

/** The calls of a register: write, read, and compare-and-set. */
type Call =
  | { readonly write: number }
  | { readonly read: number }
  | { readonly from: number; readonly to: number; readonly isDone: boolean };

const register: Model<number, Call> = {
  initial: 0,
  step(state, call, isLost) {
    if ("write" in call) return [call.write];
    if ("read" in call) return isLost || call.read === state ? [state] : [];
    if (isLost) return [call.from === state ? call.to : state];
    return call.isDone === (state === call.from) ? [call.isDone ? call.to : state] : [];
  },
  key: String,
  alike: (call) => JSON.stringify("read" in call ? "read" : { ...call, isDone: true }),
};

type Timed = readonly [time: string, call: Call];

/** A call `1-4` began at time 1 and ended at time 4; the reply to `1-` was lost. */
function recorded(...calls: Timed[]): RecordedCall<Call>[] {
  return calls.map(([time, call]) => {
    const [begin, end = ""] = time.split("-");
    return { call, begin: Number(begin), end: end === "" ? Number.POSITIVE_INFINITY : Number(end) };
  });
}
test("the linearizability checker returns the longest valid order of calls, and the calls that cannot follow that order", () => {
  const history = recorded(["1-2", { write: 1 }], ["3-4", { write: 2 }], ["5-6", { read: 1 }]);
  expect(checkLinearizability(history, register)).toEqual({ placed: 2, state: 2, next: [{ read: 1 }] });
});

/** Tries every order of the calls. */
function isExplainedBySomeOrder(history: readonly RecordedCall<Call>[], state = register.initial): boolean {
  if (history.every(({ end }) => end === Number.POSITIVE_INFINITY)) return true;
  return history.some((one) => {
    const others = history.filter((other) => other !== one);
    if (others.some(({ end }) => end < one.begin)) return false;
    const isLost = one.end === Number.POSITIVE_INFINITY;
    return register.step(state, one.call, isLost).some((next) => isExplainedBySomeOrder(others, next));
  });
}

test("the linearizability checker agrees with a search through all orders of the calls", () => {
  const value = fc.integer({ min: 0, max: 2 });
  const call: fc.Arbitrary<Call> = fc.oneof(
    fc.record({ write: value }),
    fc.record({ read: value }),
    fc.record({ from: value, to: value, isDone: fc.boolean() }),
  );
  const times = fc.record({ call, begin: fc.nat(20), lasts: fc.nat(12), isLost: fc.nat(4) });
  const history = fc.array(times, { maxLength: 6 }).map((all) =>
    all.map(({ call, begin, lasts, isLost }, index): RecordedCall<Call> => {
      // No two at the same time: beginnings are even, ends are odd, and the index separates the rest.
      const end = isLost === 0 ? Number.POSITIVE_INFINITY : (begin + lasts) * 20 + 2 * index + 1;
      return { call, begin: begin * 20 + 2 * index, end };
    }),
  );
  const verdicts = new Set<boolean>();
  const property = fc.property(history, (some) => {
    const isExplained = checkLinearizability(some, register) === null;
    verdicts.add(isExplained);
    expect(isExplained).toBe(isExplainedBySomeOrder(some));
  });
  fc.assert(property, { seed: readSeed(), numRuns: 2_000 });
  expect([...verdicts].sort()).toEqual([false, true]);
});
