import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { countOf, seedOf, tell } from "../harness/trial.ts";
import { openDatabase } from "./database.ts";
import { moves, type Plan, simulate } from "./run.ts";

/** How long a run that failed is made smaller. */
const shrinkMs = 20_000;
const [from, count] = [seedOf(), countOf("TVS_SEEDS", 100)];

let database: Awaited<ReturnType<typeof openDatabase>>;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

const plans: fc.Arbitrary<Plan> = fc.record({
  chance: fc.noShrink(fc.nat()),
  machines: fc.integer({ min: 1, max: 3 }),
  seasonAt: fc.option(fc.nat(25)),
  clocksWrong: fc.boolean(),
  moves: fc.array(fc.record({ move: fc.constantFrom(...moves), n: fc.nat(99) }), {
    minLength: 5,
    maxLength: 30,
    size: "max",
  }),
});

test(`what takes turns keeps every promise, seeds ${from} to ${from + count - 1}`, async () => {
  const sum = { steps: 0, faults: 0, deaths: 0 };
  let failed = "";
  for (let seed = from; seed < from + count && failed === ""; seed++) {
    const counts = { steps: 0, faults: 0, deaths: 0 };
    const property = fc.asyncProperty(plans, fc.scheduler(), (plan, scheduler) =>
      simulate(database, { plan, scheduler }, counts),
    );
    const found = await fc.check(property, {
      seed,
      numRuns: 1,
      unbiased: true,
      interruptAfterTimeLimit: shrinkMs,
    });
    if (found.failed)
      failed = `TVS_SEED=${seed} TVS_SEEDS=1 npm test -- test/simulation/simulation.test.ts\n${fc.defaultReportMessage(found)}\n${found.errorInstance}\n${(found.errorInstance as Error | null)?.stack}`;
    for (const name of ["steps", "faults", "deaths"] as const) sum[name] += counts[name];
  }
  tell("simulation", { tried: { seeds: count, ...sum }, wrong: failed === "" ? 0 : 1 });
  expect(failed).toBe("");
}, 3_600_000);
