import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bench } from "./bench.ts";
import type { Table } from "./figures.ts";
import { inTurn, type Program } from "./programs.ts";
import { initRegister, writeExtract } from "./register.ts";
import { dataDirIn, folderUntilCleanup, withCleanup } from "./setup.ts";

const question = "How long does a large import take, beside the sqlite3 shell's of the same rows?";

/** An import into an empty register, as a command of its own, and the sqlite3 shell's of the same rows. */
export const importBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const rows = options.isQuick ? 50_000 : 1_000_000;
    const folder = await folderUntilCleanup(cleanup);
    const extract = await writeExtract(folder, { rows });
    const table = options.figures.about(question);
    if (Bun.which("sqlite3") === null)
      table.note("The sqlite3 shell is not installed: there is nothing to compare with.");
    const { programs } = options;
    let forShell: ShellImport | null = null;
    for (let round = 0; round < options.rounds; round++)
      await withCleanup(async (inRound) => {
        const own = new Map<Program, Took>();
        for (const program of inTurn(programs, round)) {
          const dataDir = dataDirIn(await folderUntilCleanup(inRound));
          own.set(program, await measureImport(table, program, { extract, dataDir, rows }));
          if (Bun.which("sqlite3") === null) continue;
          forShell ??= await prepareShellImport(folder, join(dataDir, "tvs.db"));
        }
        if (forShell === null) return;
        const shell = await runShellImport(forShell, await folderUntilCleanup(inRound));
        const name = nameOf(rows);
        table.add(`${name} by the sqlite3 shell, the same indexes`, { unit: "s" }, shell.seconds);
        for (const [{ isEarlier }, took] of own) {
          const terms = { unit: "times", isEarlier };
          table.add(`${name} ÷ the sqlite3 shell's`, terms, took.seconds / shell.seconds);
          table.add(`${name}, CPU ÷ the sqlite3 shell's`, terms, took.cpuSeconds / shell.cpuSeconds);
        }
      });
  });

/** How long a command took, and how much processor time. */
type Took = { readonly seconds: number; readonly cpuSeconds: number };

function nameOf(rows: number): string {
  return `import of ${rows.toLocaleString("en")} rows`;
}

async function measureImport(
  table: Table,
  { words, isEarlier }: Program,
  { extract, dataDir, rows }: { extract: string; dataDir: string; rows: number },
): Promise<Took> {
  await initRegister({ dataDir, program: words });
  const startMs = performance.now();
  const child = Bun.spawn([...words, "teachers", "import", extract, "--data", dataDir, "--json"], {
    stdout: "ignore",
    stderr: "ignore",
  });
  if ((await child.exited) !== 0) throw new Error("the import failed");
  const seconds = (performance.now() - startMs) / 1000;
  const cpuSeconds = cpuOf(child);
  const name = nameOf(rows);
  table.add(`${name}, checked, indexed, events included`, { unit: "s", isEarlier }, seconds);
  table.add(`${name}, CPU`, { unit: "s", isEarlier }, cpuSeconds);
  table.add(`${name}, speed`, { unit: "rows/s", isEarlier }, rows / seconds);
  table.add(
    `${name}, peak memory`,
    { unit: "MB", isEarlier },
    (child.resourceUsage()?.maxRSS ?? Number.NaN) / 1e6,
  );
  return { seconds, cpuSeconds };
}

function cpuOf(child: Bun.Subprocess): number {
  return Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
}

type ShellImport = { readonly schema: string; readonly csv: string };

/**
 * What the import above has stored, as a table and a CSV for the shell's `.import`: the same columns, rows and
 * indexes. The shell imports no bytes, so the 16 bytes of a blind index become 16 characters.
 */
async function prepareShellImport(folder: string, database: string): Promise<ShellImport> {
  const text = async (sql: string) => (await shell(database, ["-noheader", "-list"], `${sql};`)).text;
  const statements = await text(
    "SELECT sql || ';' FROM sqlite_master WHERE tbl_name = 'teachers' AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY type DESC",
  );
  const columns =
    await text(`SELECT group_concat(CASE type WHEN 'BLOB' THEN 'substr(hex(' || name || '), 1, 16)' ELSE name END, ', ')
    FROM pragma_table_info('teachers')`);
  const csv = join(folder, "teachers.csv");
  await shell(database, [], `.mode csv\n.once '${csv}'\nSELECT ${columns.trim()} FROM teachers ORDER BY id;`);
  if ((await stat(csv)).size === 0) throw new Error("nothing to import was written");
  return { schema: statements.replace(/\bBLOB\b/g, "TEXT"), csv };
}

/** CSV has no NULL: an empty cell comes in as an empty text, which a column's CHECK may refuse. */
const noChecks = "PRAGMA ignore_check_constraints = ON;";

async function runShellImport({ schema, csv }: ShellImport, folder: string): Promise<Took> {
  const database = join(folder, "shell.db");
  await writeFile(join(folder, "schema.sql"), schema);
  await shell(database, [], `PRAGMA journal_mode = WAL;\n.read '${join(folder, "schema.sql")}'`);
  const startMs = performance.now();
  const { cpuSeconds } = await shell(database, ["-bail"], `${noChecks}\n.import --csv '${csv}' teachers`);
  const seconds = (performance.now() - startMs) / 1000;
  const { text } = await shell(database, ["-noheader", "-list"], "SELECT count(*) FROM teachers;");
  if (!(Number(text) > 0)) throw new Error("the sqlite3 shell imported nothing");
  return { seconds, cpuSeconds };
}

/** @throws Error with what the shell complained of */
async function shell(
  database: string,
  flags: readonly string[],
  input: string,
): Promise<{ text: string; cpuSeconds: number }> {
  const child = Bun.spawn(["sqlite3", ...flags, database], {
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (stderr !== "") throw new Error(`sqlite3: ${stderr.slice(0, 300)}`);
  return { text, cpuSeconds: cpuOf(child) };
}
