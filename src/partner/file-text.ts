/** The text of a file that a person saved, mailed or pasted. Only the file's encoding is undone: no signed byte changes. */

import { type Refusal, type RefusalReason, refuse } from "./reasons.ts";
import { decodeUtf8 } from "./strict-json.ts";

type Utf16 = "utf-16le" | "utf-16be";

/** The byte order of UTF-16, by its mark, or by the zero bytes beside the ASCII that all our files begin with. */
function utf16Of([a, b, c, d]: Uint8Array): Utf16 | null {
  if (a === 0xff && b === 0xfe) return "utf-16le";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return "utf-16le";
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? "utf-16be" : null;
}

/** Whether a file is in UTF-16, by its first bytes. */
export function isUtf16(bytes: Uint8Array): boolean {
  return utf16Of(bytes) !== null;
}

/** The text without the byte order mark that some editors and shells put before it. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** The text of a file in UTF-8 or UTF-16, without a byte order mark; null when the bytes are neither. */
export function decodeText(bytes: Uint8Array): string | null {
  const encoding = utf16Of(bytes);
  if (encoding === null) {
    const text = decodeUtf8(bytes);
    return text === null ? null : withoutMark(text);
  }
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The text of a proof's file: a mark before UTF-8 stays, because a proof has none. */
export function decodeProof(bytes: Uint8Array): string | null {
  return isUtf16(bytes) ? decodeText(bytes) : decodeUtf8(bytes);
}

/** The text of a file, or a text that was decoded already, without a byte order mark. */
export function textOf(source: string | Uint8Array): string | null {
  return typeof source === "string" ? withoutMark(source) : decodeText(source);
}

/** The pieces of a file in UTF-8 or UTF-16, as UTF-8. */
export async function* piecesInUtf8(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let decoder: TextDecoder | null | undefined;
  for await (const piece of pieces) {
    if (decoder === undefined) {
      const encoding = utf16Of(piece);
      decoder = encoding === null ? null : new TextDecoder(encoding);
    }
    yield decoder === null ? piece : encoder.encode(decoder.decode(piece, { stream: true }));
  }
  // Half a character at the end becomes U+FFFD, which no envelope's JSON ends with.
  if (decoder) yield encoder.encode(decoder.decode());
}

/** UTF-16 that was read as if it were one byte a character: every other character is a NUL. */
const misread = /^(?:\uFFFD{1,2}|\u00FF\u00FE|\u00FE\u00FF)?(?:[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/;

/** Refuses a text in which UTF-16 was read as another encoding; null for every other text. */
export function findMisreadUtf16(text: string): Refusal | null {
  if (!misread.test(text)) return null;
  return refuse(
    "TEXT_DAMAGED",
    "This is UTF-16, read as another encoding: give the file as it is, or save it as UTF-8.",
  );
}

/** Refuses UTF-16 that {@link decodeText} cannot read; null for bytes that are not UTF-16. */
export function findDamagedUtf16(bytes: Uint8Array): Refusal | null {
  if (!isUtf16(bytes)) return null;
  return refuse("TEXT_DAMAGED", "This is UTF-16 that is cut off or damaged: save it as UTF-8.");
}

// Mail and editors fold and quote lines, bend quotation marks and hide spaces. A signature in such a text may be genuine.
// The text is not repaired, because one signature would then have many spellings: the refusal names the damage.

/** More than one mailed envelope has. */
const maxCharacters = 1024 * 1024;
const quotes = /^[ \t]*(?:[>|][ \t]?)+/gm;
const softBreaks = /=[ \t]*\r?\n/g;
const blank = /[\s\u00AD\u200B-\u200F\u2060\uFEFF]+/g;
const bentQuotes = /[\u2018-\u201F\u00AB\u00BB]/;
const hiddenSpaces = /[\u00A0\u00AD\u2000-\u200F\u202F\u2060\uFEFF]/;

/** Whether a compact JWS of a plausible length is in the text; takes linear time. */
function hasJws(text: string): boolean {
  return text.split(/[^\w.-]+/).some((run) => {
    const parts = run.split(".");
    return parts.some((part, at) => {
      const [payload = "", signature = ""] = parts.slice(at + 1, at + 3);
      return part.includes("eyJ") && payload.startsWith("eyJ") && signature.length >= 100;
    });
  });
}

/** The text without quote marks, soft line breaks and white space. */
function unfolded(text: string): string {
  const plain = text.replace(quotes, "").replace(softBreaks, "").replaceAll("=3D", "=");
  return plain
    .replace(blank, "")
    .replace(/[\u2010\u2011\u2212]/g, "-")
    .replace(/[\u2013\u2014]/g, "--");
}

function describeJson(text: string): string | null {
  if (/[^}\]]/.test(text.trimEnd().slice(-1))) return "Its end is missing, or another text follows it.";
  const isFolded = text.replace(/"(?:[^"\\\r\n]|\\.)*"/g, "").includes('"');
  return isFolded ? "A line ends inside a text; mail has folded it." : null;
}

function describe(text: string): string | null {
  const isWhole = hasJws(text);
  if (/^[ \t]*>/m.test(text)) return "Quote marks (>) stand before its lines; mail has quoted it.";
  if (/=[ \t]*\r?\n|=3D/.test(text)) return "It is in quoted-printable, as mail carries a text.";
  if (!isWhole && /[\u2010-\u2014\u2212]/.test(text)) return "An editor has put dashes for hyphens.";
  const isTorn = /\S\s+\S/.test(text) && /^[\w.-]+$/.test(unfolded(text));
  if (!isWhole || isTorn) return "There is white space inside the signature; mail has folded it.";
  if (bentQuotes.test(text)) return "An editor has put curly quotation marks for straight ones.";
  if (/&(?:quot|#0*34);/.test(text)) return "It is in HTML, as a web page or a mail carries a text.";
  if (hiddenSpaces.test(text)) return "An editor has put other spaces for plain ones.";
  if (/^\s*[[{]/.test(text)) return describeJson(text);
  const isAlone = /^[^\s<>"'(),:;[\]{}]*$/.test(text);
  return isAlone ? null : "White space or another text stands around the signature.";
}

/** Names the damage of a text that holds a signature (`TEXT_DAMAGED`, which repeats nothing of the text), or null. */
export function findDamage(text: string): Refusal | null {
  const damage = text.length <= maxCharacters && hasJws(unfolded(text)) ? describe(text) : null;
  return damage === null ? null : refuse("TEXT_DAMAGED", `${damage} Get the file itself.`);
}

/** The same for bytes that are not UTF-8. */
export function findDamageInBytes(bytes: Uint8Array): Refusal | null {
  if (bytes.length > maxCharacters || !hasJws(new TextDecoder("latin1").decode(bytes))) return null;
  return refuse("TEXT_DAMAGED", "It was saved in another character set than UTF-8. Get the file itself.");
}

const unreadable: readonly RefusalReason[] = ["JSON_MALFORMED", "JWS_MALFORMED", "BASE64URL_NOT_CANONICAL"];

/** The text's damage if that is why it could not be read, else the refusal. */
export function damageOr(refusal: Refusal, text: string): Refusal {
  return (unreadable.includes(refusal.reason) ? findDamage(text) : null) ?? refusal;
}
