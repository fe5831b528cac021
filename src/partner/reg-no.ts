/** Characters of a registration number at most, as somebody types it. */
export const maxRegNoLength = 200;

/**
 * Spells a registration number as answers do: upper case, without white space. Upper case decomposes some letters, which
 * the second normalization composes. A text longer than a number is unchanged: normalizing takes the square of its length.
 */
export function foldRegNo(text: string): string {
  if (text.length > maxRegNoLength) return text;
  return text.normalize("NFKC").replace(/\s+/g, "").toUpperCase().normalize("NFKC");
}
