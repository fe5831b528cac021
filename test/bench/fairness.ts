import { batchLoad } from "./batches.ts";
import type { Bench } from "./bench.ts";
import type { Table } from "./figures.ts";
import { type LoadPlan, type LoadResult, requireAnswers, runBeside, runLoad } from "./load.ts";
import { measureLoad } from "./measured.ts";
import { inTurn } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegisters } from "./register.ts";
import { warmUpSeconds, withCleanup } from "./setup.ts";

const asked = { lookup: "look-up", health: "health", check: "single check" } as const;
/** So few that they wait for the signing of others, and not for each other. */
const perSecond = 100;
const connections = 8;

/** Who waits behind signing: answers at a low rate, alone, and while batches are signed as fast as it goes. */
export const fairnessBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const seconds = options.isQuick ? 1 : 4;
    const table = options.figures.about("How long do others wait while batches are signed at full load?");
    for (const one of served) {
      await measureLoad({ ...planFor(one), ...batchLoad(warmUpSeconds(options)) });
      await askAll(one, seconds);
    }
    for (let round = 0; round < options.rounds; round++)
      for (const one of inTurn(served, round)) {
        add(table, one, { title: "alone", results: await askAll(one, seconds) });
        const batches = { ...planFor(one), ...batchLoad(seconds) };
        const results = await runBeside(batches, () => askAll(one, seconds));
        add(table, one, { title: "beside batches", results });
      }
  });

type Results = ReadonlyMap<string, LoadResult>;

/** One kind after the other: the clients would wait for each other too. */
async function askAll(served: ServedRegister, seconds: number): Promise<Results> {
  const results = new Map<string, LoadResult>();
  for (const kind of ["lookup", "health", "check"] as const) {
    const plan: LoadPlan = { ...planFor(served), kind, connections, seconds, perSecond };
    const load = await runLoad(plan);
    requireAnswers(plan, load);
    results.set(asked[kind], load);
  }
  return results;
}

function add(
  table: Table,
  { program: { isEarlier } }: ServedRegister,
  { title, results }: { title: string; results: Results },
): void {
  for (const [name, { p50Ms, p99Ms }] of results) {
    table.add(`${name}, ${title}: p50`, { unit: "ms", isEarlier }, p50Ms);
    table.add(`${name}, ${title}: p99`, { unit: "ms", isEarlier }, p99Ms);
  }
}
