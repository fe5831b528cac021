/** Runs a suite: `npm test`, and the other suites of test/README.md. */

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { build, hostTarget, projectFolder, readTarget } from "../.ci/build.ts";
import { suites } from "./suites.ts";

/** A test that waits on a busy machine is slow, not wrong; Bun's own limit is 5 s. */
const patiently = ["test", "--timeout=60000"];
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
async function bun(words: readonly string[]): Promise<number> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: projectFolder,
    env: process.env,
    stdio: ["inherit", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  return child.exited;
}

/** Lists the ten slowest tests of a JUnit report, with their files. */
function listSlowest(report: string): string {
  const tests = [...report.matchAll(/<testcase name="([^"]*)".*? time="([^"]*)".*? file="([^"]*)"/g)]
    .map(([, name, time, file]) => ({ name, seconds: Number(time), file }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 10)
    .map(({ name, seconds, file }) => `  ${seconds.toFixed(1)} s ${file}: ${name}`);
  return ["The slowest tests:", ...tests].join("\n");
}

/** Runs a suite, or the test files that are named. Those run with the source, so that nothing has to be compiled. */
async function main(name: string, words: readonly string[]): Promise<number> {
  const isNamed = words.some((word) => /\/|\.ts$/.test(word) && !word.startsWith("-"));
  if (isNamed) return bun([...patiently, "--only-failures", ...words]);
  const suite = suites[name];
  if (suite === undefined) throw new Error(`test/suites.ts: there is no suite ${name}`);
  process.env.TVS_COMMAND ??= await builtProgram();
  // The slowest files of the last run begin first, so that none of them is left for the end.
  const timings = [`--timings=.cache/test/${name}.json`, "--update-timings"];
  const how = suite.oneByOne ? [] : [...byTwo, ...timings];
  const paths = suite.files.map((file) => `./test/${file}.test.ts`);
  const given = words.find((word) => word.startsWith("--reporter-outfile="))?.split("=")[1];
  const report = resolve(projectFolder, given ?? `.cache/test/${name}.xml`);
  rmSync(report, { force: true });
  mkdirSync(dirname(report), { recursive: true });
  const reporter = ["--reporter=junit", `--reporter-outfile=${report}`];
  const code = await bun([...patiently, "--dots", ...how, ...paths, ...words, ...reporter]);
  if (existsSync(report)) console.error(listSlowest(readFileSync(report, "utf8")));
  return code;
}

const [name = "", ...words] = process.argv.slice(2);
process.exitCode = await main(name, words);
