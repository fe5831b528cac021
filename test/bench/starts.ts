import { startService } from "../harness/program.ts";
import type { Bench } from "./bench.ts";
import { inTurn, type Program, serveWords } from "./programs.ts";
import { makeRegister, type Register, registerSizeFor } from "./register.ts";
import { withCleanup } from "./setup.ts";

/** How long the program takes to start, on files that the system has read before. */
export const startBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const { figures, programs, rounds } = options;
    const table = figures.about("How long does the program take to start?");
    const made: { program: Program; register: Register }[] = [];
    for (const program of programs) {
      const register = await makeRegister(program, { teachers: registerSizeFor(options), cleanup });
      await serveOnce(program, register);
      made.push({ program, register });
    }
    for (let round = 0; round < rounds; round++)
      for (const { program, register } of inTurn(made, round)) {
        const { isEarlier } = program;
        const startMs = performance.now();
        const child = Bun.spawn([...program.words, "--help"], { stdout: "ignore", stderr: "ignore" });
        await child.exited;
        table.add("tvs --help", { unit: "ms", isEarlier }, performance.now() - startMs);
        const name = `tvs serve over ${register.teachers.toLocaleString("en")} teachers, until it listens`;
        table.add(name, { unit: "ms", isEarlier }, await serveOnce(program, register));
      }
  });

/** @returns how long it took until it listened, in milliseconds */
async function serveOnce(program: Program, { dataDir }: Register): Promise<number> {
  const startMs = performance.now();
  const service = await startService({ dataDir, args: serveWords(program), program: program.words });
  const ms = performance.now() - startMs;
  await service.stop();
  return ms;
}
