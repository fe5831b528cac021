/**
 * The text of a file that a person saved, mailed or pasted. Only the encoding of the file is undone here: what is signed
 * is base64url inside that text, and no byte of it changes.
 */

import { type Refusal, refuse } from "./reasons.ts";
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

/** The pieces of a file as UTF-8: as they are, or those of UTF-16 in UTF-8. */
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

/** What to answer for a text in which UTF-16 was read as another encoding; null for every other text. */
export function findMisreadUtf16(text: string): Refusal | null {
  if (!misread.test(text)) return null;
  return refuse(
    "TEXT_DAMAGED",
    "This is UTF-16, read as another encoding: give the file as it is, or save it as UTF-8.",
  );
}

/** What to answer for UTF-16 that {@link decodeText} cannot read; null for bytes that are no UTF-16. */
export function findDamagedUtf16(bytes: Uint8Array): Refusal | null {
  if (!isUtf16(bytes)) return null;
  return refuse("TEXT_DAMAGED", "This is UTF-16 that is cut off or damaged: save it as UTF-8.");
}
