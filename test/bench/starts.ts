import { sleep } from "../harness/eventually.ts";
import { programWords, startService } from "../harness/program.ts";
import type { Bench } from "./bench.ts";
import { registerSizeFor } from "./checks.ts";
import { memoryMb } from "./machine.ts";
import { makeRegister } from "./register.ts";
import { withCleanup } from "./setup.ts";

/** How long the program takes to start, on files that the system has read before, and what it then holds. */
export const startBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const { figures, rounds } = options;
    const { dataDir, teachers } = await makeRegister(registerSizeFor(options), cleanup);
    await (await startService({ dataDir })).stop();
    const serveName = `tvs serve over ${teachers.toLocaleString("en")} teachers, until it listens`;
    for (let round = 0; round < rounds; round++) {
      const startMs = performance.now();
      const child = Bun.spawn([...programWords, "--help"], { stdout: "ignore", stderr: "ignore" });
      await child.exited;
      figures.add("tvs --help", { unit: "ms", goal: { atMost: 60 } }, performance.now() - startMs);
      const serveMs = performance.now();
      const service = await startService({ dataDir });
      figures.add(serveName, { unit: "ms", goal: { atMost: 200 } }, performance.now() - serveMs);
      // What the start needed and left over may be given back.
      await sleep(1_000);
      const { now } = memoryMb(service.pid);
      figures.add("memory, idle", { unit: "MB", goal: { atMost: 120 } }, now);
      await service.stop();
    }
  });
