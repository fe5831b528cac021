/** Decodes files that a person saved, mailed or pasted. The text may be signed, so a damaged text is never repaired. */

import { type Refusal, type RefusalReason, refuse } from "./reasons.ts";
import { decodeUtf8 } from "./strict-json.ts";

type Utf16 = "utf-16le" | "utf-16be";

/**
 * Finds the byte order of UTF-16, by the byte order mark or by zero bytes; null if a file is not UTF-16. The files that
 * are read here begin with two ASCII characters, and UTF-16 writes each of the two with one zero byte.
 */
function utf16EncodingOf([a, b, c, d]: Uint8Array): Utf16 | null {
  if (a === 0xff && b === 0xfe) return "utf-16le";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return "utf-16le";
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? "utf-16be" : null;
}

/** Whether a file is in UTF-16, as its first four bytes show. */
export function isUtf16(bytes: Uint8Array): boolean {
  return utf16EncodingOf(bytes) !== null;
}

/** Removes the byte order mark, which some editors and shells put before a text. */
export function removeByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** Decodes a file in UTF-8 or UTF-16 and removes the byte order mark; null if the bytes are in neither encoding. */
export function decodeTextFile(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(utf16EncodingOf(bytes) ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes the file of a log proof. A byte order mark before UTF-8 is kept, so that `openLogProof` refuses the file. */
export function decodeProofFile(bytes: Uint8Array): string | null {
  return isUtf16(bytes) ? decodeTextFile(bytes) : decodeUtf8(bytes);
}

/** Decodes a file, or accepts a decoded text, and removes the byte order mark; null if the bytes cannot be decoded. */
export function decodeBytesOrText(source: string | Uint8Array): string | null {
  return typeof source === "string" ? removeByteOrderMark(source) : decodeTextFile(source);
}

/** Converts the pieces of a file in UTF-8 or UTF-16 to UTF-8. */
export async function* convertPiecesToUtf8(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let decoder: TextDecoder | null | undefined;
  for await (const piece of pieces) {
    if (decoder === undefined) {
      const encoding = utf16EncodingOf(piece);
      decoder = encoding === null ? null : new TextDecoder(encoding);
    }
    yield decoder === null ? piece : encoder.encode(decoder.decode(piece, { stream: true }));
  }
  // Half a character at the end becomes U+FFFD, with which no valid JSON ends.
  if (decoder) yield encoder.encode(decoder.decode());
}

/** The detail of `TEXT_DAMAGED` for UTF-16 that is damaged, or that was decoded in another encoding. */
const damagedUtf16 =
  "This is UTF-16 that is cut off, damaged or read as another encoding: give the file as it is, or save it as UTF-8.";

/** Matches UTF-16 that was decoded with one byte per character: every other character is NUL. */
const misreadUtf16 = /^(?:\uFFFD{1,2}|\u00FF\u00FE|\u00FE\u00FF)?(?:[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/;

/** Refuses a text in which UTF-16 was read as another encoding; null for every other text. */
export function findMisreadUtf16(text: string): Refusal | null {
  return misreadUtf16.test(text) ? refuse("TEXT_DAMAGED", damagedUtf16) : null;
}

/** Refuses UTF-16 bytes; null for other bytes. Call it only after {@link decodeTextFile} has failed on the bytes. */
export function findDamagedUtf16(bytes: Uint8Array): Refusal | null {
  return isUtf16(bytes) ? refuse("TEXT_DAMAGED", damagedUtf16) : null;
}

// Mail and editors fold and quote lines, and insert curly quotation marks and invisible spaces. The signature may still be
// genuine. The text is not repaired, so that a signature has only one valid spelling. The refusal names the damage.

/** A longer text is not searched for damage: an envelope in a mail is much shorter. */
const maxCharacters = 1024 * 1024;
const quotes = /^[ \t]*(?:[>|][ \t]?)+/gm;
const softBreaks = /=[ \t]*\r?\n/g;
const blank = /[\s\u00AD\u200B-\u200F\u2060\uFEFF]+/g;
const curlyQuotes = /[\u2018-\u201F\u00AB\u00BB]/;
const hiddenSpaces = /[\u00A0\u00AD\u2000-\u200F\u202F\u2060\uFEFF]/;

/** Whether a text contains a compact JWS of plausible length. The search takes linear time. */
function hasJws(text: string): boolean {
  return text.split(/[^\w.-]+/).some((run) => {
    const parts = run.split(".");
    return parts.some((part, at) => {
      const [payload = "", signature = ""] = parts.slice(at + 1, at + 3);
      return part.includes("eyJ") && payload.startsWith("eyJ") && signature.length >= 100;
    });
  });
}

/** Removes quote marks, soft line breaks and white space. The result serves only to detect a signature in a text. */
function undoFolding(text: string): string {
  const plain = text.replace(quotes, "").replace(softBreaks, "").replaceAll("=3D", "=");
  return plain
    .replace(blank, "")
    .replace(/[\u2010\u2011\u2212]/g, "-")
    .replace(/[\u2013\u2014]/g, "--");
}

function describeJsonDamage(text: string): string | null {
  if (/[^}\]]/.test(text.trimEnd().slice(-1))) return "Its end is missing, or another text follows it.";
  const isFolded = text.replace(/"(?:[^"\\\r\n]|\\.)*"/g, "").includes('"');
  return isFolded ? "A line ends inside a text; mail has folded it." : null;
}

function describeDamage(text: string): string | null {
  const isWhole = hasJws(text);
  if (/^[ \t]*>/m.test(text)) return "Quote marks (>) stand before its lines; mail has quoted it.";
  if (/=[ \t]*\r?\n|=3D/.test(text)) return "It is in quoted-printable, as mail carries a text.";
  if (!isWhole && /[\u2010-\u2014\u2212]/.test(text)) return "An editor has put dashes for hyphens.";
  const isTorn = /\S\s+\S/.test(text) && /^[\w.-]+$/.test(undoFolding(text));
  if (!isWhole || isTorn) return "There is white space inside the signature; mail has folded it.";
  if (curlyQuotes.test(text)) return "An editor has put curly quotation marks for straight ones.";
  if (/&(?:quot|#0*34);/.test(text)) return "It is in HTML, as a web page or a mail carries a text.";
  if (hiddenSpaces.test(text)) return "An editor has put other spaces for plain ones.";
  if (/^\s*[[{]/.test(text)) return describeJsonDamage(text);
  const isAlone = /^[^\s<>"'(),:;[\]{}]*$/.test(text);
  return isAlone ? null : "White space or another text stands around the signature.";
}

/** Refuses a damaged text that has a signature: the detail of `TEXT_DAMAGED` names the damage. Null for other texts. */
export function findTextDamage(text: string): Refusal | null {
  const damage = text.length <= maxCharacters && hasJws(undoFolding(text)) ? describeDamage(text) : null;
  return damage === null ? null : refuse("TEXT_DAMAGED", `${damage} Get the file itself.`);
}

/** Refuses bytes that are not UTF-8 and contain a signature (`TEXT_DAMAGED`); null for other bytes. */
export function findDamageInBytes(bytes: Uint8Array): Refusal | null {
  if (bytes.length > maxCharacters || !hasJws(new TextDecoder("latin1").decode(bytes))) return null;
  return refuse("TEXT_DAMAGED", "It was saved in another character set than UTF-8. Get the file itself.");
}

const formReasons: readonly RefusalReason[] = ["JSON_MALFORMED", "JWS_MALFORMED", "BASE64URL_NOT_CANONICAL"];

/** Returns `TEXT_DAMAGED` if damage explains why a text could not be read; in all other cases returns `refusal`. */
export function explainByDamage(refusal: Refusal, text: string): Refusal {
  return (formReasons.includes(refusal.reason) ? findTextDamage(text) : null) ?? refusal;
}
