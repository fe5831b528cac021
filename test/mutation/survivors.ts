/** Reads survivors.txt, which names the mutants that no test can kill, with the reasons. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** @returns the named survivors by file @throws Error if a line is at a wrong place */
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
