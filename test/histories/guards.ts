/** The test of the test: each guard of a commit (decision D4.8) is taken away, and the history must show it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SigningKey } from "../../src/domain/keys.ts";
import { callWritesWith, preconditions } from "../../src/store/calls.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { type DriverKind, describeDrivers, type OpenDatabase } from "../harness/drivers.ts";
import { fixtureKey, ringFiles } from "../harness/keys.ts";
import { countOf, seedOf, tell } from "../harness/trial.ts";
import { type Gated, playGated } from "./gated.ts";
import { type ChangeKind, changeKinds } from "./operator.ts";
import { type Doubts, doubtsOf } from "./part.ts";

/** Each guard, and the only changes among which its absence is to be found. */
const guards: readonly (readonly [what: string, guard: keyof typeof preconditions, among: ChangeKind])[] = [
  ["the revision, when settings change", "revision", "settings"],
  ["the revision, when partners change", "revision", "partners"],
  ["the revision, when credentials change", "revision", "credentials"],
  ["the revision, when keys change", "revision", "keys"],
  ["the version of each record", "record", "records"],
  ["still nobody", "nobody", "newcomers"],
  ["room in the minute", "minute", "newcomers"],
  ["room in the day", "day", "newcomers"],
  ["an unused idempotency key", "idempotency", "newcomers"],
];

const calls = 60;
/** By then an absent guard has shown itself many times over. */
const mostSeeds = 100;

/** Plays histories over databases of these kinds, as it is and without each guard. @param few how many as it is */
export function describeGuards(trial: string, kinds: readonly DriverKind[], few: number): void {
  describeDrivers(
    "three servers over one database",
    (_kind, database) => testGuards(trial, database, few),
    kinds,
  );
}

function testGuards(trial: string, database: OpenDatabase, few: number): void {
  const drivers: Driver[] = [];
  let keys: SigningKey[] = [];
  beforeAll(async () => {
    const at = Date.parse("2026-02-01T00:00:00Z");
    keys = await Promise.all(ringFiles.map((name) => fixtureKey(name, at)));
    for (let n = 0; n < 3; n++) drivers.push(await database.another());
  });
  afterAll(async () => {
    for (const driver of drivers) await driver.close();
  });

  /** Plays the history of a seed. @returns what no order explains, if anything */
  async function doubtsAt(seed: number, how: Partial<Gated> = {}): Promise<Doubts | undefined> {
    const given = { admin: database.driver(), drivers, keys, kinds: changeKinds, calls, ...how };
    return (await playGated(seed, given)).map(doubtsOf).find((doubts) => doubts !== null);
  }

  test("one order explains what everybody saw, whatever changes", async () => {
    const histories = countOf("TVS_INTERLEAVINGS", few);
    const found: string[] = [];
    for (let seed = seedOf(); seed < seedOf() + histories; seed++) {
      const doubts = await doubtsAt(seed);
      if (doubts !== undefined)
        found.push(
          `TVS_SEED=${seed} TVS_INTERLEAVINGS=1 npm test -- test/histories/*guards.test.ts: ${doubts.words}`,
        );
    }
    tell(trial, { tried: { histories, operations: histories * calls }, wrong: found.length });
    expect(found).toEqual([]);
  }, 7_200_000);

  test.each([...guards])(
    "without %s, none does",
    async (_what, guard, among) => {
      const writes = callWritesWith({ ...preconditions, [guard]: () => true });
      let seed = seedOf();
      while (seed < seedOf() + mostSeeds && !(await doubtsAt(seed, { writes, kinds: [among] }))) seed++;
      const isFound = seed < seedOf() + mostSeeds;
      tell(trial, { tried: { guards: 1 }, wrong: isFound ? 0 : 1 });
      expect(isFound).toBe(true);
    },
    60_000,
  );
}
