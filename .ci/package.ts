/**
 * The package for partners, `dist/tvs-partner-VERSION.tgz` (decision D14.1): the module with its declarations, and the
 * command `tvs-verify`, bundled, so that the package has no dependencies. The service hands out the same bytes as
 * `/v1/inter-agency/tvs-partner.tgz`. Run it: `npm run package`.
 */

import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { BuildError, projectFolder, runScript } from "./build.ts";
import { declarationsFile, moduleFile } from "./partner-module.ts";

const leastNode = 20;

/** The package's bytes in base64, which every runtime can import as text. */
export const packageFile = join(projectFolder, "src/api/package.bundle.txt");

/** The package's package.json. It names no dependencies, because everything is bundled. */
const repository = process.env.GITHUB_REPOSITORY;
const description = {
  name: "tvs-partner",
  version: manifest.version,
  description: "Verifies the answers and webhooks of a Teacher Verification Service, and asks it",
  license: manifest.license,
  keywords: ["teacher", "licence", "verification", "jws", "webhooks"],
  // GITHUB_REPOSITORY is set when the workflow makes a release.
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

/** The file that Node runs first. Its syntax is old, so that an old Node can read it and print the needed version. */
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

/** Bundles the command. @returns its text, and the folders of the packages that went into it */
async function bundleCommand(): Promise<{ text: string; parts: string[] }> {
  const { metafile, outputs } = await Bun.build({
    entrypoints: [join(projectFolder, "cli/verify/tvs-verify.ts")],
    root: join(projectFolder, "cli/verify"),
    target: "node",
    format: "esm",
    env: "disable",
    metafile: true,
  });
  const folders = Object.keys(metafile?.inputs ?? {}).flatMap(
    (path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  const [output] = outputs;
  if (output === undefined || folders.length === 0)
    throw new BuildError("the bundler did not say what it took");
  return { text: await output.text(), parts: [...new Set(folders)].map((path) => resolve(path)).sort() };
}

/** Collects the licences of the packages in the command. @throws {BuildError} if one has no text */
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

/** Makes the files of the package. @returns their texts by name */
async function packageFiles(): Promise<Readonly<Record<string, string>>> {
  const command = await bundleCommand();
  const read = (path: string) => readFile(path, "utf8");
  return {
    "package.json": `${JSON.stringify(description, null, 2)}\n`,
    "README.md": await read(join(projectFolder, "src/partner/README.md")),
    LICENSE: await read(join(projectFolder, "LICENSE")),
    "LICENSES-OF-PARTS.txt": await licencesOf(command.parts),
    "index.js": await read(moduleFile),
    "index.d.ts": await read(declarationsFile),
    "bin/tvs-verify.cjs": starter,
    "bin/load.cjs": loader,
    "bin/tvs-verify.js": command.text,
  };
}

/**
 * Makes the package. The same files and modes give the same bytes.
 * @param out the folder for the package @returns the path of its file
 */
export async function makePackage(out: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tvs-package-"));
  try {
    await mkdir(join(folder, "bin"));
    for (const [name, text] of Object.entries(await packageFiles())) {
      await writeFile(join(folder, name), text);
      await chmod(join(folder, name), text === starter ? 0o755 : 0o644);
    }
    const words = ["pm", "pack", "--quiet", "--destination", out];
    execFileSync(process.execPath, words, { cwd: folder });
    return join(out, `${description.name}-${description.version}.tgz`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes the text of {@link packageFile}. */
export async function packageText(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tvs-package-"));
  try {
    return (await readFile(await makePackage(folder))).toString("base64");
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
