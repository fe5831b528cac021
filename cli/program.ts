/** Finds how this program is called on this machine, so that commands in messages can be pasted into a shell. */

import { accessSync, constants, realpathSync } from "node:fs";
import { basename, delimiter, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { quoteShellWord } from "../src/domain/plain-text.ts";

/** Whether this process is the compiled executable, and not the source on Bun, Deno or Node. */
export function isCompiledExecutable(path = process.execPath): boolean {
  return !/\/(bun|deno|node)(-profile)?$/.test(path);
}

/** Names the runtime and its version, such as `Bun 1.3`. The service supports Bun and Deno. */
export function describeRuntime(): string {
  const { bun, deno, node } = process.versions as Readonly<Record<string, string | undefined>>;
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`;
}

/** Returns the words that start this program: `tvs`, the executable's path, or for example `bun cli/main.ts`. */
export function programInvocation(): string {
  if (isCompiledExecutable()) return executableWords(process.execPath);
  // npm sets this variable for a script of package.json. npm finds Bun even if Bun is not on the shell's PATH.
  if (process.env.npm_package_name === "tvs") return "npm run tvs --";
  const main = shown(fileURLToPath(getMainUrl()));
  return "Deno" in globalThis ? `deno run -A ${main}` : `bun ${main}`;
}

function executableWords(path: string): string {
  const name = basename(path);
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isRunnableFile);
  if (found !== undefined && realpathSync(found) === realpathSync(path)) return name;
  return shown(path);
}

/** Whether a file exists and can be run. On a mount with `noexec` no file can be run, whatever its mode. */
export function isRunnableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Quotes a path for a shell. A path below the current folder becomes a relative path. */
function shown(path: string): string {
  const below = relative(process.cwd(), path);
  if (below.startsWith("..") || isAbsolute(below)) return quoteShellWord(path);
  return quoteShellWord(below.includes(sep) ? below : `.${sep}${below}`);
}

let entry: URL | undefined;

/** Stores the URL of main.ts, from which threads and child processes start. Called once, by main.ts. */
export function setMainUrl(url: URL): void {
  entry = url;
}

export function getMainUrl(): URL {
  if (entry === undefined) throw new Error("the program was not started by main.ts");
  return entry;
}
