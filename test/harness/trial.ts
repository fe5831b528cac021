/** The length of a randomised test: short in a suite, as long as its variable says in `npm run prove`. */

/** Reads how many tries a variable of the environment asks for (`TVS_KILLS=100`). @throws Error for no number */
export function countOf(variable: `TVS_${string}`, usual: number): number {
  return numberIn(variable, 1) ?? usual;
}

/** Reads the seed of all random choices from `TVS_SEED`. @throws Error for no number */
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
