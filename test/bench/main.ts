/**
 * `npm run bench`: what the service does on this machine, beside what the machine could do at best, beside rivals and
 * beside an earlier build in the same minutes. Everything happens on the loopback interface and in folders that are
 * removed.
 *
 * It measures the executable, which it builds first; TVS_COMMAND names another program to measure.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withTempDir } from "../harness/folder.ts";
import { backlogBench } from "./backlog.ts";
import { batchesBench } from "./batches.ts";
import type { Bench } from "./bench.ts";
import { checksBench } from "./checks.ts";
import { drainBench, idleBench, silentBench } from "./deliveries.ts";
import { fairnessBench } from "./fairness.ts";
import { createFigures } from "./figures.ts";
import { growthBench } from "./growth.ts";
import { halfLoadBench } from "./halfload.ts";
import { importBench } from "./imports.ts";
import { logBench } from "./log.ts";
import { lookupsBench } from "./lookups.ts";
import { describeMachine } from "./machine.ts";
import { memoryBench } from "./memory.ts";
import { nodesBench } from "./nodes.ts";
import { findPrograms, type Programs, signersOf } from "./programs.ts";
import { removeTemplates } from "./register.ts";
import { startBench } from "./starts.ts";
import { verifyBench } from "./verify.ts";
import { watchedBench } from "./watched.ts";
import { worthBench } from "./worth.ts";

const benches: Readonly<Record<string, Bench>> = {
  checks: checksBench,
  batches: batchesBench,
  lookups: lookupsBench,
  log: logBench,
  fairness: fairnessBench,
  halfload: halfLoadBench,
  memory: memoryBench,
  import: importBench,
  start: startBench,
  verify: verifyBench,
  drain: drainBench,
  backlog: backlogBench,
  silent: silentBench,
  idle: idleBench,
  nodes: nodesBench,
  watched: watchedBench,
  growth: growthBench,
  worth: worthBench,
};
/** In a quick run only when they are named: they take long whatever their size, or are apart from serving. */
const slowBenches = ["verify", "backlog", "silent"];
const usage =
  "usage: npm run bench -- [--quick] [--markdown] [--rounds N] [--signers N] [--against EXECUTABLE]\n" +
  `                        [--only ${Object.keys(benches).join("|")}]\n` +
  "                        [--growth [--growth-scale PART]]";
/** Fewer say nothing about the spread. */
const fullRounds = 5;
/** A quick run only shows that everything runs. */
const quickRounds = 2;

type Options = NonNullable<ReturnType<typeof readOptions>>;

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      markdown: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string" },
      signers: { type: "string" },
      against: { type: "string" },
      growth: { type: "boolean", default: false },
      "growth-scale": { type: "string", default: "1" },
    },
  });
  const { quick: isQuick, only } = values;
  const rounds = Number(values.rounds ?? (isQuick ? quickRounds : fullRounds));
  const signers = values.signers === undefined ? null : Number(values.signers);
  const growthScale = Number(values["growth-scale"]);
  const isCount = (value: number) => Number.isSafeInteger(value) && value > 0;
  if (!only.every((name) => Object.hasOwn(benches, name))) return null;
  if (!isCount(rounds) || (signers !== null && !isCount(signers + 1))) return null;
  if (!(growthScale > 0 && growthScale <= 1)) return null;
  const isChosen = (name: string) => {
    if (only.length > 0) return only.includes(name);
    // It is asked when a mechanism is to go or to come, and takes as long as all others.
    if (name === "worth") return false;
    // It fills a disk for a quarter of an hour, and so has to be asked for.
    return name === "growth" ? values.growth : !(isQuick && slowBenches.includes(name));
  };
  const chosen = Object.entries(benches).filter(([name]) => isChosen(name));
  const against = values.against ?? null;
  return { chosen, rounds, signers, against, growthScale, isQuick, isMarkdown: values.markdown };
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === null) {
    console.error(usage);
    return 2;
  }
  if (process.env.TVS_COMMAND === undefined) return withExecutable();
  return measure(options);
}

/** Builds the program into a folder of its own and runs this one again to measure it. */
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

async function measure({ chosen, isMarkdown, signers, against, ...options }: Options): Promise<number> {
  let programs: Programs;
  try {
    programs = findPrograms({ signers, against });
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : error}`);
    return 2;
  }
  const figures = createFigures();
  const machine = describeMachine();
  const startMs = performance.now();
  let failures = 0;
  for (const [name, bench] of chosen) {
    const benchMs = performance.now();
    process.stderr.write(`${name} …`);
    try {
      await bench({ figures, programs, ...options });
    } catch (error) {
      failures++;
      process.stderr.write(` failed: ${error}`);
    }
    process.stderr.write(` ${seconds(benchMs)} s\n`);
  }
  await removeTemplates();
  const [own, ...others] = programs;
  const compared = others.map((one) => `; earlier build ${against}: ${signersOf(one)}`).join("");
  const about =
    `One run of ${options.rounds} interleaved round${options.rounds === 1 ? "" : "s"}, ${seconds(startMs)} s; ` +
    `this build: ${signersOf(own)}${compared}. ` +
    `${machine} before and ${/[\d.]+$/.exec(describeMachine())?.[0]} after.`;
  console.log(`${about}\n\n${figures.text(isMarkdown ? "markdown" : "text")}`);
  return failures === 0 ? 0 : 1;
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(0);
}

process.exitCode = await main();
