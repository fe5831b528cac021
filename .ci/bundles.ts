/**
 * Bundles the files that the service hands out: the script of the envelope page, the module and the package for partners.
 * Deno and the executable have no bundler. The launcher runs this script first, with `--due`: then it bundles only if a
 * source is newer than a bundle. With `--watch`, as in `npm run dev`, it bundles after each change.
 */

import { existsSync, readdirSync, readFileSync, statSync, utimesSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import scalarPlugin from "@scalar/fastify-api-reference";
import fastify from "fastify";
import { projectFolder, runScript } from "./build.ts";
import { noticesFile, noticesText } from "./notices.ts";
import { packageFile, packageText } from "./package.ts";
import { declarationsFile, moduleFile, partnerDeclarations, partnerModule } from "./partner-module.ts";
import { apiTypes, openApiJson, typesFile } from "./schema-types.ts";

/** How long to wait after a change: an editor saves a file in several steps. */
const settleMs = 100;

const exampleFolder = join(projectFolder, "data/examples");

/** The folders that `--watch` watches. The sources of the command `tvs-verify` are in too many folders to watch. */
export const watchedFolders = [
  ...["data/texts/en", "src/partner", "src/site/texts", "src/site/verify-envelope", "data/examples"],
  ...["curl", "java", "javascript", "php", "python"].map((language) => `data/examples/${language}`),
];

const scriptFolder = join(projectFolder, "src/site/verify-envelope");

/** Bundles the script of the envelope page for browsers. @throws AggregateError with the messages of the bundler */
async function pageScript(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(scriptFolder, "app.ts")],
    target: "browser",
    format: "esm",
    minify: true,
    env: "disable",
  });
  const [output] = outputs;
  if (output === undefined) throw new Error("nothing was bundled for app.ts");
  return output.text();
}

/**
 * Returns Scalar's script for browsers, with its licence. It comes from the plugin for Fastify, because
 * `@scalar/api-reference` itself installs 280 packages with 310 MB.
 */
async function scalarScript(): Promise<string> {
  const app = fastify();
  await app.register(scalarPlugin, { configuration: { url: "openapi.json" } });
  const { body } = await app.inject("/reference/js/scalar.js");
  const read = (file: string) =>
    readFileSync(join(projectFolder, "node_modules/@scalar/fastify-api-reference", file), "utf8");
  const { version } = JSON.parse(read("package.json"));
  return `/*! Scalar API Reference ${version}\n\n${read("LICENSE")}*/\n${body}`;
}

/** Makes the examples of the getting-started page: each language with its files, by lower-case name without ending. */
function examples(): string {
  const languages: { id: string }[] = JSON.parse(readFileSync(join(exampleFolder, "languages.json"), "utf8"));
  const filesOf = (folder: string) =>
    readdirSync(folder).map((file) => {
      const kind = file.split(".")[0]?.toLowerCase();
      return [kind, { file, source: readFileSync(join(folder, file), "utf8") }];
    });
  return JSON.stringify(
    languages.map((one) => ({ ...one, ...Object.fromEntries(filesOf(join(exampleFolder, one.id))) })),
  );
}

/** The functions that make the bundles, by file. The types come first, because other bundles import them. */
export const bundles: Readonly<Record<string, () => Promise<string>>> = {
  [typesFile]: async () => apiTypes(),
  [join(scriptFolder, "app.bundle.js")]: pageScript,
  [join(projectFolder, "src/site/scalar.bundle.js")]: scalarScript,
  [join(projectFolder, "src/api/openapi.bundle.json")]: async () => openApiJson(),
  [join(projectFolder, "src/site/examples.bundle.json")]: async () => examples(),
  [noticesFile]: async () => noticesText(),
  [moduleFile]: partnerModule,
  [declarationsFile]: partnerDeclarations,
  // Last, because the package contains the two files above.
  [packageFile]: packageText,
};

/**
 * Writes the bundles in place, because `bun --watch` does not notice a rename. An unchanged bundle only gets a new
 * date, because `bun --watch` restarts after every write.
 */
async function writeBundles(): Promise<void> {
  const now = new Date();
  for (const [file, make] of Object.entries(bundles)) {
    const text = await make();
    if (existsSync(file) && readFileSync(file, "utf8") === text) utimesSync(file, now, now);
    else writeFileSync(file, text);
  }
}

/** Whether a bundle is missing, or older than one of its sources or than the scripts that make it. */
function isDue(): boolean {
  const made = Object.keys(bundles);
  if (!made.every((file) => existsSync(file))) return true;
  const sources = ["src", "cli", ".ci", "data/texts/en"].flatMap((folder) =>
    readdirSync(join(projectFolder, folder), { recursive: true, encoding: "utf8" }).map((file) =>
      join(projectFolder, folder, file),
    ),
  );
  const date = (path: string) => statSync(path).mtimeMs;
  const others = ["package.json", "data/default-policy.json", "data/openapi.yaml", "data/notices/bun.md"].map(
    (file) => join(projectFolder, file),
  );
  const newest = [...sources, ...others].filter((path) => !made.includes(path));
  return Math.min(...made.map(date)) < Math.max(...newest.map(date));
}

/** Makes the bundles after each change of a source, and prints the errors. */
function watchSources(): void {
  let isSettling = false;
  const onChange = (_: string, name: string | null) => {
    if (isSettling || !/\.(?:ts|json|sh|mjs|py|php|java)$/.test(name ?? "")) return;
    isSettling = true;
    setTimeout(() => {
      isSettling = false;
      writeBundles().catch((error) => console.error(error));
    }, settleMs);
  };
  for (const folder of watchedFolders) watch(join(projectFolder, folder), onChange);
}

async function main(): Promise<void> {
  const [how] = process.argv.slice(2);
  if (how !== "--due" || isDue()) await writeBundles();
  if (how === "--watch") watchSources();
}

if (import.meta.main) await runScript("bundle", main);
