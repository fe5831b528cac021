/**
 * `bun test/mutation/main.ts [WORD…]`: mutates the files of `files.ts`, or those whose path contains a word, and prints
 * their scores. Fails if survivors.txt does not name a survivor, or if a score is below 90 %.
 */

import Table from "cli-table3";
import { mutatedFiles } from "./files.ts";
import { percentOf, type Score, scoreOf } from "./score.ts";

const least = 90;
const words = process.argv.slice(2);
const chosen = Object.keys(mutatedFiles).filter(
  (file) => words.length === 0 || words.some((word) => file.includes(word)),
);
const scores: Score[] = [];
for (const file of chosen) {
  const began = performance.now();
  const score = await scoreOf(file);
  scores.push(score);
  console.error(`${file}: ${Math.round((performance.now() - began) / 1000)} s`);
  for (const one of score.unnamed) console.error(`  ${one}`);
  for (const one of score.stale) console.error(`  named, but survives no more: ${one}`);
}
const table = new Table({
  head: ["file", "mutants", "killed", "by a loop", "named", "survived", "score"],
  style: { head: [], border: [] },
});
for (const score of scores) {
  const { file, mutants, killed, looped, named, unnamed } = score;
  table.push([file, mutants, killed, looped, named, unnamed.length, `${percentOf(score).toFixed(1)} %`]);
}
console.log(table.toString());
const isGood = (score: Score) => score.unnamed.length + score.stale.length === 0 && percentOf(score) >= least;
process.exitCode = scores.length > 0 && scores.every(isGood) ? 0 : 1;
