/** The sheets of an Excel workbook (.xlsx: ECMA-376, part 1), read as the rows of an extract. */

import { Buffer } from "node:buffer";
import { Parser } from "saxen";
import { type Entry, fromBufferPromise } from "yauzl";
import type { TableRecord } from "./csv.ts";
import { UnreadableError } from "./fields.ts";

/**
 * What a workbook may be at most. It is as untrusted as any file: a few kilobytes unpack to gigabytes, so what comes
 * out is counted, whatever the archive says of itself.
 */
export const workbookLimits = {
  /** Of the file, which is kept in memory while it is read. */
  fileBytes: 128 * 1024 * 1024,
  /** Of the parts that are read, unpacked. */
  unpackedBytes: 512 * 1024 * 1024,
  /** Of the table of texts, which is kept in memory too. */
  stringBytes: 128 * 1024 * 1024,
  /** What may stand between two marks of XML. */
  tokenBytes: 1024 * 1024,
  /** Of the parser's own work, not of who waits for its rows. */
  parseMs: 30_000,
  entries: 10_000,
  depth: 64,
  columns: 256,
};
type Limits = typeof workbookLimits;

export const tooLarge = "the workbook is larger than tvs reads; save the sheet as CSV";
const damaged = "the workbook is damaged; open it in a spreadsheet and save it again, as .xlsx or CSV";

/** Whether a file begins as a zip archive does, which a workbook is. */
export function isWorkbook([a, b, c, d]: Uint8Array): boolean {
  return a === 0x50 && b === 0x4b && c === 3 && d === 4;
}

type SheetOptions = {
  readonly sheet?: string | undefined;
  readonly preferred?: string | undefined;
  readonly limits?: Limits;
};

/**
 * Reads a sheet, some rows at a time. Text is as it stands, a number as its digits, a cell that is shown as a date is
 * one (YYYY-MM-DD), whatever its time of day; of a formula the last result is read. Rows have the cells up to the last
 * one that is filled.
 * @param options `sheet` names the sheet; without it, the one that is `preferred`, if it is there, else the first
 * @throws UnreadableError when it is no workbook, is damaged, too large, or has no such sheet
 */
export async function* readWorkbook(
  bytes: Uint8Array,
  { sheet, preferred, limits = workbookLimits }: SheetOptions,
): AsyncGenerator<TableRecord[]> {
  const parts = await openParts(bytes, limits);
  try {
    const book = await readBook(parts);
    const named = book.sheets.find(({ name }) => name === (sheet ?? preferred));
    const found = sheet === undefined ? (named ?? book.sheets[0]) : named;
    if (found === undefined) throw new UnreadableError(1, noSheet(sheet, book.sheets.length));
    const context = {
      strings: await readStrings(parts),
      dateStyles: await readDateStyles(parts),
      dateOfSerial: book.is1904 ? dateSince1904 : dateSince1900,
    };
    yield* readSheet(parts, found.part, context);
  } catch (error) {
    throw error instanceof UnreadableError ? error : new UnreadableError(1, damaged, { cause: error });
  } finally {
    parts.zip.close();
  }
}

function noSheet(sheet: string | undefined, sheets: number): string {
  if (sheet === undefined) return damaged;
  return `the workbook has no sheet of the name that was asked for; it has ${sheets}, and --sheet names one`;
}

type Parts = Awaited<ReturnType<typeof openParts>>;

async function openParts(bytes: Uint8Array, limits: Limits) {
  if (bytes.length > limits.fileBytes) throw new UnreadableError(1, tooLarge);
  try {
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (zip.entryCount > limits.entries) throw new UnreadableError(1, tooLarge);
    const entries = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) {
      // Which of two parts of one name is meant cannot be known.
      if (entries.has(entry.fileName)) throw new UnreadableError(1, damaged);
      entries.set(entry.fileName, entry);
    }
    return { zip, entries, limits, unpacked: 0, parsedMs: 0 };
  } catch (error) {
    throw error instanceof UnreadableError ? error : new UnreadableError(1, damaged, { cause: error });
  }
}

type Attributes = Readonly<Record<string, string>>;
type Listener = {
  open?(name: string, attributes: () => Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
};

/** Parses a part of the archive; yields whenever a piece of it has been parsed. A part that is not there is empty. */
async function* parsePart(parts: Parts, path: string, listener: Listener): AsyncGenerator<void> {
  const entry = parts.entries.get(path);
  if (entry === undefined) return;
  let pending = 0;
  let depth = 0;
  const parser = new Parser();
  parser.on("openTag", (name, attributes, decode) => {
    pending = 0;
    if (++depth > parts.limits.depth) throw new UnreadableError(1, damaged);
    listener.open?.(localName(name), () => decoded(attributes(), decode));
  });
  parser.on("text", (text, decode) => {
    pending = 0;
    listener.text?.(decode(text));
  });
  parser.on("cdata", (text) => {
    pending = 0;
    listener.text?.(text);
  });
  parser.on("closeTag", (name) => {
    pending = 0;
    depth--;
    listener.close?.(localName(name));
  });
  parser.on("error", (error) => {
    throw error;
  });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const piece of await parts.zip.openReadStreamPromise(entry)) {
    parts.unpacked += piece.length;
    pending += piece.length;
    if (parts.unpacked > parts.limits.unpackedBytes) throw new UnreadableError(1, tooLarge);
    // The parser keeps what is not complete, and looks at the whole of it with each piece.
    if (pending > parts.limits.tokenBytes) throw new UnreadableError(1, damaged);
    const began = performance.now();
    parser.write(decoder.decode(piece, { stream: true }));
    parts.parsedMs += performance.now() - began;
    if (parts.parsedMs > parts.limits.parseMs) throw new UnreadableError(1, tooLarge);
    yield;
  }
  parser.write(decoder.decode());
  parser.end();
}

function decoded(attributes: Attributes, decode: (text: string) => string): Attributes {
  // Nearly no cell has one with an entity.
  if (!Object.values(attributes).some((value) => value.includes("&"))) return attributes;
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, decode(value)]));
}

/** Whatever prefix the file's maker has bound to the namespace. */
function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

async function parseWhole(parts: Parts, path: string, listener: Listener): Promise<void> {
  for await (const _ of parsePart(parts, path, listener));
}

type Book = { readonly sheets: readonly { name: string; part: string }[]; readonly is1904: boolean };

async function readBook(parts: Parts): Promise<Book> {
  const targets = new Map<string, string>();
  await parseWhole(parts, "xl/_rels/workbook.xml.rels", {
    open(name, attributes) {
      const { Id, Target } = name === "Relationship" ? attributes() : {};
      if (Id !== undefined && Target !== undefined) targets.set(Id, partOf(Target));
    },
  });
  const sheets: { name: string; part: string }[] = [];
  let is1904 = false;
  await parseWhole(parts, "xl/workbook.xml", {
    open(name, attributes) {
      if (name === "workbookPr") is1904 = ["1", "true"].includes(attributes().date1904 ?? "");
      if (name !== "sheet") return;
      const { name: label, "r:id": id } = withPrefixR(attributes());
      const part = id === undefined ? undefined : targets.get(id);
      if (label !== undefined && part !== undefined) sheets.push({ name: label, part });
    },
  });
  return { sheets, is1904 };
}

/** The relation's id, under whatever prefix. */
function withPrefixR(attributes: Attributes): Attributes {
  const [, id] = Object.entries(attributes).find(([name]) => /^\w+:id$/.test(name)) ?? [];
  return id === undefined ? attributes : { ...attributes, "r:id": id };
}

function partOf(target: string): string {
  return target.startsWith("/") ? target.slice(1) : `xl/${target}`;
}

async function readStrings(parts: Parts): Promise<readonly string[]> {
  const strings: string[] = [];
  let bytes = 0;
  let text = "";
  let inText = false;
  let inReading = false;
  await parseWhole(parts, "xl/sharedStrings.xml", {
    open(name) {
      if (name === "si") text = "";
      else if (name === "rPh") inReading = true;
      else if (name === "t") inText = !inReading;
    },
    text(part) {
      if (inText) text += part;
    },
    close(name) {
      if (name === "t") inText = false;
      else if (name === "rPh") inReading = false;
      else if (name === "si") {
        bytes += text.length + stringOverhead;
        if (bytes > parts.limits.stringBytes) throw new UnreadableError(1, tooLarge);
        // A text of its own: a part of the parser's text would keep the whole of that in memory.
        strings.push(Buffer.from(text).toString());
      }
    },
  });
  return strings;
}

/** What a text takes besides its characters. */
const stringOverhead = 64;

/** The numbers of the formats that are dates in every language (ECMA-376 18.8.30). */
const dateFormats = new Set([14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 57, 58]);

/** The styles of cells, by number, whose numbers are shown as dates. */
async function readDateStyles(parts: Parts): Promise<ReadonlySet<number>> {
  const formats = new Set(dateFormats);
  const styles = new Set<number>();
  let inCells = false;
  let style = 0;
  await parseWhole(parts, "xl/styles.xml", {
    open(name, attributes) {
      if (name === "numFmt") {
        const { numFmtId, formatCode = "" } = attributes();
        if (showsDate(formatCode)) formats.add(Number(numFmtId));
        else formats.delete(Number(numFmtId));
      } else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells && formats.has(Number(attributes().numFmtId))) styles.add(style++);
      else if (name === "xf" && inCells) style++;
    },
    close(name) {
      if (name === "cellXfs") inCells = false;
    },
  });
  return styles;
}

/** Whether a format of numbers shows a day: with a day or a year, outside quotes, brackets and escapes. */
function showsDate(format: string): boolean {
  return /[dy]/i.test(format.replace(/"[^"]*"|\[[^\]]*\]|\\.|_./g, ""));
}

const dayMs = 86_400_000;

/** Excel counts 29 February 1900, which never was. */
function dateSince1900(serial: number): string | null {
  return isoDate(Date.UTC(1899, 11, serial < 61 ? 31 : 30) + Math.floor(serial) * dayMs);
}

function dateSince1904(serial: number): string | null {
  return isoDate(Date.UTC(1904, 0, 1) + Math.floor(serial) * dayMs);
}

function isoDate(ms: number): string | null {
  const isInRange = ms >= Date.UTC(1900, 0, 1) && ms < Date.UTC(10_000, 0, 1);
  return isInRange ? new Date(ms).toISOString().slice(0, 10) : null;
}

/** The date of a serial number as spreadsheets keep it, in the system that counts from 1900; null when it is none. */
export function dateOfSerial(text: string): string | null {
  return /^\d{1,7}(?:[.,]\d+)?$/.test(text) && Number.parseInt(text, 10) > 0
    ? dateSince1900(Number.parseInt(text, 10))
    : null;
}

type SheetContext = {
  readonly strings: readonly string[];
  readonly dateStyles: ReadonlySet<number>;
  readonly dateOfSerial: (serial: number) => string | null;
};

type Cell = { readonly column: number; readonly type: string; readonly style: number; text: string };

async function* readSheet(parts: Parts, path: string, context: SheetContext): AsyncGenerator<TableRecord[]> {
  if (!parts.entries.has(path)) throw new UnreadableError(1, damaged);
  let records: TableRecord[] = [];
  let line = 0;
  let cells: string[] = [];
  let cell: Cell | undefined;
  let inValue = false;
  const pieces = parsePart(parts, path, {
    open(name, attributes) {
      if (name === "c") {
        const { r, t = "n", s } = attributes();
        cell = { column: columnOf(r, cells.length), type: t, style: Number(s ?? 0), text: "" };
      } else if (name === "v" || name === "t") inValue = true;
      else if (name === "rPh") inValue = false;
      else if (name === "row") {
        const given = Number(attributes().r);
        line = given > line ? given : line + 1;
        cells = [];
      }
    },
    text(part) {
      if (inValue && cell !== undefined) cell.text += part;
    },
    close(name) {
      if (name === "v" || name === "t") inValue = false;
      else if (name === "c" && cell !== undefined) {
        const text = textOf(cell, context);
        if (text !== "") {
          while (cells.length < cell.column) cells.push("");
          cells[cell.column] = text;
        }
        cell = undefined;
      } else if (name === "row") records.push({ line, cells });
    },
  });
  for await (const _ of pieces) {
    yield records;
    records = [];
  }
  yield records;
}

/** The number of a column from a cell's address, `C5` being 2; the one behind the last without an address. */
function columnOf(address: string | undefined, next: number): number {
  const letters = /^[A-Z]{1,3}/.exec(address ?? "")?.[0];
  if (letters === undefined) return next;
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
  if (column >= workbookLimits.columns) throw new UnreadableError(1, tooLarge);
  return column;
}

function textOf({ type, style, text }: Cell, { strings, dateStyles, dateOfSerial }: SheetContext): string {
  switch (type) {
    case "s":
      return strings[Number(text)] ?? "";
    case "b":
      return text === "1" ? "true" : "false";
    case "d":
      return text.slice(0, 10);
    case "n":
      if (text === "") return "";
      return (dateStyles.has(style) ? dateOfSerial(Number(text)) : null) ?? digitsOf(text);
    default:
      return text;
  }
}

/** A whole number is written without an exponent, as the sheet shows it when its column is wide enough. */
function digitsOf(text: string): string {
  if (/^\d+$/.test(text)) return text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : text;
}
