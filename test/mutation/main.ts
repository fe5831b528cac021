/**
 * `bun test/mutation/main.ts [WORD…]`: mutates the files of `files.ts`, or those whose path contains a word, and prints
 * their scores. Fails if survivors.txt does not name a survivor, or if a score is below 90 %. Stryker makes the mutants: a
 * mutant is the file with one small change, which a test must notice.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import Table from "cli-table3";
import { mutatedFiles } from "./files.ts";
import { namedSurvivors } from "./survivors.ts";

const least = 90;
const root = resolve(import.meta.dirname, "../..");
const cache = join(root, ".cache");

/** The time limit, after which a mutant is an endless loop: five times as long as without a change, plus 4 s. */
const patience = { timeoutMS: 4000, timeoutFactor: 5 };

type Place = { readonly line: number; readonly column: number };

/** The members that are used of a mutant in Stryker's report. */
type Reported = {
  readonly replacement: string;
  readonly status: string;
  readonly location: { readonly start: Place; readonly end: Place };
};

function settingsOf(file: string, tests: readonly string[], folder: string) {
  return {
    mutate: [file],
    testRunner: "command",
    commandRunner: { command: `"${process.execPath}" test --bail --timeout=60000 ${tests.join(" ")}` },
    coverageAnalysis: "off",
    concurrency: 2,
    ...patience,
    tempDirName: relative(root, join(folder, "sandbox")),
    ignorePatterns: ["/.cache", "/dist", "/data/*.db*"],
    reporters: ["json"],
    jsonReporter: { fileName: relative(root, join(folder, "report.json")) },
    // Stryker must not prepare the sources for the compiler: Bun compiles them itself.
    tsconfigFile: "none.json",
    disableTypeChecks: false,
    plugins: [],
    logLevel: "warn",
  };
}

/**
 * Runs Stryker in a process group of its own, and kills the whole group at the end: tests that stop at their first
 * failure leave their servers running. @param folder gets the temporary files of tests that are killed
 * @returns its exit code
 */
async function runStryker(settings: string, folder: string): Promise<number> {
  // TVS_ variables would lengthen randomised tests.
  const plain = Object.entries(process.env).filter(([name]) => !name.startsWith("TVS_"));
  const env = { ...Object.fromEntries(plain), TMPDIR: folder } as NodeJS.ProcessEnv;
  // Stryker needs Node: Bun loads one of its packages differently.
  const words = ["node_modules/@stryker-mutator/core/bin/stryker.js", "run", settings];
  const child = spawn("node", words, { cwd: root, env, stdio: ["ignore", 2, 2], detached: true });
  const endGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The group has no process left.
    }
  };
  const interrupt = () => process.exit(130);
  process.on("exit", endGroup);
  process.on("SIGINT", interrupt);
  const [code] = await once(child, "exit");
  endGroup();
  process.off("exit", endGroup);
  process.off("SIGINT", interrupt);
  return code;
}

/**
 * Runs the tests of a file once for each mutant, in a copy of the project.
 * @returns the status of each mutant, and its name: the change without the number of its line
 * @throws Error if the tests fail without a change, or Stryker fails
 */
async function mutantsOf(
  file: string,
  tests: readonly string[],
): Promise<{ name: string; status: string }[]> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "mutation-"));
  try {
    const settings = join(folder, "stryker.json");
    writeFileSync(settings, JSON.stringify(settingsOf(file, tests, folder)));
    const code = await runStryker(settings, folder);
    if (code !== 0) throw new Error(`Stryker failed over ${file}; do its tests pass?`);
    const mutants: Reported[] = JSON.parse(readFileSync(join(folder, "report.json"), "utf8")).files[file]
      .mutants;
    const lines = readFileSync(join(root, file), "utf8").split("\n");
    const changes = mutants.map(
      ({ location, replacement }) => `${onOneLine(textAt(lines, location))} → ${onOneLine(replacement)}`,
    );
    return mutants.map(({ location, status }, index) => {
      const change = changes[index] ?? "";
      const isOnly = changes.filter((other) => other === change).length === 1;
      const line = onOneLine(lines[location.start.line - 1] ?? "");
      return { name: isOnly ? change : `${change} @ ${line}`, status };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function textAt(lines: readonly string[], { start, end }: Reported["location"]): string {
  const text = lines.slice(start.line - 1, end.line);
  text.push((text.pop() ?? "").slice(0, end.column - 1));
  return [(text[0] ?? "").slice(start.column - 1), ...text.slice(1)].join("\n");
}

function onOneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= 80 ? line : `${line.slice(0, 80)}…`;
}

/** Mutates a file, and prints the mutants that need a look. @returns a row of the table, and whether the score is good */
async function scoreOf(file: string, tests: readonly string[]) {
  const began = performance.now();
  const mutants = await mutantsOf(file, tests);
  const names = namedSurvivors.get(file) ?? [];
  // A named survivor that ran into the time limit did not loop: the machine was busy.
  const looped = mutants.filter(({ name, status }) => status === "Timeout" && !names.includes(name));
  const survived = mutants
    .filter((one) => one.status !== "Killed" && !looped.includes(one))
    .map(({ name }) => name);
  const unnamed = survived.filter((name) => !names.includes(name));
  const stale = names.filter((name) => !survived.includes(name));
  console.error(`${file}: ${Math.round((performance.now() - began) / 1000)} s`);
  for (const one of unnamed) console.error(`  ${one}`);
  for (const one of stale) console.error(`  named, but survives no more: ${one}`);
  const killed = mutants.length - survived.length;
  const percent = (100 * killed) / mutants.length;
  const counts = [mutants.length, killed, looped.length, survived.length - unnamed.length, unnamed.length];
  const isGood = unnamed.length + stale.length === 0 && percent >= least;
  return { row: [file, ...counts, `${percent.toFixed(1)} %`], isGood };
}

const words = process.argv.slice(2);
const head = ["file", "mutants", "killed", "by a loop", "named", "survived", "score"];
const table = new Table({ head, style: { head: [], border: [] } });
process.exitCode = 1;
let isGood = true;
for (const [file, tests] of mutatedFiles) {
  if (words.length > 0 && !words.some((word) => file.includes(word))) continue;
  const score = await scoreOf(file, tests);
  isGood &&= score.isGood;
  table.push(score.row);
}
console.log(table.toString());
if (isGood && table.length > 0) process.exitCode = 0;
