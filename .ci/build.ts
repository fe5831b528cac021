/**
 * Compiles an executable: the program, its assets and libSQL's native addon in one file (decision D1.1). `npm run build`
 * makes the one for this machine, or for `--target`. This folder runs at build time only, so it may use Bun's APIs.
 */

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { BunPlugin } from "bun";

export const projectFolder = resolve(import.meta.dirname, "..");

/** A platform: Bun's name for it, and the paths of its installed parts. */
type Target = {
  readonly name: Bun.Build.CompileTarget;
  /** Path of libSQL's native addon. */
  readonly addon: string;
  /** Path of the target's Bun; undefined if npm has not installed it. */
  readonly runtime: string | undefined;
};

/** A failure that is printed in one line. */
export class BuildError extends Error {}

/** Returns this machine's platform as Bun names it, such as `bun-linux-x64`. */
export function hostTarget(): string {
  const musl = process.platform === "linux" && existsSync("/etc/alpine-release");
  return `bun-${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
}

/** The npm packages that a target needs. The lock file has their versions. */
type TargetPackages = {
  readonly addon: string;
  readonly runtime: string;
};

/**
 * Names the packages of a target. @param name such as `bun-linux-arm64-musl`
 * @throws {BuildError} if libSQL has no addon for the platform
 */
export function targetPackages(name: string): TargetPackages {
  const match = /^bun-(linux|darwin)-(x64|arm64)(-musl)?$/.exec(name);
  if (!match || (match[1] === "darwin" && match[3])) {
    const known = "bun-linux-x64, bun-linux-arm64 (each also -musl), bun-darwin-x64 or bun-darwin-arm64";
    throw new BuildError(`unknown target ${name}; use ${known}`);
  }
  const [, os, cpu, musl = ""] = match;
  const abi = os === "darwin" ? "" : musl || "-gnu";
  return {
    addon: `@libsql/${os}-${cpu}${abi}`,
    runtime: `@oven/bun-${os}-${cpu === "arm64" ? "aarch64" : cpu}${musl}`,
  };
}

/**
 * Finds the installed parts of a target. @param modules the folder with its packages
 * @throws {BuildError} if its addon is not installed
 */
export function readTarget(name: string, modules = join(projectFolder, "node_modules")): Target {
  const packages = targetPackages(name);
  const addon = join(modules, packages.addon, "index.node");
  if (!existsSync(addon)) {
    throw new BuildError(
      `${name} needs ${packages.addon}, which npm left out on this machine; \`npm run release\` gets what it needs`,
    );
  }
  const runtime = join(modules, packages.runtime, `bin/bun`);
  return {
    name: name as Bun.Build.CompileTarget,
    addon,
    runtime: existsSync(runtime) ? runtime : undefined,
  };
}

/**
 * Makes a plugin that embeds libSQL's addon. libSQL computes the addon's path at run time, which a bundler cannot
 * follow. The plugin replaces that code by one fixed path.
 */
function libsqlNative(addon: string): BunPlugin {
  const choice = /const \{ load, currentTarget \}[\s\S]*?function requireNative\(\) \{[\s\S]*?\n\}/;
  return {
    name: "libsql-native",
    setup(build) {
      build.onLoad({ filter: /[\\/]node_modules[\\/]libsql[\\/]index\.js$/ }, async ({ path }) => {
        const source = await Bun.file(path).text();
        if (!choice.test(source))
          throw new BuildError("libsql/index.js has changed: .ci/build.ts must learn how it loads its addon");
        const fixed = `function requireNative() { return require(${JSON.stringify(addon)}); }`;
        return { contents: source.replace(choice, () => fixed), loader: "js" };
      });
    },
  };
}

/**
 * Compiles an executable in a new folder and renames it over the old file. A running service thus keeps the file from
 * which it was started. @param further more plugins of the bundler
 */
export async function build(
  target: Target,
  outfile: string,
  further: readonly BunPlugin[] = [],
): Promise<void> {
  await mkdir(dirname(outfile), { recursive: true });
  // The file's name is compiled into the executable, so the new file already has its final name.
  const folder = await mkdtemp(join(dirname(outfile), ".build-"));
  const fresh = join(folder, basename(outfile));
  try {
    await Bun.build({
      entrypoints: [join(projectFolder, "cli/main.ts")],
      target: "bun",
      format: "esm",
      minify: { whitespace: true, syntax: true, identifiers: true, keepNames: true },
      bytecode: true,
      // Otherwise the executable would contain the environment of the build, and obey `.env` and `bunfig.toml` where it
      // runs.
      env: "disable",
      compile: {
        outfile: fresh,
        target: target.name,
        autoloadDotenv: false,
        autoloadBunfig: false,
        ...(target.runtime ? { executablePath: target.runtime } : {}),
      },
      plugins: [libsqlNative(target.addon), ...further],
    });
    await rename(fresh, outfile);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readOptions(): { outfile: string; target: string } {
  const options = {
    outfile: { type: "string", default: join(projectFolder, "dist/tvs") },
    target: { type: "string", default: hostTarget() },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new BuildError(error instanceof Error ? error.message : String(error));
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  const target = readTarget(options.target);
  const outfile = resolve(options.outfile);
  const startedMs = performance.now();
  await build(target, outfile);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const megabytes = ((await stat(outfile)).size / 1e6).toFixed(1);
  console.log(`${outfile}: ${megabytes} MB for ${target.name}, built in ${seconds} s`);
}

/** Runs a script of this folder, and prints its failure in one line. */
export async function runScript(name: string, main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    // Bun.build throws an AggregateError: `errors` has each cause with its position in the source.
    const causes = error instanceof AggregateError ? error.errors : [error];
    for (const cause of causes)
      console.error(cause instanceof BuildError ? `${name}: ${cause.message}` : cause);
    process.exitCode = 1;
  }
}

if (import.meta.main) await runScript("build", main);
