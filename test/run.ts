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
/** The number of latest tests whose files the progress names, and of slowest tests that are listed at the end. */
const latestTests = 20;
const slowestTests = 10;

/** A test that waits on a busy machine is slow, not wrong; Bun's own limit is 5 s. */
const quietly = ["test", "--only-failures", "--timeout=60000", "--preload=./test/harness/progress.ts"];
/** Two processes: most tests wait for a command that they have started, and one core would mostly be idle. */
const byTwo = ["--parallel=2", "--no-isolate"];

/**
 * Compiles the executable from the present source. Its commands take a third of the time of the source's commands,
 * which are compiled each time.
 */
async function builtProgram(): Promise<string> {
  const file = join(projectFolder, ".cache/test/tvs");
  await build(readTarget(hostTarget()), file);
  return JSON.stringify([file]);
}

/** Runs Bun until it ends, and forwards the signals that a supervisor sends to this process. @returns the exit code */
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
  // The slowest files of the last run begin first, so that none of them is left for the end.
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

/** Describes the progress. @param done the file of each finished test, in order */
function howFar(done: readonly string[], files: number): string {
  const latest = [...new Set(done.slice(-latestTests).reverse())].slice(0, 2);
  const names = latest.map((path) => path.split("/test/").at(-1));
  return [`${done.length} tests done, ${new Set(done).size} of ${files} files begun`, ...names].join("; ");
}

/** Lists the slowest tests of a report, with their files. */
function slowest(report: string): string {
  const tests = [...report.matchAll(/<testcase name="([^"]*)".*? time="([^"]*)".*? file="([^"]*)"/g)]
    .map(([, name, time, file]) => ({ name, seconds: Number(time), file }))
    .filter(({ seconds }) => seconds >= 0.1)
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, slowestTests)
    .map(({ name, seconds, file }) => `  ${seconds.toFixed(1)} s ${file}: ${name}`);
  return ["the slowest tests:", ...tests].join("\n");
}

/** Runs a suite, or the test files that are named. Those run with the source, so that nothing has to be compiled. */
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
