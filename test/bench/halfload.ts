import type { Bench, BenchOptions } from "./bench.ts";
import { answered, type LoadPlan, type LoadResult, requireAnswers, runBeside, runLoad } from "./load.ts";
import { inTurn, type Program } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegisters, writeExtract } from "./register.ts";
import { folderUntilCleanup, warmUpSeconds, withCleanup } from "./setup.ts";

const connections = 64;
const question = "How long do checks take at half of the most that this machine answers?";
const name = "checks at half load";

type HalfLoaded = { readonly served: ServedRegister; readonly plan: LoadPlan & { perSecond: number } };

/** How long single checks take at half of what the service can do: alone, beside batches, and beside an import. */
export const halfLoadBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const loaded: HalfLoaded[] = [];
    for (const one of served) loaded.push(await findHalf(options, one));
    const rows = options.isQuick ? 20_000 : 200_000;
    const folder = await folderUntilCleanup(cleanup);
    for (let round = 0; round < options.rounds; round++) {
      const first = served[0].teachers + 1 + round * rows;
      const extract = await writeExtract(folder, { rows, first });
      for (const one of inTurn(loaded, round)) {
        await measureBatches(options, one);
        await measureImport(options, one, { extract, rows });
      }
    }
  });

async function findHalf({ isQuick }: BenchOptions, served: ServedRegister): Promise<HalfLoaded> {
  const plan = { ...planFor(served), kind: "check", connections, seconds: isQuick ? 2 : 5 } as const;
  await runChecks({ ...plan, seconds: warmUpSeconds({ isQuick }) });
  const full = await runChecks({ ...plan, seconds: 3 });
  return { served, plan: { ...plan, perSecond: Math.round(answered(full) / full.seconds / 2) } };
}

/** @throws Error when a check was not answered */
async function runChecks(plan: LoadPlan, enough?: Promise<unknown>): Promise<LoadResult> {
  const load = await runLoad(plan, enough);
  requireAnswers(plan, load);
  return load;
}

async function measureBatches({ figures }: BenchOptions, { served, plan }: HalfLoaded): Promise<void> {
  const { isEarlier } = served.program;
  const alone = (await runChecks(plan)).p99Ms;
  const batches: LoadPlan = { ...planFor(served), kind: "batch", items: 100, connections: 2, seconds: 1 };
  const beside = (await runBeside(batches, () => runChecks(plan))).p99Ms;
  const table = figures.about(question);
  table.add(name, { unit: "checks/s", isEarlier }, plan.perSecond);
  table.add(`${name}, alone: p99`, { unit: "ms", isEarlier }, alone);
  table.add(`${name}, beside two batch callers: p99`, { unit: "ms", isEarlier }, beside);
  table.add(`${name}: beside two batch callers ÷ alone`, { unit: "times", isEarlier }, beside / alone);
}

async function measureImport(
  { figures }: BenchOptions,
  { served, plan }: HalfLoaded,
  { extract, rows }: { extract: string; rows: number },
): Promise<void> {
  const { isEarlier } = served.program;
  const alone = (await runChecks(plan)).p99Ms;
  const imported = importExtract(served.program, { extract, dataDir: served.dataDir });
  const beside = (await runChecks({ ...plan, seconds: 600 }, imported)).p99Ms;
  const seconds = await imported;
  const table = figures.about(question);
  const title = `an import of ${rows.toLocaleString("en")} rows`;
  table.add(`${name}, beside ${title}: p99`, { unit: "ms", isEarlier }, beside);
  table.add(`${name}: beside ${title} ÷ alone`, { unit: "times", isEarlier }, beside / alone);
  table.add(`${title}, beside checks at half load`, { unit: "s", isEarlier }, seconds);
}

/** New teachers, whose events are made too. @returns how long it took, in seconds */
async function importExtract(
  { words }: Program,
  { extract, dataDir }: { extract: string; dataDir: string },
): Promise<number> {
  const startMs = performance.now();
  const child = Bun.spawn([...words, "teachers", "import", extract, "--data", dataDir, "--json"], {
    stdout: "ignore",
    stderr: "ignore",
  });
  if ((await child.exited) !== 0) throw new Error("the import failed");
  return (performance.now() - startMs) / 1000;
}
