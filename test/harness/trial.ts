/** The length of randomised tests: short in a suite, as long as a variable says in `npm run prove`. */
import { appendFileSync } from "node:fs";

/** Reads the number of tries from an environment variable (`TVS_KILLS=100`). @throws Error unless it is a number */
export function readTryCount(variable: `TVS_${string}`, usual: number): number {
  return numberIn(variable, 1) ?? usual;
}

/** Reads the seed of all random choices from `TVS_SEED`. @throws Error unless it is a number */
export function readSeed(usual = 1): number {
  return numberIn("TVS_SEED", 0) ?? usual;
}

/** Adds numbers such as `{ kills: 12 }` to the report of `npm run prove`. In a suite it does nothing. */
export function reportTries(tried: Readonly<Record<string, number>>): void {
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
