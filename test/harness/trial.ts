/** The length of a randomised test: short in a suite, as long as its variable says in `npm run prove`. */
import { appendFileSync } from "node:fs";

/** Reads how many tries a variable of the environment asks for (`TVS_KILLS=100`). @throws Error for no number */
export function countOf(variable: `TVS_${string}`, usual: number): number {
  return numberIn(variable, 1) ?? usual;
}

/** Reads the seed of all random choices from `TVS_SEED`. @throws Error for no number */
export function seedOf(usual = 1): number {
  return numberIn("TVS_SEED", 0) ?? usual;
}

/** Adds what a test tried to the page of `npm run prove`, by noun: `{ kills: 12 }`. Without effect in a suite. */
export function addTried(tried: Readonly<Record<string, number>>): void {
  const { TVS_TRIED: file } = process.env;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(tried)}\n`);
}

function numberIn(variable: string, least: number): number | undefined {
  const text = process.env[variable];
  if (text === undefined || text === "") return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`${variable} must be a whole number from ${least} on, and is ${text}`);
}
