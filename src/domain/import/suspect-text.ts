/** Detects texts that another program damaged before it wrote the extract. */

/**
 * The damage of a text:
 * - `NULL_WORD`: a program's word for an empty value, such as `NULL`, `\N`, `N/A` or a lone 0.
 * - `HTML_ENTITY`: `&amp;`, `&#233;`.
 * - `MOJIBAKE`: UTF-8 that was read as Windows-1252, such as `Ã©` for `é`.
 * - `QUESTION_MARK`: a letter that a character set lacks, such as `Ad?bayo`.
 * - `REPLACEMENT_CHARACTER`: U+FFFD, written for bytes outside the character set.
 */
export type SuspectKind =
  | "NULL_WORD"
  | "HTML_ENTITY"
  | "MOJIBAKE"
  | "QUESTION_MARK"
  | "REPLACEMENT_CHARACTER";

/** Characters that are read; the texts of a register are shorter. */
const maxLength = 1000;

export function suspectIn(text: string): SuspectKind | null {
  const start = text.slice(0, maxLength);
  if (isNullWord(start)) return "NULL_WORD";
  if (start.includes("\ufffd")) return "REPLACEMENT_CHARACTER";
  if (start.includes("&") && entity.test(start)) return "HTML_ENTITY";
  if (beyondAscii.test(start) && isMojibake(start)) return "MOJIBAKE";
  return /[?¿]/.test(start) && !webAddress.test(start) && lostLetter.test(start) ? "QUESTION_MARK" : null;
}

const beyondAscii = /[^\p{ASCII}]/u;
const entity = /&(?:#\d{2,7}|#x[0-9a-f]{2,6}|[a-z][a-z0-9]{1,30};)/i;
/** Oracle writes ¿ for a letter that a character set lacks. */
const lostLetter = /[\p{L}\p{M}][?¿]|\?\p{L}|(?:^|\s)\?/u;
const webAddress = /:\/\/|www\./i;

const maxNullLength = 12;
const nullSign = /^(?:\\+n|[(<[{]?null[)>\]}]?|#?n[/.]a\.?|#null!?|0+(?:[.,]0+)?|[-–—]+)$/i;
const nullWord = /^(?:null|nan|na|nil|none|undefined)$/i;
/** `Null`, `Nan`, `Na` and `Nil`, written so, are surnames. */
const surname = /^N(?:ull|an|a|il)$/;

function isNullWord(text: string): boolean {
  if (text.length > maxNullLength) return false;
  const word = text.replace(/\s+/g, "");
  return !surname.test(word) && (nullSign.test(word) || nullWord.test(word));
}

/** Characters of the bytes 0x80 to 0x9f in Windows-1252; its five unused bytes are control characters. */
const highBytes = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const trail = `[\u00a0-\u00bf${highBytes}]`;
/** A UTF-8 character of two to four bytes, read as Windows-1252; its first byte becomes a letter. */
const sequence = new RegExp(`[Â-ß]${trail}|[à-ï]${trail}{2}|[ð-ô]${trail}{3}`, "gu");
/** Letters, and signs that people write after a letter: `CAFÉ–BAR`, `RENÉ’S`, `KŘÍŽ`, `NESTLÉ®`. */
const usualAfterLetter = /^[ƒŠŒŽšœžŸªµº‘’“”„‚‹›«»…–—·°®™©¹²³¡¿\u00a0]+$/u;
/** First bytes of Latin letters and marks; as letters they are rare, and absent from Nigerian languages. */
const rareCapital = /^[ÂÃÄÅÌ][^‘’“”„‚‹›«»…–—·\u00a0]/u;
/** A letter such as ọ, complete or without its last byte, which may have no character in Windows-1252. */
const dottedLetter = /á[¸¹º»](?:[^\s\p{P}]|\p{P}\p{L})/u;

/** Whether the characters' bytes in Windows-1252 are UTF-8, and people would not write these characters. */
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
