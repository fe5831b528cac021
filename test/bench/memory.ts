import { sleep } from "../harness/eventually.ts";
import { batchLoad } from "./batches.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import type { Table } from "./figures.ts";
import { requireAnswers, runLoad } from "./load.ts";
import { cores, type Memory, memoryMb } from "./machine.ts";
import type { Program } from "./programs.ts";
import { planFor, registerSizeFor, serveRegister } from "./register.ts";
import { withCleanup } from "./setup.ts";

const threadCounts = [1, 2, 4] as const;
/** What the start needed and left over may be given back by then. */
const settleMs = 1_000;
const sampleMs = 200;

type MemoryFigures = { readonly idle: Memory; readonly load: Memory };

/** What the service holds, idle and at full load, by one, two and four threads. */
export const memoryBench: Bench = async (options) => {
  const { figures, programs, rounds } = options;
  const table = figures.about("How much memory does the service hold?");
  table.note(
    "RSS counts shared pages in full, PSS in part; under load, the most of samples while checks and then batches are answered, and the process's own record of its most RSS.",
  );
  for (let round = 0; round < rounds; round++)
    for (const program of programs) {
      const byThreads = new Map<number, MemoryFigures>();
      for (const threads of program.hasThreads ? threadCounts : [null]) {
        const figuresOf = await measureMemory(
          options,
          program.hasThreads ? { ...program, threads } : program,
        );
        // A program that has no choice stands beside what the other one starts with here.
        byThreads.set(threads ?? cores, figuresOf);
        addMemory(table, program, { threads: threads ?? cores, figures: figuresOf });
      }
      addFurther(table, program, byThreads);
    }
  for (const program of programs.filter(({ hasThreads }) => !hasThreads))
    table.note(
      `${program.isEarlier ? "The earlier" : "This"} build has no --threads: its figures are those of the threads that it has.`,
    );
};

function measureMemory(options: BenchOptions, program: Program): Promise<MemoryFigures> {
  return withCleanup(async (cleanup) => {
    const served = await serveRegister(program, { teachers: registerSizeFor(options), cleanup });
    await sleep(settleMs);
    const idle = memoryMb(served.pid);
    const seconds = options.isQuick ? 1 : 4;
    let [pss, isOver] = [0, false];
    const watch = async () => {
      for (; !isOver; await sleep(sampleMs)) pss = Math.max(pss, memoryMb(served.pid).pss);
    };
    const watching = watch();
    try {
      const checks = { ...planFor(served), kind: "check", connections: 64, seconds } as const;
      const batches = { ...planFor(served), ...batchLoad(seconds - 2) };
      for (const plan of [checks, batches]) requireAnswers(plan, await runLoad(plan));
    } finally {
      isOver = true;
      await watching;
    }
    const { rss, peakRss } = memoryMb(served.pid);
    return { idle, load: { rss, pss, peakRss } };
  });
}

function nameOf(threads: number): string {
  return `${threads} thread${threads === 1 ? "" : "s"}`;
}

function addMemory(
  table: Table,
  { isEarlier }: Program,
  { threads, figures: { idle, load } }: { threads: number; figures: MemoryFigures },
): void {
  const terms = { unit: "MB", isEarlier };
  table.add(`${nameOf(threads)}, idle: RSS`, terms, idle.rss);
  table.add(`${nameOf(threads)}, idle: PSS`, terms, idle.pss);
  table.add(`${nameOf(threads)}, under load: most RSS`, terms, load.peakRss);
  table.add(`${nameOf(threads)}, under load: most PSS`, terms, load.pss);
}

function addFurther(
  table: Table,
  { isEarlier }: Program,
  byThreads: ReadonlyMap<number, MemoryFigures>,
): void {
  const [few, many] = [byThreads.get(2), byThreads.get(4)];
  if (few === undefined || many === undefined) return;
  const terms = { unit: "MB", isEarlier };
  table.add("each further thread, idle: RSS", terms, (many.idle.rss - few.idle.rss) / 2);
  table.add("each further thread, under load: most RSS", terms, (many.load.peakRss - few.load.peakRss) / 2);
}
