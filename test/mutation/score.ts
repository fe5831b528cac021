/** Which mutants survive, and which of them are named with the reason why no test can kill them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { files } from "./files.ts";
import { mutantsOf } from "./mutants.ts";

/** Of one file: how many of its mutants some test kills, and what has to be looked at. */
export type Score = {
  readonly file: string;
  readonly mutants: number;
  readonly killed: number;
  /** How many of the killed mutants did not end in time. */
  readonly looped: number;
  readonly named: number;
  /** What survives without a reason, as it is to be named. */
  readonly unnamed: readonly string[];
  /** Reasons for what does not survive any more. */
  readonly stale: readonly string[];
};

/** By file, the survivors that are named: survivors.txt says how. @throws Error for a line that is out of place */
export function readNamed(text: string): Map<string, string[]> {
  const named = new Map<string, string[]>();
  let current: string[] = [];
  let isDue = false;
  for (const line of text.split("\n").filter((one) => one !== "" && !one.startsWith("#"))) {
    const indent = line.length - line.trimStart().length;
    if (indent === 0 && !isDue) {
      current = [];
      named.set(line, current);
    } else if (indent === 2) current.push(line.trim());
    else if (indent !== 4 || current.length === 0) throw new Error(`survivors.txt: out of place: ${line}`);
    isDue = indent === 2;
  }
  if (isDue) throw new Error("survivors.txt: the last mutant has no reason");
  return named;
}

export const namedSurvivors = readNamed(readFileSync(join(import.meta.dirname, "survivors.txt"), "utf8"));

/** The share of the mutants that tests kill, in percent; those that nothing can kill count against it. */
export const percentOf = ({ mutants, killed }: Score) => (100 * killed) / mutants;

/** Mutates one file of `files`. @throws Error when its tests fail without a change */
export async function scoreOf(file: string): Promise<Score> {
  const mutants = await mutantsOf(file, files[file] ?? []);
  const names = namedSurvivors.get(file) ?? [];
  // One that is known to survive did not loop: the machine was busy.
  const looped = mutants.filter(({ name, outcome }) => outcome === "looped" && !names.includes(name));
  const survived = mutants
    .filter((one) => one.outcome !== "killed" && !looped.includes(one))
    .map(({ name }) => name);
  return {
    file,
    mutants: mutants.length,
    killed: mutants.length - survived.length,
    looped: looped.length,
    named: survived.filter((name) => names.includes(name)).length,
    unnamed: survived.filter((name) => !names.includes(name)),
    stale: names.filter((name) => !survived.includes(name)),
  };
}
