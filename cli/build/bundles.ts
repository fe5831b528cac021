/**
 * Makes what the service hands out as files of its own: the scripts of the envelope page and the module for partners,
 * which Deno and the executable have no bundler for. The launcher runs it when a source is newer than they are; with
 * folders behind it, as `npm run dev` runs it, it goes on to watch them.
 */

import { existsSync, readFileSync, utimesSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder, runScript } from "./build.ts";
import { declarationsFile, moduleFile, partnerDeclarations, partnerModule } from "./partner-module.ts";

/** An editor saves a file in several steps. */
const settleMs = 100;

const scriptFolder = join(projectFolder, "src/site/verify-envelope");

/** A script of the envelope page, as browsers get it. @throws AggregateError what Bun's bundler says */
async function pageScript(name: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(scriptFolder, `${name}.ts`)],
    target: "browser",
    format: "esm",
    minify: true,
    env: "disable",
  });
  const [output] = outputs;
  if (output === undefined) throw new Error(`nothing was bundled for ${name}.ts`);
  return output.text();
}

/** How each bundle is made, by its file. */
export const bundles: Readonly<Record<string, () => Promise<string>>> = {
  [join(scriptFolder, "app.bundle.js")]: () => pageScript("app"),
  [join(scriptFolder, "scanner.bundle.js")]: () => pageScript("scanner"),
  [moduleFile]: partnerModule,
  [declarationsFile]: partnerDeclarations,
};

/**
 * Writes in place, because `bun --watch` loses sight of a file that another one is renamed over, and writes only what is
 * new, because it starts anew for every write. That a bundle was looked at, its date tells the launcher.
 */
async function writeBundles(): Promise<void> {
  const now = new Date();
  for (const [file, make] of Object.entries(bundles)) {
    const text = await make();
    if (existsSync(file) && readFileSync(file, "utf8") === text) utimesSync(file, now, now);
    else writeFileSync(file, text);
  }
}

/** Makes the bundles again whenever a source of theirs is saved; one that does not compile is told, and awaited. */
function watchSources(folders: readonly string[]): void {
  let isDue = false;
  const onChange = (_: string, name: string | null) => {
    if (isDue || !/\.ts$/.test(name ?? "")) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      writeBundles().catch((error) => console.error(error));
    }, settleMs);
  };
  for (const folder of folders) watch(join(projectFolder, folder), onChange);
}

async function main(): Promise<void> {
  await writeBundles();
  watchSources(process.argv.slice(2));
}

if (import.meta.main) await runScript("bundle", main);
