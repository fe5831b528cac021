/**
 * The package for partners, `dist/tvs-partner-VERSION.tgz` (decision D14.1): the module with its declarations, as the
 * service serves them, and the command `tvs-verify`, bundled, so that nothing else need be installed. Run it:
 * `npm run package`.
 */

import { execFileSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { BuildError, projectFolder, runScript } from "./build.ts";
import { declarationsFile, moduleFile } from "./partner-module.ts";

const leastNode = 20;

/** How the package calls itself. It depends on nothing, so there is nothing to be installed with it. */
const repository = process.env.GITHUB_REPOSITORY;
const description = {
  name: "tvs-partner",
  version: manifest.version,
  description: "Verifies the answers and webhooks of a Teacher Verification Service, and asks it",
  license: manifest.license,
  keywords: ["teacher", "licence", "verification", "jws", "webhooks"],
  // A release names where it was made.
  ...(repository === undefined
    ? {}
    : {
        repository: {
          type: "git",
          url: `git+https://github.com/${repository}.git`,
          directory: "src/partner",
        },
        homepage: `https://github.com/${repository}#readme`,
      }),
  sideEffects: false,
  type: "module",
  exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./package.json": "./package.json" },
  types: "./index.d.ts",
  bin: { "tvs-verify": "bin/tvs-verify.cjs" },
  engines: { node: `>=${leastNode}` },
};

/** In words that any Node reads, because an old one would else stumble over the program's own. */
const starter = `#!/usr/bin/env node
"use strict";
var major = parseInt(process.versions.node, 10);
if (major < ${leastNode}) {
  console.error("tvs-verify: this is Node " + process.versions.node + ", and Node ${leastNode} or later is needed: install it, or use Bun or Deno");
  process.exit(2);
}
require("./load.cjs");
`;

const loader = `"use strict";
import("./tvs-verify.js");
`;

/** Bundles the command into a folder. @returns the folders of the packages that went into it */
async function bundleCommand(folder: string): Promise<string[]> {
  const { metafile } = await Bun.build({
    entrypoints: [join(projectFolder, "cli/verify/tvs-verify.ts")],
    root: join(projectFolder, "cli/verify"),
    outdir: folder,
    target: "node",
    format: "esm",
    env: "disable",
    metafile: true,
  });
  const folders = Object.keys(metafile?.inputs ?? {}).flatMap(
    (path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  if (folders.length === 0) throw new BuildError("the bundler did not say what it took");
  return [...new Set(folders)].map((path) => resolve(path)).sort();
}

/** The licences of the packages in the command. @throws {BuildError} for one without a text */
async function licencesOf(folders: readonly string[]): Promise<string> {
  const texts = folders.map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new BuildError(`${name} has no text of its licence`);
    return `${name} ${version} (${license})\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  const head = "The command tvs-verify contains these packages. The module contains none.\n\n";
  return head + (await Promise.all(texts)).join(`\n${"-".repeat(79)}\n\n`);
}

/** Puts the package's files into a folder. */
async function stage(folder: string): Promise<void> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  const parts = await bundleCommand(bin);
  await writeFile(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
  const readme = await readFile(join(projectFolder, "src/partner/README.md"), "utf8");
  await writeFile(join(folder, "README.md"), readme.replaceAll("VERSION", manifest.version));
  await writeFile(join(folder, "LICENSES-OF-PARTS.txt"), await licencesOf(parts));
  await writeFile(join(bin, "tvs-verify.cjs"), starter);
  await chmod(join(bin, "tvs-verify.cjs"), 0o755);
  await writeFile(join(bin, "load.cjs"), loader);
  for (const [from, to] of [
    [moduleFile, "index.js"],
    [declarationsFile, "index.d.ts"],
    [join(projectFolder, "LICENSE"), "LICENSE"],
  ] as const)
    await copyFile(from, join(folder, to));
}

/**
 * Makes the package. npm packs it, with the same bytes for the same files.
 *
 * @param out the folder to put it into
 * @returns the file's path
 */
export async function makePackage(out: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tvs-package-"));
  try {
    await stage(folder);
    await mkdir(out, { recursive: true });
    const words = ["pack", folder, "--json", "--loglevel=error", "--pack-destination", out];
    const said = execFileSync("npm", words, { encoding: "utf8" });
    const [packed] = JSON.parse(said) as { filename: string }[];
    return join(out, packed?.filename ?? "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const options = { out: { type: "string", default: join(projectFolder, "dist") } } as const;
  const file = await makePackage(resolve(parseArgs({ options }).values.out));
  console.log(`${file}: ${((await stat(file)).size / 1000).toFixed(0)} kB`);
}

if (import.meta.main) await runScript("package", main);
