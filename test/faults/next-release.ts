import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const project = resolve(import.meta.dir, "../..");

/** What the next release adds: a table that this one knows nothing of. */
const addition = "CREATE TABLE next_release (id INTEGER PRIMARY KEY) STRICT;\n";
const endOfMigrations = /(const migrations: readonly Migration\[\] = \[[^\]]*)\];/;

/**
 * Makes the release after this one in a folder: its source with an additive migration more, and a version of its own.
 * @returns the words that start it, from its source
 */
export async function makeNextRelease(folder: string, version: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  for (const part of ["cli", "src", "data", "package.json", "README.md", "CHANGELOG.md", "LICENSE"]) {
    await cp(join(project, part), join(folder, part), { recursive: true });
  }
  await symlink(join(project, "node_modules"), join(folder, "node_modules"));
  const own = join(folder, "src/store/driver");
  await writeFile(join(own, "migrations/next_release.sql"), addition);
  await edit(join(own, "migrations.ts"), (text) => {
    const added = `import nextRelease from "./migrations/next_release.sql" with { type: "text" };\n${text}`;
    return added.replace(endOfMigrations, "$1  { sql: nextRelease, rolls: true },\n];");
  });
  await edit(join(folder, "package.json"), (text) =>
    text.replace(/"version": "[^"]*"/, `"version": "${version}"`),
  );
  return [process.execPath, join(folder, "cli/main.ts")];
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(file, "utf8");
  const changed = change(text);
  if (changed === text) throw new Error(`${file} is not what the next release is made from`);
  await writeFile(file, changed);
}
