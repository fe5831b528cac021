import { sleep } from "../harness/eventually.ts";
import { programWords } from "../harness/program.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import { registerSizeFor } from "./checks.ts";
import { type LoadPlan, runLoad } from "./load.ts";
import { type ServedRegister, serveRegister, writeExtract } from "./register.ts";
import { type Cleanup, folderUntilCleanup, withCleanup } from "./setup.ts";

const connections = 64;

/** How long single checks take at half of what the service can do: alone, beside batches, and beside an import. */
export const halfLoadBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegister(registerSizeFor(options), cleanup);
    const seconds = options.isQuick ? 2 : 5;
    const plan = planFor(served, seconds);
    await runLoad({ ...plan, seconds: 1 });
    const full = await runLoad({ ...plan, seconds: 3 });
    const half = { ...plan, perSecond: Math.round(full.requests / full.seconds / 2) };
    for (let round = 0; round < options.rounds; round++) {
      await measureBatches(options, half, { ...plan, kind: "batch", connections: 2, seconds: seconds + 3 });
      await measureImport(options, half, { served, round, cleanup });
    }
  });

function planFor({ service, apiKey, teachers }: ServedRegister, seconds: number): LoadPlan {
  return { kind: "check", url: service.url, apiKey, teachers, connections, seconds };
}

type SteadyPlan = LoadPlan & { readonly perSecond: number };
const name = "checks at half load, p99";

async function measureBatches(
  { figures }: BenchOptions,
  half: SteadyPlan,
  batchPlan: LoadPlan,
): Promise<void> {
  figures.add("checks at half load", { unit: "requests/s" }, half.perSecond);
  const alone = (await runLoad(half)).p99Ms;
  // The batches begin before the checks that are timed, and end after them.
  const batches = runLoad(batchPlan);
  await sleep(500);
  const beside = (await runLoad(half)).p99Ms;
  await batches;
  figures.add(name, { unit: "ms" }, alone);
  figures.add(`${name}, beside two batch callers`, { unit: "ms" }, beside);
  const terms = { unit: "times", goal: { atMost: 3 } };
  figures.add(`${name}: beside two batch callers ÷ alone`, terms, beside / alone);
}

async function measureImport(
  { figures, isQuick }: BenchOptions,
  half: SteadyPlan,
  { served, round, cleanup }: { served: ServedRegister; round: number; cleanup: Cleanup },
): Promise<void> {
  const rows = isQuick ? 20_000 : 200_000;
  const first = served.teachers + 1 + round * rows;
  const extract = await writeExtract(await folderUntilCleanup(cleanup), { rows, first });
  const alone = (await runLoad(half)).p99Ms;
  const imported = importExtract(extract, served.dataDir);
  const beside = (await runLoad({ ...half, seconds: 600 }, imported)).p99Ms;
  await imported;
  const title = `beside an import of ${rows.toLocaleString("en")} rows`;
  figures.add(`${name}, ${title}`, { unit: "ms" }, beside);
  const terms = { unit: "times", goal: { atMost: 2 } };
  figures.add(`${name}: ${title} ÷ alone`, terms, beside / alone);
}

/** New teachers, whose events are made too. */
async function importExtract(extract: string, dataDir: string): Promise<void> {
  const words = [...programWords, "teachers", "import", extract, "--data", dataDir, "--json"];
  const child = Bun.spawn(words, { stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) !== 0) throw new Error("the import failed");
}
