import { appendFileSync } from "node:fs";

/**
 * What a trial is asked and what it tells. A trial is a test that tries to break a promise by chance, a few times in
 * `npm test` and for as long as it takes in `npm run prove`, whose page tells how often and what came of it.
 */

/** How often: what this variable of the environment asks (`TVS_KILLS=100`), else a few. @throws Error for no number */
export function countOf(variable: `TVS_${string}`, few: number): number {
  return numberIn(variable, 1) ?? few;
}

/** What all chances of a trial are drawn from: `TVS_SEED`, else always the same. @throws Error for no number */
export function seedOf(usual = 1): number {
  return numberIn("TVS_SEED", 0) ?? usual;
}

function numberIn(variable: string, least: number): number | undefined {
  const text = process.env[variable];
  if (text === undefined || text === "") return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`${variable} must be a whole number from ${least} on, and is ${text}`);
}

/** What came of a trial. */
export type Outcome = {
  /** How often, by the name of what was counted, in the plural: `{ operations: 1_000_000, kills: 40 }`. */
  readonly tried: Readonly<Record<string, number>>;
  /** How many were lost, done twice or answered wrongly. */
  readonly wrong: number;
  /** From each fault until it was answered again, where that is measured. */
  readonly healedMs?: readonly number[];
};

/**
 * Tells the runner what came of a trial; to be called before it is expected that nothing was wrong, so that the page
 * has the number also where it is not 0. A trial of several tests tells several times, and is summed. Nobody listens
 * in `npm test`.
 *
 * @param trial its name in `test/prove/trials.ts`
 */
export function tell(trial: string, outcome: Outcome): void {
  const { TVS_TRIALS: file } = process.env;
  if (file) appendFileSync(file, `${JSON.stringify({ trial, ...outcome })}\n`);
}

/** A trial under way. */
export type Trial = {
  count(what: string, times?: number): void;
  /** Does what ends with everything answered again, and keeps how long that took. */
  healed<T>(act: () => Promise<T>): Promise<T>;
};

/** The body of a test that is a trial: it fails at the first thing that is wrong, and what came of it is told. */
export function tried(name: string, act: (trial: Trial) => Promise<void>): () => Promise<void> {
  return () => runTrial(name, act);
}

async function runTrial(name: string, act: (trial: Trial) => Promise<void>): Promise<void> {
  const counts: Record<string, number> = {};
  const healedMs: number[] = [];
  let wrong = 1;
  try {
    await act({
      count(what, times = 1) {
        counts[what] = (counts[what] ?? 0) + times;
      },
      async healed(healing) {
        const began = performance.now();
        const done = await healing();
        healedMs.push(Math.round(performance.now() - began));
        return done;
      },
    });
    wrong = 0;
  } finally {
    tell(name, { tried: counts, wrong, healedMs });
  }
}
