/** Registration numbers, as far as a caller needs to know of them. */

/** Characters of a registration number at most, as somebody types it. A longer text is no number. */
export const maxRegNoLength = 200;

/**
 * A number as answers spell it, if it is one: upper case, without white space. Some letters fall apart when they are made
 * upper case, and are put together again.
 * @returns a text that is too long for a number, unchanged: normalizing it takes the square of its length
 */
export function foldRegNo(text: string): string {
  if (text.length > maxRegNoLength) return text;
  return text.normalize("NFKC").replace(/\s+/g, "").toUpperCase().normalize("NFKC");
}
