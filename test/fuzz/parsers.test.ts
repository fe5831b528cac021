import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readSeed, readTryCount, reportTries } from "../harness/trial.ts";
import { inputPlanArbitrary, makeInput } from "./parser-edits.ts";
import { evidence, type FuzzedParser } from "./parser-evidence.ts";
import { files } from "./parser-files.ts";
import { logs } from "./parser-logs.ts";

const inputs = readTryCount("TVS_INPUTS", 1_500);
/** The most by which one input may raise the peak of the process's memory. */
const maxBytes = 512 * 1024 ** 2;

const mostMemory = () => process.resourceUsage().maxRSS * 1024;

/** @throws if the parser breaks a rule. @returns whether the parser accepts the input */
async function tryOne(target: FuzzedParser, input: Buffer): Promise<boolean> {
  const memory = mostMemory();
  const isAccepted = await target.accepts(input);
  expect(mostMemory() - memory).toBeLessThan(maxBytes);
  return isAccepted;
}

async function tryAll(name: string, target: FuzzedParser): Promise<void> {
  const genuine: boolean[] = [];
  for (const input of target.corpus) genuine.push(await tryOne(target, input));
  expect(genuine).toContain(true);
  const seed = readSeed();
  const numRuns = Math.max(1, Math.round((inputs * target.share) / 1_000));
  const one = fc.asyncProperty(
    inputPlanArbitrary,
    async (plan) => void (await tryOne(target, makeInput(plan, target.corpus))),
  );
  reportTries({ inputs: numRuns });
  const { failed, counterexample, errorInstance } = await fc.check(one, { seed, numRuns });
  if (!failed || counterexample === null) return;
  const input = makeInput(counterexample[0], target.corpus).toString("base64");
  const again = `TVS_SEED=${seed} TVS_INPUTS=${inputs} npm test -- test/fuzz/parsers.test.ts`;
  throw new Error(`${again}\nthe input of ${name}, in base64: ${input}`, { cause: errorInstance });
}

describe.each(Object.entries({ ...evidence, ...logs, ...files }))("the parser of %s:", (name, target) =>
  test(
    "a parser accepts genuine inputs, and refuses all others with one of its own reasons",
    () => tryAll(name, target),
    60_000 + inputs * 20,
  ),
);
