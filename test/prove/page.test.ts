import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { outcomeOf, pageOf, type Told } from "./page.ts";
import { promises, trials } from "./trials.ts";

const root = join(import.meta.dirname, "../..");
const run = {
  commit: "0123456789",
  machine: "a machine",
  startedAt: "2026-11-24T01:00Z",
  seconds: 90,
  seed: 7,
};

test("the promises are the README's, each with a trial", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const [, promised = ""] = readme.split("What it promises, ");
  const bullets = [...(promised.split("It is not for you")[0] ?? "").matchAll(/^- (.+)$/gm)];
  const begins = bullets.map(([, text = ""]) => text.replaceAll("**", ""));
  expect(begins).toHaveLength(promises.length);
  for (const [at, promise] of promises.entries())
    expect([promise, begins[at]?.startsWith(promise)]).toEqual([promise, true]);
  expect(promises.filter((promise) => !trials.some((trial) => trial.promise === promise))).toEqual([]);
});

test.each(trials)("$name is told by one of its tests", ({ name, files }) => {
  const texts = files.map((file) => readFileSync(join(root, `test/${file}.test.ts`), "utf8"));
  expect(texts.some((text) => text.includes(`"${name}"`))).toBe(true);
});

describe("what was told of a trial", () => {
  const told: Told[] = [
    { trial: "kills-service", tried: { kills: 20, answers: 1_500 }, wrong: 0, healedMs: [900, 400] },
    { trial: "kills-nodes", tried: { kills: 5 }, wrong: 0 },
    { trial: "mutation src/a.ts", tried: { mutants: 200, killed: 195, named: 4 }, wrong: 1 },
    { trial: "kills-service", tried: { kills: 3 }, wrong: 2, healedMs: [2_345] },
  ];

  test("is summed over its tests", () => {
    const sum = { tried: { kills: 23, answers: 1_500 }, wrong: 2, healedMs: [900, 400, 2_345] };
    expect(outcomeOf("kills-service", told)).toEqual(sum);
    expect(outcomeOf("changes", told)).toBeNull();
  });

  test("stands on the page, also what was wrong, and what told nothing", () => {
    const page = pageOf(run, trials, told);
    expect(page).toMatch(
      /^\| kills-service \| .* \| 23 kills, 1,500 answers \| 2 \| 0\.9 s, at most 2\.3 s \|$/m,
    );
    expect(page).toMatch(/^\| kills-nodes \| .* \| 5 kills \| 0 \| {2}\|$/m);
    expect(page).toMatch(/^\| changes \| .* \| not at all: it did not come to its end \| {2}\| {2}\|$/m);
    expect(page).toContain("\n| `src/a.ts` | 200 | 195 | 4 | 1 | 97.5 % |\n");
    expect(page).toContain("Commit `0123456789`, begun 2026-11-24T01:00Z, 2 minutes, seed 7, on a machine.");
  });
});
