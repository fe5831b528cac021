/** The word that was probably meant, for messages about a word that is none. */
import { distance } from "fastest-levenshtein";

/** Characters of a word that is compared, at most: longer ones are not typed by hand. */
const maxLength = 64;

/** The known word that differs least, by about a third at most. Case and `-`/`_` do not count: `Dead` is a slip too. */
export function didYouMean(given: string, known: readonly string[]): string | null {
  if (given.length > maxLength) return null;
  const folded = fold(given);
  const allowed = Math.max(1, Math.floor(folded.length / 3));
  const [best] = known
    .map((word) => ({ word, slips: slipsBetween(folded, fold(word)) }))
    .sort((one, other) => one.slips - other.slips);
  if (best !== undefined && best.slips <= allowed) return best.word;
  // A beginning that only one word has is meant as that word, however much is missing.
  const begun = folded.length < 3 ? [] : known.filter((word) => fold(word).startsWith(folded));
  return begun.length === 1 ? (begun[0] ?? null) : null;
}

export function suggestion(given: string, known: readonly string[], prefix = ""): string {
  const word = didYouMean(given, known);
  return word === null ? "" : `; did you mean ${prefix}${word}?`;
}

function fold(word: string): string {
  return word.toLowerCase().replaceAll("_", "-");
}

/** Counts the slips of a hand between two words; swapped neighbours are one slip. Of a long text, the longer length. */
export function slipsBetween(one: string, other: string): number {
  const longer = Math.max(one.length, other.length);
  if (longer > maxLength) return longer;
  const swapped = Array.from(
    { length: Math.max(0, one.length - 1) },
    (_, at) => one.slice(0, at) + one.charAt(at + 1) + one.charAt(at) + one.slice(at + 2),
  );
  return Math.min(distance(one, other), ...swapped.map((word) => 1 + distance(word, other)));
}
