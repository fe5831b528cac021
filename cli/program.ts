/** How this very program is called from where it was started: printed commands are to work as they are pasted. */

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
  // npm tells which script it runs; ours find a Bun that no PATH has.
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

/** Whether a file is there and can be run: on a mount that runs none, the system says no whatever the file's mode. */
export function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A path below the current folder from there, any other whole. */
function shown(path: string): string {
  const below = relative(process.cwd(), path);
  const isOutside = below.startsWith("..") || isAbsolute(below);
  const inside = below.includes(sep) ? below : `.${sep}${below}`;
  const written = isOutside ? path : inside;
  return shellWord(written);
}

let entry: URL | undefined;

/** Remembers the address of main.ts, which only main.ts knows. */
export function setWorkerEntry(url: URL): void {
  entry = url;
}

export function workerEntry(): URL {
  if (entry === undefined) throw new Error("the program was not started by main.ts");
  return entry;
}
