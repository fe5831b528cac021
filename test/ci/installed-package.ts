/** The package as a partner has it: installed from its file into an empty project. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePackage } from "../../.ci/package.ts";
import { makeFolder } from "../harness/folder.ts";
import { childEnvironment, runToEnd } from "../harness/program.ts";

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
  const folder = makeFolder();
  const file = await makePackage(join(folder.path, "out"));
  const project = join(folder.path, "project");
  execFileSync("mkdir", [project]);
  writeFileSync(join(project, "package.json"), '{ "name": "partner", "private": true, "type": "module" }');
  const words = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", file];
  execFileSync("npm", words, { cwd: project });

  // The package's command must not read a profile of the user who runs the tests.
  const env = { ...childEnvironment({}), XDG_CONFIG_HOME: folder.path };
  const run = async (command: readonly string[]) => ({ ...(await runToEnd(command, { env, cwd: project })) });

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
