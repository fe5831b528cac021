/** The package as a partner has it: installed from its file into an empty project. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePackage } from "../../.ci/package.ts";
import { makeFolder } from "../harness/folder.ts";
import { childEnvironment } from "../harness/program.ts";

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

const denoFile = join(import.meta.dir, "../../node_modules/deno/bin.cjs");

/** The words that begin a command line of each runtime. */
export const runtimes: Readonly<Record<string, readonly string[]>> = {
  Node: ["node"],
  Bun: [process.execPath],
  Deno: ["node", denoFile, "run", "--allow-all"],
};

export type InstalledPackage = Awaited<ReturnType<typeof installPackage>>;

/** Makes the package, installs it with npm and nothing else at hand, and runs what imports it. */
export async function installPackage() {
  const folder = await makeFolder();
  const file = await makePackage(join(folder.path, "out"));
  const project = join(folder.path, "project");
  execFileSync("mkdir", [project]);
  writeFileSync(join(project, "package.json"), '{ "name": "partner", "private": true, "type": "module" }');
  const words = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", file];
  execFileSync("npm", words, { cwd: project });

  async function run(command: readonly string[]): Promise<Ended> {
    const child = Bun.spawn([...command], {
      cwd: project,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // A profile of whoever runs the tests is none of the package's.
      env: { ...childEnvironment({}), XDG_CONFIG_HOME: folder.path },
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code: await child.exited, stdout, stderr };
  }

  return {
    project,
    file,
    run,
    /** Runs a script in the project. @returns what it printed, as JSON @throws Error with what it complained of */
    async script(runtime: readonly string[], text: string, args: readonly string[] = []): Promise<unknown> {
      const path = join(project, `script-${Bun.hash(text)}.js`);
      writeFileSync(path, text);
      const { code, stdout, stderr } = await run([...runtime, path, ...args]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    },
    remove: folder.remove,
  };
}
