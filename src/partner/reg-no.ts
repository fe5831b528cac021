/** Registration numbers, as far as a caller needs to know of them. */

/**
 * A number as answers spell it, if it is one: upper case, without white space. Some letters fall apart when they are made
 * upper case, and are put together again.
 */
export function foldRegNo(text: string): string {
  return text.normalize("NFKC").replace(/\s+/g, "").toUpperCase().normalize("NFKC");
}
