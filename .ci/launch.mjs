// Runs the project's tools on a machine that has only Node 20 and npm. Installs missing packages of the lock file, then
// runs the tool with the Bun that npm installed. Imports no package, because none may be installed yet.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Makes the files for browsers and partners. They are not in git, and only Bun can make them. */
const BUNDLER = ".ci/bundles.ts";

/** The suites of test/suites.ts. */
const SUITES = ["test", "faults", "pages", "blackbox", "signing", "serving"];

const BIOME = ["node_modules/@biomejs/biome/bin/biome", "check"];

/** The steps that Bun runs for each command, in order. The last step gets the arguments. */
const COMMANDS = {
  dev: [["--watch", "cli/main.ts", "serve", "--sandbox"]],
  watch: [["--watch", "test", "--timeout=60000"]],
  debug: [["--inspect-brk", "test", "--timeout=0"]],
  start: [["cli/main.ts", "serve", "--sandbox"]],
  tvs: [[join(PROJECT, "cli/main.ts")]],
  ...Object.fromEntries(SUITES.map((suite) => [suite, [["test/run.ts", suite]]])),
  bench: [["test/bench/main.ts"]],
  prove: [["test/prove/main.ts"]],
  bundle: [[BUNDLER]],
  package: [[".ci/package.ts"]],
  build: [[".ci/build.ts"]],
  release: [[".ci/release.ts"]],
  check: [
    ["node_modules/typescript/bin/tsc", "-p", "."],
    [...BIOME, "--error-on-warnings"],
  ],
  format: [[...BIOME, "--write"]],
};

/** A failure that is printed in one line, without a stack. */
class LaunchError extends Error {}

function readJson(...path) {
  return JSON.parse(readFileSync(join(PROJECT, ...path), "utf8"));
}

/**
 * Whether node_modules has all packages of the lock file. npm writes its own list of packages at the end of an
 * installation, so an interrupted one has none. Dates are not compared: a copy or a checkout changes them.
 */
function isInstalled() {
  if (!existsSync(join(PROJECT, "node_modules/.package-lock.json"))) return false;
  const present = readJson("node_modules/.package-lock.json").packages;
  return Object.entries(readJson("package-lock.json").packages).every(([path, wanted]) => {
    if (path === "") return true;
    const found = present[path];
    // Packages for other platforms are optional, and npm does not install them.
    return found ? found.version === wanted.version && found.integrity === wanted.integrity : wanted.optional;
  });
}

/** Returns the name of the package with Bun for this machine. */
function bunPackage() {
  const cpu = process.arch === "arm64" ? "aarch64" : process.arch;
  return `@oven/bun-${process.platform}-${cpu}${isMusl() ? "-musl" : ""}`;
}

function isMusl() {
  if (process.platform !== "linux") return false;
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** Installs all packages, also those that a setting of npm omits. npm prints only errors. */
async function install() {
  console.error("Installing dependencies, this once; it may take a minute or two…");
  const cli = process.env.npm_execpath ?? "";
  const [command, ...first] = basename(cli) === "npm-cli.js" ? [process.execPath, cli] : ["npm"];
  const flags = ["--ignore-scripts", "--include=dev", "--include=optional"];
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const stdio = ["ignore", "ignore", "inherit"];
  const child = spawn(command, [...first, "ci", ...flags, ...quiet], { cwd: PROJECT, stdio });
  const code = await new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new LaunchError(`npm cannot be started (${error.code}); install Node with npm`)),
    );
    child.once("close", resolve);
  });
  if (code !== 0) throw new LaunchError("npm ci failed; it needs the registry, see above");
}

/** Returns the path of Bun; undefined if any package is not installed. */
function findBun() {
  const path = join(PROJECT, "node_modules", bunPackage(), "bin/bun");
  return isInstalled() && existsSync(path) ? path : undefined;
}

async function installBun() {
  await install();
  const bun = findBun();
  if (!bun) throw new LaunchError(`npm has no Bun for ${process.platform} on ${process.arch}`);
  return bun;
}

/** Options for `npm run tvs`: the user's working directory (INIT_CWD of npm), and the register of `npm start`. */
function asUser() {
  const cwd = process.env.INIT_CWD ?? process.cwd();
  const data = process.env.TVS_DATA ? {} : { TVS_DATA: join(PROJECT, "data") };
  return { cwd, env: data };
}

/**
 * Runs Bun until it ends, and forwards signals, because a supervisor signals only this process. Ctrl-C is not
 * forwarded: the terminal sends it to Bun too.
 * @returns {Promise<number>} its exit code; if a signal ended Bun, this process sends itself that signal
 */
async function run(bun, args, { cwd = PROJECT, env = {} } = {}) {
  const child = spawn(bun, args, { cwd, stdio: "inherit", env: { ...process.env, ...env } });
  const forward = (signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  const [code, signal] = await once(child, "exit");
  for (const name of signals) process.off(name, forward);
  if (signal === null) return code;
  // The shell then sees that signal. The exit code is for a signal that does not end Node.
  process.kill(process.pid, signal);
  return 128 + constants.signals[signal];
}

async function main(name, args) {
  if (!Object.hasOwn(COMMANDS, name ?? "")) {
    console.error(`usage: node .ci/launch.mjs ${Object.keys(COMMANDS).join("|")} [arguments]`);
    return 2;
  }
  const bun = findBun() ?? (await installBun());
  if (name !== "bundle" && (await run(bun, [BUNDLER, "--due"])) !== 0) return 1;
  const options = { cwd: PROJECT, stdio: "inherit" };
  const watcher = name === "dev" ? spawn(bun, ["--no-orphans", BUNDLER, "--watch"], options) : undefined;
  const steps = COMMANDS[name];
  let worst = 0;
  for (const step of steps) {
    const words = step === steps.at(-1) ? [...step, ...args] : step;
    const code = await run(bun, words, name === "tvs" ? asUser() : {});
    worst ||= code;
  }
  watcher?.kill();
  return worst;
}

try {
  const [name, ...args] = process.argv.slice(2);
  process.exitCode = await main(name, args);
} catch (error) {
  console.error(error instanceof LaunchError ? `launch: ${error.message}` : error);
  process.exitCode = 1;
}
