/** Finds the mutants that survive. survivors.txt names those that no test can kill, with the reason. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mutatedFiles } from "./files.ts";
import { mutantsOf } from "./mutants.ts";

/** The score of a file: how many of its mutants the tests kill, and which of the others need a look. */
export type Score = {
  readonly file: string;
  readonly mutants: number;
  readonly killed: number;
  /** How many of the killed mutants ran into the time limit. */
  readonly looped: number;
  readonly named: number;
  /** Survivors that survivors.txt does not name, each as it has to be written there. */
  readonly unnamed: readonly string[];
  /** Names in survivors.txt of mutants that do not survive any more. */
  readonly stale: readonly string[];
};

/** Reads survivors.txt. @returns the named survivors by file @throws Error if a line is at a wrong place */
export function readSurvivors(text: string): Map<string, string[]> {
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

export const namedSurvivors = readSurvivors(readFileSync(join(import.meta.dirname, "survivors.txt"), "utf8"));

/** Returns the percentage of mutants that the tests kill. Named survivors reduce it too. */
export const percentOf = ({ mutants, killed }: Score) => (100 * killed) / mutants;

/** Mutates one file of `files`. @throws Error if its tests fail without a change */
export async function scoreOf(file: string): Promise<Score> {
  const mutants = await mutantsOf(file, mutatedFiles[file] ?? []);
  const names = namedSurvivors.get(file) ?? [];
  // A named survivor that ran into the time limit did not loop: the machine was busy.
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
