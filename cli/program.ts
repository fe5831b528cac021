/** The words by which this program is called here, so that printed commands work when pasted. */

import { accessSync, constants, realpathSync } from "node:fs";
import { basename, delimiter, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { shellWord } from "../src/domain/plain-text.ts";

/** Whether this is the executable, which contains its runtime, and not the source. */
export function isExecutable(path = process.execPath): boolean {
  return !/\/(bun|deno|node)(-profile)?$/.test(path);
}

/** The words before a command: `tvs`, the executable's path, or what runs the source. */
export function programWords(): string {
  if (isExecutable()) return executableWords(process.execPath);
  // npm sets this variable for the scripts of package.json, which find a Bun outside PATH.
  if (process.env.npm_package_name === "tvs") return "npm run tvs --";
  const main = shown(fileURLToPath(workerEntry()));
  return "Deno" in globalThis ? `deno run -A ${main}` : `bun ${main}`;
}

function executableWords(path: string): string {
  const name = basename(path);
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(canRun);
  if (found !== undefined && realpathSync(found) === realpathSync(path)) return name;
  return shown(path);
}

/** Whether a file exists and can be run. On a `noexec` mount no file can, whatever its mode. */
export function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A path, relative where it is below the current folder. */
function shown(path: string): string {
  const below = relative(process.cwd(), path);
  if (below.startsWith("..") || isAbsolute(below)) return shellWord(path);
  return shellWord(below.includes(sep) ? below : `.${sep}${below}`);
}

let entry: URL | undefined;

/** Called once by main.ts, with its own address. */
export function setWorkerEntry(url: URL): void {
  entry = url;
}

export function workerEntry(): URL {
  if (entry === undefined) throw new Error("the program was not started by main.ts");
  return entry;
}
