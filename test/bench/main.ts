/**
 * `npm run bench`: what the service does on this machine, beside what the machine could do at best and beside two
 * rivals in the same minutes. Everything happens on the loopback interface and in folders that are removed.
 *
 * It measures the executable, which it builds first; TVS_COMMAND names another program to measure.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withTempDir } from "../harness/folder.ts";
import { backlogBench } from "./backlog.ts";
import type { Bench } from "./bench.ts";
import { checksBench } from "./checks.ts";
import { drainBench, idleBench, silentBench } from "./deliveries.ts";
import { createFigures } from "./figures.ts";
import { growthBench } from "./growth.ts";
import { halfLoadBench } from "./halfload.ts";
import { importBench } from "./imports.ts";
import { driverName } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { removeTemplates } from "./register.ts";
import { startBench } from "./starts.ts";
import { verifyBench } from "./verify.ts";

const benches: Readonly<Record<string, Bench>> = {
  checks: checksBench,
  halfload: halfLoadBench,
  import: importBench,
  start: startBench,
  verify: verifyBench,
  drain: drainBench,
  backlog: backlogBench,
  silent: silentBench,
  idle: idleBench,
  growth: growthBench,
};
const usage =
  `usage: npm run bench -- [--quick] [--markdown] [--rounds N] [--only ${Object.keys(benches).join("|")}]\n` +
  "                        [--growth [--growth-scale PART]]";
/** Fewer say nothing about the spread. A quick run only shows that everything runs. */
const fewestRounds = 5;
const quickRounds = 2;

type Options = NonNullable<ReturnType<typeof readOptions>>;

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      markdown: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string" },
      growth: { type: "boolean", default: false },
      "growth-scale": { type: "string", default: "1" },
    },
  });
  const fewest = values.quick ? quickRounds : fewestRounds;
  const rounds = Number(values.rounds ?? fewest);
  const growthScale = Number(values["growth-scale"]);
  const isKnown = values.only.every((name) => Object.hasOwn(benches, name));
  if (!isKnown || !Number.isSafeInteger(rounds) || rounds < fewest) return null;
  if (!(growthScale > 0 && growthScale <= 1)) return null;
  // It fills a disk for a quarter of an hour, and so has to be asked for.
  const isChosen = (name: string) =>
    values.only.includes(name) || (name === "growth" ? values.growth : values.only.length === 0);
  const chosen = Object.entries(benches).filter(([name]) => isChosen(name));
  return { chosen, rounds, growthScale, isQuick: values.quick, isMarkdown: values.markdown };
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
    const build = fileURLToPath(new URL("../../cli/build/build.ts", import.meta.url));
    const built = Bun.spawn([process.execPath, build, "--outfile", file], { stdout: "ignore" });
    if ((await built.exited) !== 0) return 1;
    const env = { ...process.env, TVS_COMMAND: JSON.stringify([file]) };
    return Bun.spawn(process.argv, { env, stdio: ["ignore", "inherit", "inherit"] }).exited;
  });
}

async function measure({ chosen, isMarkdown, ...options }: Options): Promise<number> {
  const figures = createFigures();
  const machine = describeMachine();
  const startMs = performance.now();
  let failures = 0;
  for (const [name, bench] of chosen) {
    const benchMs = performance.now();
    process.stderr.write(`${name} …`);
    try {
      await bench({ figures, ...options });
    } catch (error) {
      failures++;
      process.stderr.write(` failed: ${error}`);
    }
    process.stderr.write(` ${seconds(benchMs)} s\n`);
  }
  await removeTemplates();
  const about =
    `One run of ${options.rounds} interleaved rounds, ${seconds(startMs)} s, load driver ${driverName()}. ` +
    `${machine} before and ${/[\d.]+$/.exec(describeMachine())?.[0]} after.`;
  console.log(`${about}\n\n${figures.table(isMarkdown ? "markdown" : "text")}`);
  return failures === 0 ? 0 : 1;
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(0);
}

process.exitCode = await main();
