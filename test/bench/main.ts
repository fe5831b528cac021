/**
 * `npm run bench`: measures how fast the service is on this machine, and compares it with the machine's limit, with a
 * rival, and with another build in the same rounds. It uses only the loopback interface and temporary folders. It builds
 * and measures the executable; TVS_COMMAND names another program.
 */
import { accessSync, constants } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeFolder, withTempDir } from "../harness/folder.ts";
import { programWords } from "../harness/program.ts";
import { withCleanup } from "./cleanup.ts";
import { createFigures } from "./figures.ts";
import { measureImports } from "./imports.ts";
import { describeMachine } from "./machine.ts";
import { type BenchmarkRun, measureBatches, measureChecks, measureLookups } from "./questions.ts";
import { type Program, startRegister } from "./register.ts";

const questions = {
  checks: measureChecks,
  batches: measureBatches,
  lookups: measureLookups,
  import: measureImports,
};
const names = Object.keys(questions) as (keyof typeof questions)[];
const usage =
  "usage: npm run bench -- [--quick] [--rounds N] [--signers N] [--against EXECUTABLE]\n" +
  `                        [--only ${names.join("|")}]`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string" },
      signers: { type: "string" },
      against: { type: "string" },
    },
  });
  const { quick: isQuick, only, signers, against } = values;
  const rounds = Number(values.rounds ?? (isQuick ? 2 : 5));
  const isKnown = only.every((name) => (names as string[]).includes(name));
  if (!isKnown || !Number.isSafeInteger(rounds) || rounds < 1) return null;
  const chosen = only.length === 0 ? names : names.filter((name) => only.includes(name));
  const programs: Program[] = [
    { words: programWords, isEarlier: false, options: signers === undefined ? [] : ["--signers", signers] },
  ];
  if (against !== undefined) {
    accessSync(resolve(against), constants.X_OK);
    programs.push({ words: [resolve(against)], isEarlier: true, options: [] });
  }
  return { chosen, rounds, isQuick, programs };
}

/** Builds the executable into a temporary folder, and runs this benchmark again to measure it. @returns the exit code */
function withExecutable(): Promise<number> {
  return withTempDir(async (folder) => {
    const file = join(folder, "tvs");
    const build = fileURLToPath(new URL("../../.ci/build.ts", import.meta.url));
    const built = Bun.spawn([process.execPath, build, "--outfile", file], { stdout: "ignore" });
    if ((await built.exited) !== 0) return 1;
    const env = { ...process.env, TVS_COMMAND: JSON.stringify([file]) };
    return Bun.spawn(process.argv, { env, stdio: ["ignore", "inherit", "inherit"] }).exited;
  });
}

/** Measures the answers to the chosen questions, one question after the other, and prints the tables. */
async function measure({ chosen, rounds, isQuick, programs }: NonNullable<ReturnType<typeof readOptions>>) {
  const figures = createFigures();
  const machine = describeMachine();
  const startMs = performance.now();
  let failures = 0;
  const seconds = (sinceMs: number) => ((performance.now() - sinceMs) / 1000).toFixed(0);
  await withCleanup(async (cleanup) => {
    const teachers = isQuick ? 20_000 : 200_000;
    const folder = makeFolder();
    cleanup(folder.remove);
    const start = (program: Program) => startRegister(program, { folder: folder.path, teachers, cleanup });
    const served: BenchmarkRun["served"] = [];
    if (chosen.some((name) => name !== "import"))
      for (const program of programs) served.push(await start(program));
    for (const name of chosen) {
      const questionMs = performance.now();
      process.stderr.write(`${name} …`);
      try {
        await questions[name]({ figures, programs, served, rounds, isQuick });
      } catch (error) {
        failures++;
        process.stderr.write(` failed: ${error}`);
      }
      process.stderr.write(` ${seconds(questionMs)} s\n`);
    }
  });
  const after = /[\d.]+$/.exec(describeMachine())?.[0];
  console.log(`${rounds} interleaved rounds, ${seconds(startMs)} s. ${machine} before and ${after} after.`);
  console.log(`\n${figures.text()}`);
  return failures === 0 ? 0 : 1;
}

const options = readOptions();
if (options === null) console.error(usage);
const isBuilt = process.env.TVS_COMMAND !== undefined;
process.exitCode = options === null ? 2 : isBuilt ? await measure(options) : await withExecutable();
