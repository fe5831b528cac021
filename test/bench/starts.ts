import { programWords, startService } from "../blackbox/program.ts";
import type { Bench } from "./bench.ts";
import { dataDirIn, makeFolder, withCleanup, writeExtract } from "./world.ts";

/** An import into an empty register, as a command of its own. */
export const importBench: Bench = ({ figures, rounds, isQuick }) =>
  withCleanup(async (cleanup) => {
    const rows = isQuick ? 10_000 : 200_000;
    const extract = await writeExtract(await makeFolder(cleanup), rows);
    for (let round = 0; round < rounds; round++) {
      await withCleanup(async (inRound) => {
        const dataDir = dataDirIn(await makeFolder(inRound));
        const startMs = performance.now();
        const child = Bun.spawn(
          [...programWords, "teachers", "import", extract, "--data", dataDir, "--json"],
          {
            stdout: "ignore",
            stderr: "ignore",
          },
        );
        if ((await child.exited) !== 0) throw new Error("the import failed");
        const seconds = (performance.now() - startMs) / 1000;
        const name = `import of ${rows.toLocaleString("en")} rows`;
        figures.add(name, { unit: "s" }, seconds);
        figures.add(`${name}, speed`, { unit: "rows/s" }, rows / seconds);
        const peakMiB = (child.resourceUsage()?.maxRSS ?? Number.NaN) / 2 ** 20;
        figures.add(`${name}, peak memory`, { unit: "MiB" }, peakMiB);
      });
    }
  });

/** How long the program takes to start, on files that the system has read before. */
export const startBench: Bench = ({ figures, rounds }) =>
  withCleanup(async (cleanup) => {
    const dataDir = dataDirIn(await makeFolder(cleanup));
    await (await startService({ dataDir })).stop();
    for (let round = 0; round < rounds; round++) {
      const startMs = performance.now();
      const child = Bun.spawn([...programWords, "--help"], { stdout: "ignore", stderr: "ignore" });
      await child.exited;
      figures.add("tvs --help", { unit: "ms" }, performance.now() - startMs);
      const serveMs = performance.now();
      const service = await startService({ dataDir });
      figures.add("tvs serve, until it listens", { unit: "ms" }, performance.now() - serveMs);
      await service.stop();
    }
  });
