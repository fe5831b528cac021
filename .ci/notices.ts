/**
 * The licences of what the executable contains, as one text: `tvs licenses`, the Debian package and a release have it. The
 * packages are those that the lock file needs to run; the runtime's own notice lies in `data/notices`.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../package-lock.json" with { type: "json" };
import { BuildError, projectFolder } from "./build.ts";

export const noticesFile = join(projectFolder, "cli/notices.bundle.txt");

type Locked = { readonly dev?: boolean; readonly devOptional?: boolean; readonly optional?: boolean };
type Manifest = { name: string; version: string; license?: string; author?: string | { name: string } };

/** Types alone, and what runs beside the program, are not in it. */
const isOutside = (name: string) =>
  /(^|\/)(@types\/|@sqld\/|@typescript\/|type-fest$|undici-types$)/.test(name);

/** @throws {BuildError} for a package that names no licence */
export function notices(): string {
  const entries = Object.entries(lock.packages as Readonly<Record<string, Locked>>);
  const folders = entries.flatMap(([path, { dev, devOptional }]) =>
    path === "" || dev || devOptional || isOutside(path) || !existsSync(join(projectFolder, path))
      ? []
      : [path],
  );
  const read = (file: string) => readFileSync(join(projectFolder, file), "utf8").trim();
  const parts = [
    `tvs\n\n${read("LICENSE")}`,
    ...folders.map((folder) => noticeOf(join(projectFolder, folder))),
    `Bun, the runtime\n\n${read("data/notices/bun.md")}`,
  ];
  return `This executable contains the following works.\n\n${parts.join(`\n\n${"-".repeat(79)}\n\n`)}\n`;
}

function noticeOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license, author } = manifest;
  if (license === undefined) throw new BuildError(`${name} names no licence`);
  const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)/i.test(one));
  const holder = typeof author === "object" ? author.name : author?.replace(/ [<(].*$/, "");
  const text =
    file === undefined
      ? `It brings no text of its licence: that of another part under ${license} holds. Author: ${holder ?? "not named"}.`
      : readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}`;
}
