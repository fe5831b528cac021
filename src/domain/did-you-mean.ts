import { distance } from "fastest-levenshtein";

/** The longest word that is compared, in characters. Nobody types a longer word by hand. */
const maxLength = 64;

/** Finds the known word nearest to `given`, if at most a third of the letters differ. Ignores case; `_` equals `-`. */
export function findSimilarWord(given: string, known: readonly string[]): string | null {
  if (given.length > maxLength) return null;
  const folded = fold(given);
  const allowed = Math.max(1, Math.floor(folded.length / 3));
  const [best] = known
    .map((word) => ({ word, slips: editDistance(folded, fold(word)) }))
    .sort((one, other) => one.slips - other.slips);
  if (best !== undefined && best.slips <= allowed) return best.word;
  // Three or more letters are enough if exactly one known word begins with them.
  const begun = folded.length < 3 ? [] : known.filter((word) => fold(word).startsWith(folded));
  return begun.length === 1 ? (begun[0] ?? null) : null;
}

export function suggestWord(given: string, known: readonly string[], prefix = ""): string {
  const word = findSimilarWord(given, known);
  return word === null ? "" : `; did you mean ${prefix}${word}?`;
}

function fold(word: string): string {
  return word.toLowerCase().replaceAll("_", "-");
}

/** Counts the edits between two words, a swapped pair as one. Above `maxLength`, returns the longer word's length. */
export function editDistance(one: string, other: string): number {
  const longer = Math.max(one.length, other.length);
  if (longer > maxLength) return longer;
  const swapped = Array.from(
    { length: Math.max(0, one.length - 1) },
    (_, at) => one.slice(0, at) + one.charAt(at + 1) + one.charAt(at) + one.slice(at + 2),
  );
  return Math.min(distance(one, other), ...swapped.map((word) => 1 + distance(word, other)));
}
