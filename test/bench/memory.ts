import { sleep } from "../harness/eventually.ts";
import { batchLoad } from "./batches.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import type { Table } from "./figures.ts";
import { requireAnswers, runLoad } from "./load.ts";
import { cores, type Memory, memoryMb } from "./machine.ts";
import type { Program } from "./programs.ts";
import { planFor, registerSizeFor, serveRegister } from "./register.ts";
import { withCleanup } from "./setup.ts";

const signerCounts = [0, 1, 3] as const;
/** What the start needed and left over may be given back by then. */
const settleMs = 1_000;
const sampleMs = 200;

type MemoryFigures = { readonly idle: Memory; readonly load: Memory };

/** What the service holds, idle and at full load, with none, one and three signers. */
export const memoryBench: Bench = async (options) => {
  const { figures, programs, rounds } = options;
  const table = figures.about("How much memory does the service hold?");
  table.note(
    "RSS counts shared pages in full, PSS in part; under load, the most of samples while checks and then batches are answered, and the process's own record of its most RSS.",
  );
  for (let round = 0; round < rounds; round++)
    for (const program of programs) {
      const bySigners = new Map<number, MemoryFigures>();
      for (const signers of program.hasSigners ? signerCounts : [null]) {
        const figuresOf = await measureMemory(
          options,
          program.hasSigners ? { ...program, signers } : program,
        );
        // A program that has no choice stands beside what the other one starts with here.
        bySigners.set(signers ?? cores - 1, figuresOf);
        addMemory(table, program, { signers: signers ?? cores - 1, figures: figuresOf });
      }
      addFurther(table, program, bySigners);
    }
  for (const program of programs.filter(({ hasSigners }) => !hasSigners))
    table.note(
      `${program.isEarlier ? "The earlier" : "This"} build has no --signers: its figures are those of the threads that it starts with.`,
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

function nameOf(signers: number): string {
  return `${signers} signer${signers === 1 ? "" : "s"}`;
}

function addMemory(
  table: Table,
  { isEarlier }: Program,
  { signers, figures: { idle, load } }: { signers: number; figures: MemoryFigures },
): void {
  const terms = { unit: "MB", isEarlier };
  table.add(`${nameOf(signers)}, idle: RSS`, terms, idle.rss);
  table.add(`${nameOf(signers)}, idle: PSS`, terms, idle.pss);
  table.add(`${nameOf(signers)}, under load: most RSS`, terms, load.peakRss);
  table.add(`${nameOf(signers)}, under load: most PSS`, terms, load.pss);
}

function addFurther(
  table: Table,
  { isEarlier }: Program,
  bySigners: ReadonlyMap<number, MemoryFigures>,
): void {
  const [few, many] = [bySigners.get(1), bySigners.get(3)];
  if (few === undefined || many === undefined) return;
  const terms = { unit: "MB", isEarlier };
  table.add("each further signer, idle: RSS", terms, (many.idle.rss - few.idle.rss) / 2);
  table.add("each further signer, under load: most RSS", terms, (many.load.peakRss - few.load.peakRss) / 2);
}
