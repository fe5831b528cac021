/**
 * Runs a suite: `npm test`, and the other suites of test/README.md. A whole suite prints its progress, because
 * nothing else is printed while all goes well and minutes of silence look like a hang; at the end it names the slowest.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, hostTarget, projectFolder, readTarget } from "../.ci/build.ts";
import { type Suite, suites } from "./suites.ts";

const progressMs = 5_000;
/** Of so many tests, the latest that ended, the files are named; and so many are named at the end, the slowest. */
const latestTests = 20;
const slowestTests = 10;

/** A test that waits on a busy machine is slow, not wrong; Bun's own limit is 5 s. */
const quietly = ["test", "--only-failures", "--timeout=60000", "--preload=./test/harness/progress.ts"];
/** Two processes: most tests wait for a command that they have started, and one core would mostly be idle. */
const byTwo = ["--parallel=2", "--no-isolate"];

/**
 * The executable, made of the source as it is: a command of it takes a third of what one from the source takes, which
 * is read and translated each time.
 */
async function builtProgram(): Promise<string> {
  const file = join(projectFolder, ".cache/test/tvs");
  await build(readTarget(hostTarget()), file);
  return JSON.stringify([file]);
}

/** Runs Bun until it ends, its code 128 and more after a signal, and hands on the signals that a supervisor sends to this process alone. */
async function bun(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: projectFolder,
    env: { ...process.env, ...env },
    stdio: ["inherit", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  return child.exited;
}

async function runAloud(
  suite: string,
  { files, oneByOne = false }: Suite,
  words: readonly string[],
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "tvs-tests-"));
  const done = join(folder, "done");
  const told = words.find((word) => word.startsWith("--reporter-outfile="))?.split("=")[1];
  const report = told ?? join(folder, "report.xml");
  const reporter = told === undefined ? ["--reporter=junit", `--reporter-outfile=${report}`] : [];
  // What took longest last time begins first, so that no long file is left when all others are done.
  const timings = [`--timings=.cache/test/${suite}.json`, "--update-timings"];
  const paths = files.map((file) => `./test/${file}.test.ts`);
  writeFileSync(done, "");
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    console.error(
      `${seconds} s: ${howFar(readFileSync(done, "utf8").split("\n").slice(0, -1), files.length)}`,
    );
  }, progressMs);
  try {
    const how = oneByOne ? [] : [...byTwo, ...timings];
    const code = await bun([...quietly, ...how, ...paths, ...reporter, ...words], { TVS_TESTS_DONE: done });
    if (existsSync(report)) console.error(slowest(readFileSync(report, "utf8")));
    return code;
  } finally {
    clearInterval(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param done the file of each test that is done, in that order */
function howFar(done: readonly string[], files: number): string {
  const latest = [...new Set(done.slice(-latestTests).reverse())].slice(0, 2);
  const names = latest.map((path) => path.split("/test/").at(-1));
  return [`${done.length} tests done, ${new Set(done).size} of ${files} files begun`, ...names].join("; ");
}

/** The tests that took longest, by their files: where the next seconds are to be had. */
function slowest(report: string): string {
  const tests = [...report.matchAll(/<testcase name="([^"]*)".*? time="([^"]*)".*? file="([^"]*)"/g)]
    .map(([, name, time, file]) => ({ name, seconds: Number(time), file }))
    .filter(({ seconds }) => seconds >= 0.1)
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, slowestTests)
    .map(({ name, seconds, file }) => `  ${seconds.toFixed(1)} s ${file}: ${name}`);
  return ["the slowest tests:", ...tests].join("\n");
}

/** Files that somebody names are run at once, from the source, which is what was just changed. */
async function main(name: string, words: readonly string[]): Promise<number> {
  const isNamed = words.some((word) => /\/|\.ts$/.test(word) && !word.startsWith("-"));
  if (isNamed) return bun([...quietly, ...words]);
  const suite = suites[name];
  if (suite === undefined) throw new Error(`test/suites.ts: there is no suite ${name}`);
  process.env.TVS_COMMAND ??= await builtProgram();
  return runAloud(name, suite, words);
}

const [name = "", ...words] = process.argv.slice(2);
process.exitCode = await main(name, words);
