/**
 * `npm run bench [-- --quick] [-- --only NAME]`: what the service does on this machine, beside what the machine could
 * do at best in the same minutes. Everything happens on the loopback interface and in folders that are removed.
 */
import { parseArgs } from "node:util";
import { backlogBench } from "./backlog.ts";
import type { Bench } from "./bench.ts";
import { checksBench } from "./checks.ts";
import { drainBench, idleBench, silentBench } from "./deliveries.ts";
import { createFigures } from "./figures.ts";
import { driverName } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { importBench, startBench } from "./starts.ts";

const benches: Readonly<Record<string, Bench>> = {
  checks: checksBench,
  drain: drainBench,
  backlog: backlogBench,
  silent: silentBench,
  idle: idleBench,
  import: importBench,
  start: startBench,
};
const usage = `usage: npm run bench -- [--quick] [--only ${Object.keys(benches).join("|")}] [--rounds N]`;
const fewestRounds = 5;

async function main(): Promise<number> {
  const options = readOptions();
  if (options === null) {
    console.error(usage);
    return 2;
  }
  const figures = createFigures();
  console.log(`${describeMachine()}; load driver: ${driverName()}`);
  if (Bun.which("openssl") === null)
    console.log("openssl is not installed: the machine's limit is not known");
  const startMs = performance.now();
  let failures = 0;
  for (const [name, bench] of options.chosen) {
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
  console.log(
    `\n${figures.table()}\n\n${options.rounds} rounds, ${seconds(startMs)} s in all; ${describeMachine()}`,
  );
  return failures === 0 ? 0 : 1;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: String(fewestRounds) },
    },
  });
  const rounds = Number(values.rounds);
  const isKnown = values.only.every((name) => Object.hasOwn(benches, name));
  if (!isKnown || !Number.isSafeInteger(rounds) || rounds < fewestRounds) return null;
  const chosen = Object.entries(benches).filter(
    ([name]) => values.only.length === 0 || values.only.includes(name),
  );
  return { chosen, rounds, isQuick: values.quick };
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(0);
}

process.exitCode = await main();
