/** The word that was probably meant, for messages about a word that is none. */

/** Longer words are not typed by hand, and comparing them all would cost for nothing. */
const maxLength = 64;

/**
 * The known word that differs least from the given one, when it differs by no more than about a third of it.
 * Case and `-`/`_` do not count: `Dead` and `per_minute` are slips too.
 */
export function didYouMean(given: string, known: readonly string[]): string | null {
  if (given.length > maxLength) return null;
  const folded = fold(given);
  const allowed = Math.max(1, Math.floor(folded.length / 3));
  const [best] = known
    .map((word) => ({ word, distance: distanceOf(folded, fold(word)) }))
    .sort((one, other) => one.distance - other.distance);
  if (best !== undefined && best.distance <= allowed) return best.word;
  // A beginning that only one word has is meant as that word, however much is missing.
  const begun = folded.length < 3 ? [] : known.filter((word) => fold(word).startsWith(folded));
  return begun.length === 1 ? (begun[0] ?? null) : null;
}

/** The words to add to a message: a question, or nothing. */
export function suggestion(given: string, known: readonly string[], prefix = ""): string {
  const word = didYouMean(given, known);
  return word === null ? "" : `; did you mean ${prefix}${word}?`;
}

function fold(word: string): string {
  return word.toLowerCase().replaceAll("_", "-");
}

/**
 * How many letters must be added, left out, replaced or swapped with their neighbour (optimal string alignment):
 * the slips of a hand on a keyboard.
 */
export function distanceOf(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}
