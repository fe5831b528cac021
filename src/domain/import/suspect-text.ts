/** Detects texts that another program damaged before the extract was written. */

/**
 * The damage of a text:
 * - `NULL_WORD`: a program's word for an empty value, such as `NULL`, `\N`, `N/A` or a lone 0.
 * - `HTML_ENTITY`: `&amp;`, `&#233;`.
 * - `MOJIBAKE`: UTF-8 that was read as Windows-1252, such as `Ã©` for `é`.
 * - `QUESTION_MARK`: a question mark for a letter that a character set lacks, such as `Ad?bayo`.
 * - `REPLACEMENT_CHARACTER`: U+FFFD, which decoders write for invalid bytes.
 */
export type DamageKind = "NULL_WORD" | "HTML_ENTITY" | "MOJIBAKE" | "QUESTION_MARK" | "REPLACEMENT_CHARACTER";

/** The first characters of a text that are examined. No text that the register accepts is longer. */
const maxLength = 1000;

export function findDamage(text: string): DamageKind | null {
  const start = text.slice(0, maxLength);
  if (isNullWord(start)) return "NULL_WORD";
  if (start.includes("\ufffd")) return "REPLACEMENT_CHARACTER";
  if (start.includes("&") && entity.test(start)) return "HTML_ENTITY";
  if (beyondAscii.test(start) && isMojibake(start)) return "MOJIBAKE";
  return /[?¿]/.test(start) && !webAddress.test(start) && lostLetter.test(start) ? "QUESTION_MARK" : null;
}

const beyondAscii = /[^\p{ASCII}]/u;
const entity = /&(?:#\d{2,7}|#x[0-9a-f]{2,6}|[a-z][a-z0-9]{1,30};)/i;
/** A question mark in place of a letter. Oracle writes ¿ instead. */
const lostLetter = /[\p{L}\p{M}][?¿]|\?\p{L}|(?:^|\s)\?/u;
const webAddress = /:\/\/|www\./i;

const maxNullLength = 12;
const nullSign = /^(?:\\+n|[(<[{]?null[)>\]}]?|#?n[/.]a\.?|#null!?|0+(?:[.,]0+)?|[-–—]+)$/i;
const nullWord = /^(?:null|nan|na|nil|none|undefined)$/i;
/** Surnames, if written with one capital: `Null`, `Nan`, `Na` and `Nil`. */
const surname = /^N(?:ull|an|a|il)$/;

function isNullWord(text: string): boolean {
  if (text.length > maxNullLength) return false;
  const word = text.replace(/\s+/g, "");
  return !surname.test(word) && (nullSign.test(word) || nullWord.test(word));
}

/** The characters of bytes 0x80 to 0x9f in Windows-1252. Its five unassigned bytes decode to control characters. */
const highBytes = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const trail = `[\u00a0-\u00bf${highBytes}]`;
/** What Windows-1252 makes of a UTF-8 character of two to four bytes: a letter, then one to three signs. */
const sequence = new RegExp(`[Â-ß]${trail}|[à-ï]${trail}{2}|[ð-ô]${trail}{3}`, "gu");
/** Characters that people write after a letter, so no damage: `CAFÉ–BAR`, `RENÉ’S`, `KŘÍŽ`, `NESTLÉ®`. */
const usualAfterLetter = /^[ƒŠŒŽšœžŸªµº‘’“”„‚‹›«»…–—·°®™©¹²³¡¿\u00a0]+$/u;
/** Letters to which the first bytes of UTF-8 Latin letters decode. They are rare, and no Nigerian language has them. */
const rareCapital = /^[ÂÃÄÅÌ][^‘’“”„‚‹›«»…–—·\u00a0]/u;
/** Letters such as `ọ`, read as Windows-1252. The third character may be missing: Windows-1252 has none for five bytes. */
const dottedLetter = /á[¸¹º»](?:[^\s\p{P}]|\p{P}\p{L})/u;

/** Whether a text has characters whose Windows-1252 bytes are UTF-8, and that people would hardly write. */
function isMojibake(text: string): boolean {
  if (dottedLetter.test(text)) return true;
  for (const { 0: found, index } of text.matchAll(sequence)) {
    if (!isUtf8(found)) continue;
    if (!usualAfterLetter.test(found.slice(1)) || rareCapital.test(found)) return true;
    if (found.length > 2) continue;
    const before = text[index - 1] ?? "";
    const after = text[index + found.length] ?? "";
    // People write no capital after a small letter, and no capital with a sign before a small letter.
    if (/\p{Ll}/u.test(before) || (!/\p{L}/u.test(before) && /\p{Ll}/u.test(after))) return true;
  }
  return false;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function isUtf8(characters: string): boolean {
  const bytes = Array.from(characters, (character) => {
    const at = highBytes.indexOf(character);
    return at < 0 ? character.charCodeAt(0) : 0x80 + at;
  });
  try {
    return !/\p{Cn}|\p{Co}/u.test(utf8.decode(Uint8Array.from(bytes)));
  } catch {
    return false;
  }
}
