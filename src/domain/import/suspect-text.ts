/** Detects texts that another program damaged before the extract was written. */

/**
 * Kinds of damage to a text:
 * - `NULL_WORD`: a program's word for an empty value, such as `NULL`, `\N`, `N/A` or a lone 0.
 * - `HTML_ENTITY`: `&amp;`, `&#233;`.
 * - `MOJIBAKE`: UTF-8 that was read as Windows-1252, such as `Ã©` for `é`.
 * - `QUESTION_MARK`: a question mark for a letter that a character set lacks, such as `Ad?bayo`.
 * - `REPLACEMENT_CHARACTER`: U+FFFD, which decoders write for invalid bytes.
 */
export type DamageKind = "NULL_WORD" | "HTML_ENTITY" | "MOJIBAKE" | "QUESTION_MARK" | "REPLACEMENT_CHARACTER";

/** Number of characters that are examined at the beginning of a text. The register refuses longer texts. */
const maxLength = 1000;

export function findDamage(text: string): DamageKind | null {
  const start = text.slice(0, maxLength);
  if (isNullWord(start)) return "NULL_WORD";
  if (start.includes("\ufffd")) return "REPLACEMENT_CHARACTER";
  if (start.includes("&") && entity.test(start)) return "HTML_ENTITY";
  if (beyondAscii.test(start) && mojibake.test(start)) return "MOJIBAKE";
  return /[?¿]/.test(start) && !webAddress.test(start) && lostLetter.test(start) ? "QUESTION_MARK" : null;
}

const beyondAscii = /[^\p{ASCII}]/u;
const entity = /&(?:#\d{2,7}|#x[0-9a-f]{2,6}|[a-z][a-z0-9]{1,30};)/i;
/** Matches a question mark in place of a letter. Oracle writes ¿ instead of a question mark. */
const lostLetter = /[\p{L}\p{M}][?¿]|\?\p{L}|(?:^|\s)\?/u;
const webAddress = /:\/\/|www\./i;

const maxNullLength = 12;
const nullSign = /^(?:\\+n|[(<[{]?null[)>\]}]?|#?n[/.]a\.?|#null!?|0+(?:[.,]0+)?|[-–—]+)$/i;
const nullWord = /^(?:null|nan|na|nil|none|undefined)$/i;
/** Matches `Null`, `Nan`, `Na` and `Nil`, which are surnames if only the first letter is a capital. */
const surname = /^N(?:ull|an|a|il)$/;

function isNullWord(text: string): boolean {
  if (text.length > maxNullLength) return false;
  const word = text.replace(/\s+/g, "");
  return !surname.test(word) && (nullSign.test(word) || nullWord.test(word));
}

/** The characters that Windows-1252 has for the second and later bytes of a UTF-8 letter. */
const trail = "[\u00a0-\u00bf€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ]";
/** Characters that people write after a letter, so that they show no damage: `CAFÉ–BAR`, `RENÉ’S`, `KŘÍŽ`, `NESTLÉ®`. */
const usual = "[ƒŠŒŽšœžŸªµº‘’“”„‚‹›«»…–—·°®™©¹²³¡¿\u00a0]";
/** Matches what Windows-1252 makes of a UTF-8 letter, unless people write the same characters. */
const mojibake = new RegExp(
  [
    // Letters such as `ọ`. The third character may be missing, because Windows-1252 leaves five bytes undefined.
    "á[¸¹º»](?:[^\\s\\p{P}]|\\p{P}\\p{L})",
    // Latin letters with accents become a `trail` character after a capital that no Nigerian language has.
    `[ÂÃÄÅÌ](?![‘’“”„‚‹›«»…–—·\u00a0])${trail}`,
    // People write no capital after a small letter, and no sign between a capital and a small letter.
    `(?<=\\p{Ll})[Â-ß]${trail}|(?<!\\p{L})[Â-ß]${trail}(?=\\p{Ll})`,
    `[Â-ß](?!${usual})${trail}|[à-ï](?!${usual}{2})${trail}{2}|[ð-ô](?!${usual}{3})${trail}{3}`,
  ].join("|"),
  "u",
);
