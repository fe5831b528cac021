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
  /** The native addon's file. */
  readonly addon: string;
  /** Path of the target's own Bun; absent when npm installed only this machine's. */
  readonly runtime: string | undefined;
};

/** A failure that is printed in one line. */
export class BuildError extends Error {}

/** This machine's platform in Bun's spelling. */
export function hostTarget(): string {
  const musl = process.platform === "linux" && existsSync("/etc/alpine-release");
  return `bun-${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
}

/** The packages that a target needs, whose versions the lock file fixes. */
type TargetPackages = {
  readonly addon: string;
  readonly runtime: string;
};

/**
 * @param name such as `bun-linux-arm64-musl`
 * @throws {BuildError} for a platform without an addon of libSQL
 */
export function packagesOf(name: string): TargetPackages {
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
 * @param name such as `bun-linux-arm64-musl`
 * @param modules the folder in which the target's packages lie
 * @throws {BuildError} when its addon is not there
 */
export function readTarget(name: string, modules = join(projectFolder, "node_modules")): Target {
  const packages = packagesOf(name);
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
 * libSQL picks its addon by a name made up at run time, which a bundler cannot follow and which would read
 * node_modules. A fixed name makes Bun embed that one file.
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
 * Builds beside the old file and renames over it, so that a running service keeps the file it was started from.
 * @param further plugins, which may change what is built
 */
export async function build(
  target: Target,
  outfile: string,
  further: readonly BunPlugin[] = [],
): Promise<void> {
  await mkdir(dirname(outfile), { recursive: true });
  // The file's name is compiled into it, so the new one gets its own name in a folder of its own.
  const folder = await mkdtemp(join(dirname(outfile), ".build-"));
  const fresh = join(folder, basename(outfile));
  try {
    await Bun.build({
      entrypoints: [join(projectFolder, "cli/main.ts")],
      target: "bun",
      format: "esm",
      minify: { whitespace: true, syntax: true, identifiers: true, keepNames: true },
      bytecode: true,
      // Without these the binary would inline the builder's variables, and obey the folder it is started in.
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
    // A failed bundle carries each cause, with its place in the source, in `errors`.
    const causes = error instanceof AggregateError ? error.errors : [error];
    for (const cause of causes)
      console.error(cause instanceof BuildError ? `${name}: ${cause.message}` : cause);
    process.exitCode = 1;
  }
}

if (import.meta.main) await runScript("build", main);
