/** The most characters of a typed registration number. A longer text is not normalized. */
export const maxRegNoCharacters = 200;

/**
 * Spells a registration number as answers do: upper case, without white space. Upper-casing decomposes some letters, so
 * the text is normalized twice. A text over `maxRegNoCharacters` is returned unchanged: normalizing takes quadratic time.
 */
export function normalizeRegNo(text: string): string {
  if (text.length > maxRegNoCharacters) return text;
  return text.normalize("NFKC").replace(/\s+/g, "").toUpperCase().normalize("NFKC");
}
