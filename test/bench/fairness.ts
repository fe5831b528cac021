import { sleep } from "../harness/eventually.ts";
import { batchLoad } from "./batches.ts";
import type { Bench } from "./bench.ts";
import type { Table } from "./figures.ts";
import { type LoadPlan, type LoadResult, requireAnswers, runLoad } from "./load.ts";
import { inTurn } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegisters } from "./register.ts";
import { withCleanup } from "./setup.ts";

const asked = { lookup: "look-up", health: "health", check: "single check" } as const;
/** So few that they wait for the signing of others, and not for each other. */
const perSecond = 50;
const connections = 8;
/** By then the batches are under way. */
const leadInMs = 700;

/** Who waits behind signing: answers at a low rate, alone, and while batches are signed as fast as it goes. */
export const fairnessBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const seconds = options.isQuick ? 2 : 6;
    const table = options.figures.about("How long do others wait while batches are signed at full load?");
    for (const one of served) await runLoad({ ...planFor(one), ...batchLoad(0) });
    for (let round = 0; round < options.rounds; round++)
      for (const one of inTurn(served, round)) {
        add(table, one, { title: "alone", results: await askAll(one, seconds) });
        const { promise: enough, resolve: end } = Promise.withResolvers<void>();
        const batches = runLoad({ ...planFor(one), ...batchLoad(600) }, enough);
        await sleep(leadInMs);
        const results = await askAll(one, seconds);
        end();
        requireAnswers({ kind: "batch" }, await batches);
        add(table, one, { title: "beside batches", results });
      }
  });

type Results = Readonly<Record<string, LoadResult>>;

/** One kind after the other: the clients would wait for each other too. */
async function askAll(served: ServedRegister, seconds: number): Promise<Results> {
  const results: Record<string, LoadResult> = {};
  for (const kind of ["lookup", "health", "check"] as const) {
    const plan: LoadPlan = { ...planFor(served), kind, connections, seconds: seconds / 2, perSecond };
    results[asked[kind]] = await runLoad(plan);
    requireAnswers(plan, results[asked[kind]] as LoadResult);
  }
  return results;
}

function add(
  table: Table,
  { program: { isEarlier } }: ServedRegister,
  { title, results }: { title: string; results: Results },
): void {
  for (const [name, { p50Ms, p99Ms }] of Object.entries(results)) {
    table.add(`${name}, ${title}: p50`, { unit: "ms", isEarlier }, p50Ms);
    table.add(`${name}, ${title}: p99`, { unit: "ms", isEarlier }, p99Ms);
  }
}
