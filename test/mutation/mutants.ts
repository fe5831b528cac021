/** Makes the mutants of a file with Stryker. A mutant is the file with one small change, which a test must notice. */

import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

/** A mutant with the result of its tests. `name` is the change without the number of its line. */
export type Mutant = { readonly name: string; readonly outcome: "killed" | "looped" | "survived" };

type Place = { readonly line: number; readonly column: number };

/** The members that are used of a mutant in Stryker's report. */
type Reported = {
  readonly replacement: string;
  readonly status: string;
  readonly location: { readonly start: Place; readonly end: Place };
};

const root = resolve(import.meta.dirname, "../..");
const cache = join(root, ".cache");

/** The time limit, after which a mutant is an endless loop: five times as long as without a change, plus 4 s. */
const patience = { timeoutMS: 4000, timeoutFactor: 5 };

/** The outcomes, by their names in Stryker. */
const outcomes: Readonly<Record<string, Mutant["outcome"]>> = {
  Killed: "killed",
  Timeout: "looped",
  Survived: "survived",
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
 * Makes an environment without TVS_ variables, which would lengthen randomised tests.
 * @param folder gets the temporary files of tests that are killed
 */
function plainEnvironment(folder: string): NodeJS.ProcessEnv {
  const plain = Object.entries(process.env).filter(([name]) => !name.startsWith("TVS_"));
  return { ...Object.fromEntries(plain), TMPDIR: folder };
}

/**
 * Runs Stryker in a process group of its own, and kills the whole group at the end: tests that stop at their first
 * failure leave their servers running. @returns its exit code
 */
async function runStryker(settings: string, folder: string): Promise<number> {
  // Stryker needs Node: Bun loads one of its packages differently.
  const words = ["node_modules/@stryker-mutator/core/bin/stryker.js", "run", settings];
  const options: SpawnOptions = { cwd: root, env: plainEnvironment(folder), stdio: ["ignore", 2, 2] };
  const child = spawn("node", words, { ...options, detached: true });
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
 * Runs the tests of a file once for each mutant, in a copy of the project. @param file its path from the root
 * @throws Error if the tests fail without a change, or Stryker fails
 */
export async function mutantsOf(file: string, tests: readonly string[]): Promise<Mutant[]> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "mutation-"));
  try {
    const settings = join(folder, "stryker.json");
    writeFileSync(settings, JSON.stringify(settingsOf(file, tests, folder)));
    const code = await runStryker(settings, folder);
    if (code !== 0) throw new Error(`Stryker failed over ${file}; do its tests pass?`);
    const report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
    return named(report.files[file].mutants, readFileSync(join(root, file), "utf8").split("\n"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function named(mutants: readonly Reported[], lines: readonly string[]): Mutant[] {
  const changes = mutants.map(
    ({ location, replacement }) => `${onOneLine(textAt(lines, location))} → ${onOneLine(replacement)}`,
  );
  return mutants.map(({ location, status }, index) => {
    const change = changes[index] ?? "";
    const isOnly = changes.filter((other) => other === change).length === 1;
    const line = onOneLine(lines[location.start.line - 1] ?? "");
    const outcome = outcomes[status];
    if (outcome === undefined) throw new Error(`${status}: ${change}`);
    return { name: isOnly ? change : `${change} @ ${line}`, outcome };
  });
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
