/**
 * The licences of what the executable contains: `tvs licenses`, the Debian package and the image have them. The packages
 * are those that the lock file needs to run. `data/notices` has the runtime's own notice.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../package-lock.json" with { type: "json" };
import { BuildError, projectFolder } from "./build.ts";

export const noticesFile = join(projectFolder, "cli/notices.bundle.txt");

/** A work in the executable. */
type Work = {
  /** Its folder in the source. */
  readonly folder: string;
  readonly title: string;
  readonly license: string;
  /** Its notice, as the work has it. */
  readonly text: string;
};

type Locked = { readonly version: string; readonly dev?: boolean; readonly devOptional?: boolean };
type Manifest = { name: string; version: string; license?: string; author?: string | { name: string } };

/** Types alone, and what runs beside the program, are not in it. */
const isOutside = (name: string) =>
  /(^|\/)(@types\/|@sqld\/|@typescript\/|type-fest$|undici-types$)/.test(name);

/** The packages in the executables of all platforms, by their folders. */
export const parts = Object.entries(lock.packages as unknown as Readonly<Record<string, Locked>>).filter(
  ([path, { dev, devOptional }]) => path !== "" && !dev && !devOptional && !isOutside(path),
);

const read = (path: string) => readFileSync(join(projectFolder, path), "utf8").trim();

/** Lists the works of others in the executable. @throws {BuildError} for a package that names no licence */
export function works(): Work[] {
  const runtime = { folder: "node_modules/bun", title: "Bun, the runtime", license: "MIT and others" };
  // npm installs the native addon of this platform alone.
  const packages = parts.filter(([folder]) => existsSync(join(projectFolder, folder)));
  return [...packages.map(([folder]) => workOf(folder)), { ...runtime, text: read("data/notices/bun.md") }];
}

function workOf(folder: string): Work {
  const { name, version, license, author } = JSON.parse(read(`${folder}/package.json`)) as Manifest;
  if (license === undefined) throw new BuildError(`${name} names no licence`);
  const files = readdirSync(join(projectFolder, folder)).filter((one) => /^(licen[cs]e|copying)/i.test(one));
  const holder = typeof author === "object" ? author.name : author?.replace(/ [<(].*$/, "");
  const text =
    files.length === 0
      ? `${holder === undefined ? "" : `Copyright ${holder}\n\n`}It brings no text of its licence: that of another part under ${license} holds.`
      : files.map((file) => read(`${folder}/${file}`)).join("\n\n");
  return { folder, title: `${name} ${version} (${license})`, license, text };
}

export function notices(): string {
  const texts = [{ title: "tvs", text: read("LICENSE") }, ...works()];
  const line = `\n\n${"-".repeat(79)}\n\n`;
  return `This executable contains the following works.\n\n${texts.map(({ title, text }) => `${title}\n\n${text}`).join(line)}\n`;
}
