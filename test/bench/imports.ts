import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withTempDir } from "../harness/folder.ts";
import type { FigureTable } from "./figures.ts";
import { alternateOrder, type BenchmarkRun } from "./questions.ts";
import { initRegister, type Program, writeExtract } from "./register.ts";

/** A command's duration and its processor time, in seconds. */
type Took = { readonly seconds: number; readonly cpuSeconds: number };

/** Measures an import into an empty register, and for comparison one by the sqlite3 shell of the same file. */
export function measureImports({ figures, programs, rounds, isQuick }: BenchmarkRun): Promise<void> {
  return withTempDir(async (folder) => {
    const rows = isQuick ? 50_000 : 1_000_000;
    const extract = await writeExtract(folder, rows);
    const table = figures.about("How long does an import take, beside the sqlite3 shell's of the same rows?");
    const hasShell = Bun.which("sqlite3") !== null;
    if (!hasShell) table.note("The sqlite3 shell is not installed: there is nothing to compare with.");
    const name = `import of ${rows.toLocaleString("en")} rows`;
    for (let round = 0; round < rounds; round++) {
      const shell = hasShell ? await withTempDir((inRound) => importByShell(extract, inRound)) : null;
      if (shell !== null) table.add(`${name} by the sqlite3 shell`, { unit: "s" }, shell.seconds);
      for (const program of alternateOrder(programs, round)) {
        const { isEarlier } = program;
        const took = await withTempDir((inRound) =>
          measureImport(program, { table, name, extract, inRound }),
        );
        if (shell === null) continue;
        table.add(`${name} ÷ the shell's`, { unit: "times", isEarlier }, took.seconds / shell.seconds);
      }
    }
  });
}

async function measureImport(
  { words, isEarlier }: Program,
  { table, name, extract, inRound }: { table: FigureTable; name: string; extract: string; inRound: string },
): Promise<Took> {
  const dataDir = join(inRound, "data");
  await initRegister({ dataDir, program: words });
  const { took, child } = await timed([...words, "teachers", "import", extract, "--data", dataDir, "--json"]);
  table.add(`${name}: checked, indexed, events included`, { unit: "s", isEarlier }, took.seconds);
  table.add(`${name}: CPU`, { unit: "s", isEarlier }, took.cpuSeconds);
  const peakMb = (child.resourceUsage()?.maxRSS ?? Number.NaN) / 1e6;
  table.add(`${name}: peak memory`, { unit: "MB", isEarlier }, peakMb);
  return took;
}

async function importByShell(extract: string, folder: string): Promise<Took> {
  const script = join(folder, "import.sql");
  await writeFile(
    script,
    `PRAGMA journal_mode = WAL;\n.import --csv '${extract}' teachers\n` +
      ["reg_no", "t_id", "nin", "email", "phone"]
        .map((column) => `CREATE INDEX by_${column} ON teachers (${column});\n`)
        .join(""),
  );
  return (await timed(["sqlite3", "-bail", join(folder, "shell.db"), `.read '${script}'`])).took;
}

/** Runs a command. @throws Error if it fails */
async function timed(words: readonly string[]) {
  const startMs = performance.now();
  const child = Bun.spawn([...words], { stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) !== 0) throw new Error(`${words[0]} failed to import`);
  const seconds = (performance.now() - startMs) / 1000;
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  return { took: { seconds, cpuSeconds }, child };
}
