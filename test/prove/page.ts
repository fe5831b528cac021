/** The page of `npm run prove`: each promise, what tried to break it, how often, and what came of it. */
import type { Outcome } from "../harness/trial.ts";
import { type PromiseName, promises, type Trial } from "./trials.ts";

/** What a test has told of a trial. */
export type Told = Outcome & { readonly trial: string };

type Run = {
  readonly commit: string;
  readonly machine: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly seed: number;
};

/** @param told in the order in which it was told @returns null where nothing was, because its test did not run or died */
export function outcomeOf(trial: string, told: readonly Told[]): Outcome | null {
  const parts = told.filter((one) => one.trial === trial);
  if (parts.length === 0) return null;
  const tried: Record<string, number> = {};
  for (const part of parts)
    for (const [what, times] of Object.entries(part.tried)) tried[what] = (tried[what] ?? 0) + times;
  return {
    tried,
    wrong: parts.reduce((sum, { wrong }) => sum + wrong, 0),
    healedMs: parts.flatMap(({ healedMs = [] }) => healedMs),
  };
}

const number = (value: number) => value.toLocaleString("en");
const seconds = (ms: number) => `${(ms / 1_000).toLocaleString("en", { maximumFractionDigits: 1 })} s`;

/** `median, most` of what was measured. */
function healedIn(healedMs: readonly number[]): string {
  const sorted = [...healedMs].sort((a, b) => a - b);
  const [median, most] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return median === undefined || most === undefined ? "" : `${seconds(median)}, at most ${seconds(most)}`;
}

function rowOf({ name, how }: Trial, outcome: Outcome | null): string[] {
  if (outcome === null) return [name, how, "not at all: it did not come to its end", "", ""];
  const often = Object.entries(outcome.tried).map(([what, times]) => `${number(times)} ${what}`);
  return [name, how, often.join(", "), number(outcome.wrong), healedIn(outcome.healedMs ?? [])];
}

/** A table in Markdown; what has no rows has no table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

const columns = ["trial", "what tried to break it", "how often", "lost or wrong", "healed in (median)"];

function sectionOf(promise: PromiseName, trials: readonly Trial[], told: readonly Told[]): string {
  const rows = trials.map((trial) => rowOf(trial, outcomeOf(trial.name, told)));
  return `## ${promise.replace(/\.$/, "")}\n\n${table(columns, rows)}`;
}

const opening = `# Proved

What the README promises, and what has tried to break it. Each figure here was written by one run of \`npm run prove\`, and by nothing else; a figure that is not 0 stands here as well. Anybody can run it again: it needs the source, Node and npm, and hours on two cores.

A *trial* draws what happens by chance: who calls when, what is killed, which write fails, what is sent. *How often* counts it. *Lost or wrong* is whatever was promised and did not hold: an answer without its evidence, a call that ran twice, a revocation that was overlooked, a 5xx for what somebody sent. *Healed in* is the time from the end of a fault, such as the new start after \`kill -9\`, until everything was answered again.`;

const onMutation = `## The tests themselves

A test that cannot fail proves nothing. So each of these files was changed in one place at a time, by Stryker, and its own tests had to notice: a *mutant* that they notice is *killed*. *Named* are those that change nothing anybody could see, each with its reason in \`test/mutation/survivors.txt\` of the source; they count against the score.`;

const again = `## Run it again

\`\`\`sh
npm run prove                                 # the long forms of all trials; writes this page
npm run prove -- --quick                      # two minutes at most, and writes nothing
npm run prove -- --only simulation --seed 7   # one trial, from another seed
\`\`\`

What is drawn from a seed, a history, a simulation or what is fuzzed, comes again from the same seed; which instruction a \`kill -9\` hits does not. A trial that fails prints the line that runs it again. How often each is tried can be said: \`TVS_SEEDS=50000\` before the command plays so many simulations, and \`test/prove/main.ts\` has the other counts. Where a promise is kept, and by which tests, is told in \`test/README.md\` of the source.`;

/** What the tests noticed of small changes to the files that matter most. */
function mutationOf(told: readonly Told[]): string {
  const rows = told
    .filter(({ trial }) => trial.startsWith("mutation "))
    .map(({ trial, tried: { mutants = 0, killed = 0, named = 0 }, wrong }) => [
      `\`${trial.slice("mutation ".length)}\``,
      ...[mutants, killed, named, wrong].map(number),
      `${((100 * killed) / mutants).toFixed(1)} %`,
    ]);
  const head = ["file", "mutants", "killed by a test", "named, with the reason", "survived", "score"];
  return rows.length === 0 ? "" : `${onMutation}\n\n${table(head, rows)}`;
}

export function pageOf(run: Run, trials: readonly Trial[], told: readonly Told[]): string {
  const { commit, machine, startedAt, seconds: took, seed } = run;
  const what = `Commit \`${commit}\`, begun ${startedAt}, ${Math.round(took / 60)} minutes, seed ${seed}, on ${machine}.`;
  const sections = promises.map((promise) => {
    const own = trials.filter((trial) => trial.promise === promise);
    return sectionOf(promise, own, told);
  });
  return `${[opening, what, ...sections, mutationOf(told), again].filter((part) => part !== "").join("\n\n")}\n`;
}
