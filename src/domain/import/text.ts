/** Finds a file's kind by its first bytes, and a text's character set and delimiter. */

import { Buffer, isAscii, isUtf8 } from "node:buffer";
import { UnreadableError } from "./fields.ts";

export const csvDelimiters = [",", ";", "\t", "|"] as const;
export type Delimiter = (typeof csvDelimiters)[number];

export const textEncodings = ["utf-8", "utf-16le", "utf-16be", "windows-1252", "iso-8859-1"] as const;
export type Encoding = (typeof textEncodings)[number];

/** Number of bytes at a file's beginning that show its format, encoding, delimiter and header. */
const beginningBytes = 64 * 1024;

/** Reads the beginning of a file. @returns the beginning, and `whole`, which yields all bytes of the file */
export async function readBeginning(bytes: AsyncIterable<Uint8Array>) {
  const pieces = bytes[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  for (let length = 0; length < beginningBytes; length += first.at(-1)?.length ?? 0) {
    const next = await pieces.next();
    if (next.done) break;
    first.push(next.value);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    try {
      yield* first;
      yield* { [Symbol.asyncIterator]: () => pieces };
    } finally {
      // Closes the file if the reader of `whole` stops early.
      await pieces.return?.();
    }
  }
  return { beginning: Buffer.concat(first).subarray(0, beginningBytes), whole: whole() };
}

/** Detects UTF-16 by its byte order mark, or by its zero bytes. @returns null for other text */
export function detectUtf16([a, b, c, d]: Uint8Array): { encoding: Encoding; isMarked: boolean } | null {
  if (a === 0xff && b === 0xfe) return { encoding: "utf-16le", isMarked: true };
  if (a === 0xfe && b === 0xff) return { encoding: "utf-16be", isMarked: true };
  // Extracts begin with ASCII characters. In UTF-16 every second byte of such characters is 0.
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return { encoding: "utf-16le", isMarked: false };
  return a === 0 && b !== 0 && c === 0 ? { encoding: "utf-16be", isMarked: false } : null;
}

/**
 * Reads the character set from a text's byte order mark.
 * @returns null without a mark
 * @throws UnreadableError for UTF-16 without a mark, because the operator must confirm the byte order
 */
export function readByteOrderMark(first: Uint8Array): Encoding | null {
  if (first[0] === 0xef && first[1] === 0xbb && first[2] === 0xbf) return "utf-8";
  const found = detectUtf16(first);
  if (found === null || found.isMarked) return found?.encoding ?? null;
  throw new UnreadableError(
    1,
    `this is UTF-16 without a mark: give --encoding ${found.encoding}, or save it as UTF-8 (spreadsheets offer \`CSV UTF-8\`)`,
  );
}

/** Refuses UTF-8 for which a mapping names a single-byte encoding: names would be damaged. @throws UnreadableError */
export function refuseUnexpectedUtf8(beginning: Uint8Array, encoding: Encoding): void {
  if (encoding !== "windows-1252" && encoding !== "iso-8859-1") return;
  const whole = beginning.subarray(0, beginning.lastIndexOf(0x0a) + 1);
  if (isAscii(whole) || !isUtf8(whole)) return;
  throw new UnreadableError(
    1,
    `the mapping says ${encoding}, and this is UTF-8; give --encoding utf-8, or --encoding ${encoding} if it is that all the same`,
  );
}

function beginsWith(bytes: Uint8Array, mark: string): boolean {
  return Buffer.from(bytes.subarray(0, 4)).toString("hex").startsWith(mark);
}

export const isZipArchive = (bytes: Uint8Array) => beginsWith(bytes, "504b0304");

/** Whether a file begins as an OLE compound file: an .xls workbook, or an .xlsx workbook with a password. */
export const isOleCompoundFile = (bytes: Uint8Array) => beginsWith(bytes, "d0cf11e0");

/** The first bytes of gzip, xz, bzip2, Zstandard, 7z and RAR files, in hex. */
const compressed = ["1f8b", "fd377a58", "425a68", "28b52ffd", "377abcaf", "52617221"];

export function refuseCompressedOrPdf(first: Uint8Array): void {
  if (compressed.some((mark) => beginsWith(first, mark)))
    throw new UnreadableError(1, "the file is compressed; unpack it first");
  if (beginsWith(first, "25504446"))
    throw new UnreadableError(1, "this is a PDF; ask for the extract as CSV or .xlsx");
}

/** Converts text to UTF-8. @throws UnreadableError for bytes that are invalid in `encoding`, and for a NUL */
export async function* convertToUtf8(pieces: AsyncIterable<Uint8Array>, encoding: Encoding) {
  const decoder = encoding === "iso-8859-1" ? latin1Decoder() : new TextDecoder(encoding, { fatal: true });
  const isOwn = encoding === "utf-8";
  let line = 1;
  /** @param piece undefined after the last piece */
  function decode(piece?: Uint8Array): string {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      if (isOwn) throw new UnreadableError(line + firstBadLine(piece), notUtf8, { isNotUtf8: true });
      throw new UnreadableError(line, "the text is cut short in the middle of a character");
    }
  }
  for await (const piece of pieces) {
    const text = decode(piece);
    const bytes = isOwn ? piece : Buffer.from(text);
    const nul = bytes.indexOf(0);
    if (nul !== -1)
      throw new UnreadableError(
        line + linesIn(bytes.subarray(0, nul)),
        `a NUL byte; this is no ${nameOf(encoding)} text`,
      );
    line += linesIn(bytes);
    yield bytes;
  }
  const rest = decode();
  if (!isOwn && rest !== "") yield Buffer.from(rest);
}

const notUtf8 =
  "this is not UTF-8; if a program on Windows wrote it, give --encoding windows-1252, else save the file as UTF-8 text";

function nameOf(encoding: Encoding): string {
  return encoding.startsWith("utf-16") ? "UTF-16" : encoding === "utf-8" ? "UTF-8" : encoding;
}

/** Decodes ISO 8859-1 with Buffer, because TextDecoder reads windows-1252 under the name iso-8859-1. */
function latin1Decoder(): { decode(piece?: Uint8Array, options?: object): string } {
  return { decode: (piece) => (piece === undefined ? "" : Buffer.from(piece).toString("latin1")) };
}

/** Counts the lines before the piece's first line that is not UTF-8. */
function firstBadLine(piece: Uint8Array = new Uint8Array()): number {
  const lines = Buffer.from(piece).toString("latin1").split("\n");
  const bad = lines.findIndex((line) => !isUtf8(Buffer.from(line, "latin1")));
  return bad === -1 ? lines.length - 1 : bad;
}

function linesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count++;
  return count;
}

/** The last line on which a header is looked for (decision D7.10). */
export const maxHeaderLine = 20;

/** Finds the delimiter that gives a line the most known column names or, in a tie, gives the most regular rows. */
export function sniffDelimiter(text: string, isKnown: (name: string) => boolean): Delimiter {
  const lines = text.split(/\r\n|\n|\r/, maxHeaderLine).filter((line) => line.trim() !== "");
  const scored = csvDelimiters.map((delimiter) => {
    const rows = lines.map((line) => cellsOf(line, delimiter));
    const known = Math.max(0, ...rows.map((cells) => cells.filter(isKnown).length));
    return { delimiter, known, regular: countRegularDelimiters(rows.map((cells) => cells.length)) };
  });
  const [best] = scored.sort((one, other) => other.known - one.known || other.regular - one.regular);
  return best === undefined || (best.known === 0 && best.regular === 0) ? "," : best.delimiter;
}

function cellsOf(line: string, delimiter: Delimiter): string[] {
  const parted = line.replace(/"(?:[^"]|"")*"/g, (quoted) => quoted.replaceAll(delimiter, " "));
  return parted.split(delimiter).map((cell) => cell.replaceAll('"', "").trim());
}

/** Groups rows by their number of cells. @returns the number of delimiters in the group with the most delimiters */
function countRegularDelimiters(lengths: readonly number[]): number {
  const rows = Map.groupBy(lengths, (length) => length);
  return Math.max(0, ...[...rows].map(([length, alike]) => (length - 1) * alike.length));
}

const megabyte = 1024 * 1024;

/** Limits against zip bombs. The compression ratio is limited only if more than `ratioFrom` bytes are unpacked. */
export const archiveLimits = { bytes: 1024 * megabyte, entries: 10_000, ratio: 60, ratioFrom: 32 * megabyte };

export const workbookTooLargeMessage = "the workbook is larger than tvs reads; save the sheet as CSV";
export const workbookDamagedMessage =
  "the workbook is damaged; open it in a spreadsheet and save it again, as .xlsx or CSV";

/**
 * Lists the files in a zip archive. Names are in lower case, because readers of workbooks ignore case.
 * @throws UnreadableError for a damaged archive, a name that is listed twice, or sizes above `archiveLimits`
 */
export function listZipEntries(bytes: Uint8Array): ReadonlySet<string> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return partsIn(file);
  } catch (error) {
    throw error instanceof UnreadableError
      ? error
      : new UnreadableError(1, workbookDamagedMessage, { cause: error });
  }
}

function partsIn(file: Buffer): ReadonlySet<string> {
  const end = file.lastIndexOf("PK\x05\x06");
  if (end === -1) throw new UnreadableError(1, workbookDamagedMessage);
  const count = file.readUInt16LE(end + 10);
  if (count > archiveLimits.entries) throw new UnreadableError(1, workbookTooLargeMessage);
  let at = file.readUInt32LE(end + 16);
  let unpacked = 0;
  const names = new Set<string>();
  for (let index = 0; index < count; index++) {
    if (file.readUInt32LE(at) !== 0x02014b50) throw new UnreadableError(1, workbookDamagedMessage);
    const name = file.readUInt16LE(at + 28);
    const label = file.toString("latin1", at + 46, at + 46 + name).toLowerCase();
    if (names.has(label)) throw new UnreadableError(1, workbookDamagedMessage);
    names.add(label);
    unpacked += sizeOf(file, at, name);
    at += 46 + name + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  const { bytes, ratio, ratioFrom } = archiveLimits;
  if (unpacked > bytes || (unpacked > ratioFrom && unpacked > ratio * file.length))
    throw new UnreadableError(1, workbookTooLargeMessage);
  return names;
}

/** Reads the unpacked size of a file in the archive. In Zip64 the size is in the extra field with id 1. */
function sizeOf(file: Buffer, at: number, nameLength: number): number {
  const size = file.readUInt32LE(at + 24);
  const extra = at + 46 + nameLength;
  const is64 = size === 0xffffffff && file.readUInt16LE(extra) === 1;
  return is64 ? Number(file.readBigUInt64LE(extra + 4)) : size;
}
