import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { countOf, seedOf, tell } from "../harness/trial.ts";
import { aPlan, inputOf } from "./parser-edits.ts";
import { evidence, type Target } from "./parser-evidence.ts";
import { files } from "./parser-files.ts";
import { logs } from "./parser-logs.ts";
import type { Watched } from "./parser-watch.ts";

const inputs = countOf("TVS_INPUTS", 1_500);
const { TVS_INPUT: again } = process.env;
/** By how much no input makes the most memory that the process ever had grow. */
const maxBytes = 512 * 1024 ** 2;
const line = "bun test test/fuzz/parsers.test.ts";
const watched: Watched = {
  counts: new Int32Array(new SharedArrayBuffer(8)),
  bytes: new Uint8Array(new SharedArrayBuffer(32 * 1024 ** 2)),
  line,
};
let watch: Worker;

beforeAll(() => {
  watch = new Worker(new URL("parser-watch.ts", import.meta.url), { workerData: watched });
});
afterAll(async () => {
  await watch.terminate();
});

const mostMemory = () => process.resourceUsage().maxRSS * 1024;

/** @throws what it must not do @returns whether it was accepted */
async function judge({ judge }: Target, input: Buffer): Promise<boolean> {
  watched.bytes.set(input.subarray(0, watched.bytes.length));
  watched.counts[1] = input.length;
  Atomics.add(watched.counts, 0, 1);
  const memory = mostMemory();
  const isAccepted = await judge(input);
  expect(mostMemory() - memory).toBeLessThan(maxBytes);
  return isAccepted;
}

async function tryAll(name: string, target: Target): Promise<void> {
  const genuine: boolean[] = [];
  for (const input of target.corpus) genuine.push(await judge(target, input));
  expect(genuine).toContain(true);
  const seed = seedOf();
  const numRuns = Math.max(1, Math.round((inputs * target.share) / 1_000));
  const one = fc.asyncProperty(
    aPlan,
    async (plan) => void (await judge(target, inputOf(plan, target.corpus))),
  );
  const { failed, counterexample, errorInstance } = await fc.check(one, { seed, numRuns });
  tell("fuzz-parsers", { tried: { parsers: 1, inputs: numRuns }, wrong: failed ? 1 : 0 });
  if (!failed || counterexample === null) return;
  const input = inputOf(counterexample[0], target.corpus).toString("base64");
  const once = `TVS_INPUT=${input} ${line} -t "of ${name}:"`;
  throw new Error(`of seed ${seed}; once more:\n${once}`, { cause: errorInstance });
}

describe.each(Object.entries({ ...evidence, ...logs, ...files }))("the parser of %s:", (name, target) => {
  if (again === undefined)
    test(
      "what is genuine is accepted, and all else refused in its own words",
      () => tryAll(name, target),
      60_000 + inputs * 20,
    );
  else
    test("what TVS_INPUT names is judged once more", () =>
      judge(target, Buffer.from(again, "base64")).then(console.log));
});
