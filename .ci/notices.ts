/**
 * The licences of everything that the executable contains, for `tvs licenses`, the Debian package and the container
 * image. The packages are the runtime dependencies of the lock file. `data/notices` has the notice of Bun.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../package-lock.json" with { type: "json" };
import { BuildError, projectFolder } from "./build.ts";

export const noticesFile = join(projectFolder, "cli/notices.bundle.txt");

/** A package in the executable, or Bun. */
type Work = {
  /** Its folder in the source. */
  readonly folder: string;
  readonly title: string;
  readonly license: string;
  /** Its licence and copyright notice, unchanged. */
  readonly text: string;
};

type Locked = { readonly version: string; readonly dev?: boolean; readonly devOptional?: boolean };
type Manifest = { name: string; version: string; license?: string; author?: string | { name: string } };

/** Whether a package is not in the executable: it has only types, or is a program of its own. */
const isOutside = (name: string) =>
  /(^|\/)(@types\/|@sqld\/|@typescript\/|type-fest$|undici-types$)/.test(name);

/** The packages in the executables of all platforms: pairs of a folder and its entry in the lock file. */
export const bundledPackages = Object.entries(
  lock.packages as unknown as Readonly<Record<string, Locked>>,
).filter(([path, { dev, devOptional }]) => path !== "" && !dev && !devOptional && !isOutside(path));

const read = (path: string) => readFileSync(join(projectFolder, path), "utf8").trim();

/** Lists the works of others in the executable. @throws {BuildError} if a package names no licence */
export function listWorks(): Work[] {
  const runtime = { folder: "node_modules/bun", title: "Bun, the runtime", license: "MIT and others" };
  // npm installs only the native addon of this platform.
  const packages = bundledPackages.filter(([folder]) => existsSync(join(projectFolder, folder)));
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

export function noticesText(): string {
  const texts = [{ title: "tvs", text: read("LICENSE") }, ...listWorks()];
  const line = `\n\n${"-".repeat(79)}\n\n`;
  return `This executable contains the following works.\n\n${texts.map(({ title, text }) => `${title}\n\n${text}`).join(line)}\n`;
}
