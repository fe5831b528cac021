/** Runs a command that may fail, and checks that the register is as before or wholly changed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openDatabaseFile } from "../../src/store/driver/file.ts";
import { closeDatabases, runTvs } from "../harness/command.ts";
import { type ChangingCommand, copyRegister, issuer } from "./acts.ts";
import { diskFaults, endFaults, failWriteAt } from "./failing-disk.ts";

type Content = Readonly<Record<string, readonly string[]>>;
/** The numbers of rows that each changed table has lost and gained. */
export type RowChanges = Readonly<Record<string, readonly [gone: number, come: number]>>;

/** Reads all rows of a database, with the type of each value. */
export async function contentOf(dataDir: string): Promise<Content> {
  const file = join(dataDir, "tvs.db");
  if (!existsSync(file)) return {};
  const driver = await openDatabaseFile({ file });
  try {
    const content: Record<string, string[]> = {};
    const sql = "SELECT name, wr FROM pragma_table_list WHERE type = 'table' ORDER BY name";
    for (const { name, wr } of await driver.query(sql)) {
      if (name === "schema_steps" || String(name).startsWith("sqlite_")) continue;
      const columns = await driver.query(`SELECT name FROM pragma_table_info('${name}')`);
      const all = [...(wr === 0 ? ["rowid"] : []), ...columns.map((row) => String(row.name))];
      const values = all.map((one) => `typeof(${one}) || quote(${one})`).join(" || ',' || ");
      const rows = await driver.query(`SELECT ${values} AS v FROM ${name} ORDER BY 1`);
      content[String(name)] = rows.map(({ v }) => String(v));
    }
    return content;
  } finally {
    await driver.close();
  }
}

/** Compares two states of a database. */
export function changesBetween(before: Content, after: Content): RowChanges {
  const without = (some: readonly string[] = [], others: readonly string[] = []) => {
    const known = new Set(others);
    return some.filter((row) => !known.has(row)).length;
  };
  const counted = Object.keys({ ...before, ...after }).map((name) => {
    const counts = [without(before[name], after[name]), without(after[name], before[name])] as const;
    return [name, counts] as const;
  });
  return Object.fromEntries(counted.filter(([, [gone, come]]) => gone + come > 0));
}

/** Runs a command without a fault. @returns its changes, and the number of its writes to the disk */
export async function runWithoutFault(folder: string, act: ChangingCommand) {
  const dataDir = copyRegister(folder, act);
  const before = await contentOf(dataDir);
  await closeDatabases();
  failWriteAt(folder, 0, diskFaults[0]);
  const { code, stderr } = await runTvs(act.words, { dataDir, env: issuer });
  const writes = endFaults();
  if (code !== 0) throw new Error(`${act.name}: ${stderr}`);
  return { writes, done: changesBetween(before, await contentOf(dataDir)) };
}

export type CommandExit = { readonly code: number; readonly stderr: string };

/**
 * Runs a command so that it may fail, and runs it again if it has not done everything.
 * @param attempt runs the command on a data folder
 * @returns a sentence for each broken promise
 */
export async function findBrokenPromises(
  { folder, act, done }: { folder: string; act: ChangingCommand; done: RowChanges },
  attempt: (dataDir: string) => Promise<CommandExit>,
): Promise<string[]> {
  const [dataDir, wrong] = [copyRegister(folder, act), [] as string[]];
  const before = await contentOf(dataDir);
  const now = async () => changesBetween(before, await contentOf(dataDir));
  const succeeds = async (words: readonly string[]) => {
    await closeDatabases();
    const { code, stdout, stderr } = await runTvs(words, { dataDir, env: issuer });
    if (code !== 0) wrong.push(`then tvs ${words.slice(0, 2).join(" ")} said ${stderr || stdout}`);
  };
  await closeDatabases();
  const { code } = await attempt(dataDir);
  const left = await now();
  const counted = (found: RowChanges) =>
    Object.entries(found).filter(([table]) => !act.leaves?.includes(table));
  const isDone = Bun.deepEquals(counted(left), counted(done));
  if (code === 0 && !isDone) wrong.push(`it said that it was done, of ${JSON.stringify(left)}`);
  if (act.isAtomic && !isDone && Object.keys(left).length > 0)
    wrong.push(`half done: ${JSON.stringify(left)}`);
  // A command may fail although its commit is on the disk, because the failure came after that.
  if (code !== 0 && !(isDone && act.isAtomic)) {
    await closeDatabases();
    const again = await runTvs(act.words, { dataDir, env: issuer });
    if (again.code !== 0 && !isDone) wrong.push(`run again, it said ${again.stderr}`);
    const end = await now();
    if (!isDone && !Bun.deepEquals(counted(end), counted(done)))
      wrong.push(`run again, it left ${JSON.stringify(end)}, not ${JSON.stringify(done)}`);
  }
  for (const line of act.behind ?? ["log checkpoint", "log audit"]) await succeeds(line.split(" "));
  return wrong;
}
