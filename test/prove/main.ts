/**
 * `npm run prove`: runs the long forms of all trials, and writes the page that tells what came of them. `--quick` runs
 * those that draw from a seed for less than two minutes and writes nothing; `--only NAME` runs one, `--seed N` from
 * another seed. Other options are handed to `bun test`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, hostTarget, projectFolder, readTarget } from "../../.ci/build.ts";
import { describeMachine } from "../bench/machine.ts";
import { files as mutatedFiles } from "../mutation/files.ts";
import { outcomeOf, pageOf, type Told } from "./page.ts";
import { type Trial, trials } from "./trials.ts";

const page = join(projectFolder, "data/help/proved.md");
const usage = `usage: npm run prove -- [--quick] [--seed N] [--only TRIAL]…\ntrials: ${[...trials.map(({ name }) => name), "mutation"].join(", ")}`;

/** How often, by the variables that the trials ask. */
const counts = {
  long: {
    TVS_KILLS: "10",
    TVS_INTERLEAVINGS: "500",
    TVS_EXTRACTS: "2000",
    TVS_OPERATIONS: "1000000",
    TVS_SEEDS: "10000",
    TVS_REQUESTS: "1000000",
    TVS_INPUTS: "1000000",
  },
  quick: {
    TVS_INTERLEAVINGS: "25",
    TVS_EXTRACTS: "100",
    TVS_OPERATIONS: "20000",
    TVS_SEEDS: "400",
    TVS_REQUESTS: "10000",
    TVS_INPUTS: "20000",
  },
} as const;

type Options = NonNullable<ReturnType<typeof readOptions>>;

/** @returns null for what is no trial or no seed @throws Error for what is no option */
function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      seed: { type: "string", default: "1" },
      only: { type: "string", multiple: true, default: [] },
      reporter: { type: "string" },
      "reporter-outfile": { type: "string" },
    },
  });
  const { quick: isQuick, only, reporter, "reporter-outfile": outfile } = values;
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) return null;
  if (!only.every((name) => name === "mutation" || trials.some((trial) => trial.name === name))) return null;
  const isMutating = only.includes("mutation") || (only.length === 0 && !isQuick);
  const isChosen = ({ name, isQuick: inQuick = false }: Trial) =>
    only.length > 0 ? only.includes(name) : !isQuick || inQuick;
  const words = [
    ...(reporter ? [`--reporter=${reporter}`] : []),
    ...(outfile ? [`--reporter-outfile=${outfile}`] : []),
  ];
  return {
    isQuick,
    seed,
    chosen: trials.filter(isChosen),
    isMutating,
    isWhole: only.length === 0 && !isQuick,
    words,
  };
}

const git = (...words: string[]) =>
  Bun.spawnSync(["git", ...words], { cwd: projectFolder, stderr: "ignore" })
    .stdout.toString()
    .trim();

/** The commit that is tried, and whether the files are others. */
function commit(): string {
  const name = git("rev-parse", "--short=10", "HEAD") || "unknown";
  return git("status", "--porcelain", "--untracked-files=no") === "" ? name : `${name} and changes`;
}

async function bun(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return Bun.spawn([process.execPath, ...words], {
    cwd: projectFolder,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  }).exited;
}

/** What each trial came to, a line each. @returns how many failed or told nothing */
function printOutcomes(names: readonly string[], told: readonly Told[]): number {
  let failed = 0;
  for (const name of names) {
    const outcome = outcomeOf(name, told);
    if (outcome === null || outcome.wrong > 0) failed++;
    const often = Object.entries(outcome?.tried ?? {}).map(([what, times]) => `${times} ${what}`);
    const came = outcome === null ? "told nothing" : `${often.join(", ")}; ${outcome.wrong} wrong`;
    console.error(`${name}: ${came}`);
  }
  return failed;
}

/** Runs what was chosen. @returns the first exit code that is not 0, else 0 */
async function runAll(options: Options, env: NodeJS.ProcessEnv): Promise<number> {
  const files = new Set(options.chosen.flatMap((trial) => trial.files));
  const paths = [...files].map((file) => `./test/${file}.test.ts`);
  const how = ["test", "--only-failures", "--timeout=60000", "--parallel=2", "--no-isolate"];
  const code = paths.length === 0 ? 0 : await bun([...how, ...paths, ...options.words], env);
  // It takes both cores, and its tests are quick ones, which a busy machine must not fail.
  const mutated = options.isMutating ? await bun(["test/mutation/main.ts"], env) : 0;
  return code || mutated;
}

async function prove(options: Options, folder: string): Promise<number> {
  const { isQuick, seed, chosen, isMutating, isWhole } = options;
  const run = { commit: commit(), machine: describeMachine(), startedAt: now(), seed };
  const began = performance.now();
  const toldFile = join(folder, "told");
  writeFileSync(toldFile, "");
  const executable = join(folder, "tvs");
  if (process.env.TVS_COMMAND === undefined) await build(readTarget(hostTarget()), executable);
  const code = await runAll(options, {
    TVS_COMMAND: JSON.stringify([executable]),
    ...counts[isQuick ? "quick" : "long"],
    // Whoever names a count, or a program, means it.
    ...process.env,
    TVS_SEED: String(seed),
    TVS_TRIALS: toldFile,
  });
  const lines = readFileSync(toldFile, "utf8").split("\n").slice(0, -1);
  const told = lines.map((line) => JSON.parse(line) as Told);
  const mutated = isMutating ? Object.keys(mutatedFiles).map((file) => `mutation ${file}`) : [];
  const failed = printOutcomes([...chosen.map(({ name }) => name), ...mutated], told);
  if (isWhole) {
    const seconds = (performance.now() - began) / 1_000;
    writeFileSync(page, pageOf({ ...run, seconds }, trials, told));
    console.error(`written: ${page}`);
  }
  return code || (failed > 0 ? 1 : 0);
}

const now = () => `${new Date().toISOString().slice(0, 16)}Z`;

async function main(): Promise<number> {
  const options = readOptions();
  if (options === null) {
    console.error(usage);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), "tvs-prove-"));
  try {
    return await prove(options, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
