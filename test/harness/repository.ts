/** The files of this repository, by their paths from its root. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dir, "../..");

export const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Lists the files of a folder and of its folders; those of `.` only itself. */
export function filesBelow(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: folder !== ".", encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => ending.test(path) && !path.includes("node_modules"));
}
