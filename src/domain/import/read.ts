/** Reads an extract in any known format and encoding, with a mapping if the file needs one (decisions D7.10, D7.11). */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { BlindIndex } from "../blind-index.ts";
import { TvsError } from "../errors.ts";
import { type ExtractFindings, refuseUnreadStatusColumn } from "./arrival.ts";
import { readCsv, type TableRecord } from "./csv.ts";
import type { ImportFormat } from "./fields.ts";
import { formatOfFileName, maxRowLength, normalizeName, UnreadableError } from "./fields.ts";
import { type CompiledMapping, compileMapping, type Mapping } from "./mapping.ts";
import { readNdjsonRows } from "./ndjson.ts";
import type { CodeExplanations } from "./report.ts";
import { type CheckedRow, checkRow, requiredFields } from "./rows.ts";
import { findField, findHeader, readTableRows, type TableLayout } from "./table.ts";
import {
  convertToUtf8,
  type Delimiter,
  detectUtf16,
  type Encoding,
  isOleCompoundFile,
  isZipArchive,
  readBeginning,
  readByteOrderMark,
  refuseCompressedOrPdf,
  refuseUnexpectedUtf8,
  sniffDelimiter,
  workbookTooLargeMessage,
} from "./text.ts";
import type { Sheet, SheetOptions } from "./workbook.ts";

/** Options that say how a file is read. An option overrides the mapping's member of the same name. */
export type ReadOptions = {
  readonly delimiter?: Delimiter | undefined;
  readonly encoding?: Encoding | undefined;
  readonly sheet?: string | undefined;
  readonly mapping?: Mapping | undefined;
  /** The stored mapping of the last import with `--map`. It is used if the file has all columns of the mapping. */
  readonly remembered?: Mapping | undefined;
};

export type ImportInput = {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly reading?: ReadOptions | undefined;
  /** Reads a workbook in another process. If absent, a workbook is read in this thread. */
  readonly readSheet?: SheetReader | undefined;
  /** Is called if the remembered mapping is used. */
  readonly onRemembered?: (() => void) | undefined;
};

export type SheetReader = (file: Uint8Array | string, options: SheetOptions) => Promise<Sheet>;

/** Reads a workbook in this thread. The first call loads SheetJS, which is large. */
const readInThisThread: SheetReader = async (file, options) =>
  (await import("./workbook.ts")).readWorkbook(file, options);

export type OpenedTable = Omit<TableLayout, "mapping"> & {
  readonly records: AsyncIterable<readonly TableRecord[]>;
  readonly sheet?: string;
};
/** A table of which only the beginning was read. The header that `peek` finds decides which mapping `open` gets. */
type ReadableTable = {
  /** Reads the first rows, which include the header. */
  readonly peek: (mapping: CompiledMapping | null) => Promise<readonly TableRecord[]>;
  readonly open: (mapping: CompiledMapping | null) => OpenedTable;
};
type NdjsonFile = { readonly beginning: Uint8Array; readonly whole: AsyncIterable<Uint8Array> };

/**
 * Finds the format of a file by its first bytes and its name, and opens the file.
 * @throws UnreadableError for an empty file, an unknown format or an unreadable workbook
 */
async function openFile(input: ImportInput): Promise<ReadableTable | NdjsonFile> {
  const { name, reading = {} } = input;
  const { beginning, whole } = await readBeginning(input.bytes);
  if (beginning.length === 0) throw new UnreadableError(1, "the file is empty");
  refuseCompressedOrPdf(beginning);
  if (isWorkbook(beginning, name)) {
    const { name: sheet, records } = await readSheetOf(whole, input);
    const open = () => ({ format: "xlsx", delimiter: ",", sheet, records: once(records) }) as const;
    return { peek: async () => records, open };
  }
  return isNdjson(name, beginning) ? { beginning, whole } : openCsv(beginning, whole, reading);
}

/** Opens a file as a table, without a mapping. @throws UnreadableError for NDJSON, or if the file cannot be read */
export async function openTable(input: ImportInput): Promise<OpenedTable> {
  const file = await openFile(input);
  if ("open" in file) return file.open(null);
  const words = "this is NDJSON, whose members have the register's own names; it needs no mapping";
  throw new UnreadableError(1, words);
}

function isNdjson(name: string, beginning: Uint8Array): boolean {
  const named = formatOfFileName(name);
  if (named === "xlsx") throw new UnreadableError(1, "the file is called .xlsx, and is no Excel workbook");
  if (named !== null) return named === "ndjson";
  const text = new TextDecoder().decode(beginning);
  if (/^\s*\[\s*[{\]]/.test(text.slice(0, 1024)))
    throw new UnreadableError(
      1,
      "this is one JSON array; write NDJSON, one object a line, with the members that the manual names, or CSV",
    );
  return text.trimStart().startsWith("{");
}

/** Opens a CSV text. Options decide encoding and delimiter, else a byte order mark or the mapping, else the text. */
function openCsv(start: Uint8Array, whole: AsyncIterable<Uint8Array>, reading: ReadOptions): ReadableTable {
  const marked = reading.encoding ?? readByteOrderMark(start);
  const endsInCr = start.includes(0x0d) && !start.includes(0x0a);
  const encodingBy = (mapping: CompiledMapping | null) => marked ?? mapping?.encoding ?? "utf-8";
  // A wrong encoding does no harm here: only column names are compared, and nearly all names are ASCII.
  const textBy = (mapping: CompiledMapping | null) => new TextDecoder(encodingBy(mapping)).decode(start);
  function delimiterBy(mapping: CompiledMapping | null): Delimiter {
    const isKnown = (name: string) => findField(name, mapping) != null;
    return reading.delimiter ?? mapping?.delimiter ?? sniffDelimiter(textBy(mapping), isKnown);
  }
  const recordsIn = (utf8: AsyncIterable<Uint8Array>, delimiter: Delimiter) =>
    readCsv(utf8, { maxRecordBytes: maxRowLength, rules: "strict", delimiter, endsInCr });
  return {
    async peek(mapping) {
      const rows = recordsIn(once(Buffer.from(textBy(mapping))), delimiterBy(mapping));
      // Stops after the first records: `start` may end in the middle of a row, which the parser would refuse.
      for await (const records of rows) if (records.length > 0) return records;
      return [];
    },
    open(mapping) {
      const encoding = encodingBy(mapping);
      if (marked === null) refuseUnexpectedUtf8(start, encoding);
      const delimiter = delimiterBy(mapping);
      return { format: "csv", delimiter, records: recordsIn(convertToUtf8(whole, encoding), delimiter) };
    },
  };
}

/** Whether SheetJS reads the file: a workbook of Excel or OpenDocument, or a table in HTML or XML. */
function isWorkbook(beginning: Uint8Array, name: string): boolean {
  return (
    isZipArchive(beginning) ||
    isOleCompoundFile(beginning) ||
    (formatOfFileName(name) !== "ndjson" && isMarkup(beginning))
  );
}

function isMarkup(beginning: Uint8Array): boolean {
  const encoding = beginning[0] === 0xff ? "utf-16le" : beginning[0] === 0xfe ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(beginning.subarray(0, 1024)).trimStart().startsWith("<");
}

async function readSheetOf(
  bytes: AsyncIterable<Uint8Array>,
  { reading = {}, readSheet = readInThisThread }: ImportInput,
): Promise<Sheet> {
  const sheet = reading.sheet ?? reading.mapping?.sheet;
  const options = { sheet, preferred: sheet === undefined ? reading.remembered?.sheet : undefined };
  const file = await collectBytes(bytes);
  if (!isMarkup(file)) return readSheet(file, options);
  // Decodes HTML and XML strictly, so that a wrong encoding is refused as for CSV.
  const encoding = reading.encoding ?? readByteOrderMark(file) ?? reading.mapping?.encoding ?? "utf-8";
  let text = "";
  for await (const piece of convertToUtf8(once(file), encoding)) text += Buffer.from(piece).toString();
  return readSheet(text, options);
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

/** Maximum bytes of a workbook, which is read into memory whole: a zip archive's directory is at the file's end. */
const maxWorkbookBytes = 64 * 1024 * 1024;

async function collectBytes(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length > maxWorkbookBytes) throw new UnreadableError(1, workbookTooLargeMessage);
  }
  return Buffer.concat(pieces);
}

/** Chooses --map's mapping, else the remembered one, else null. @throws UnreadableError or TvsError if none fits */
async function chooseMapping(recordsOf: ReadableTable["peek"], { reading = {}, onRemembered }: ImportInput) {
  const given = reading.mapping ?? reading.remembered;
  if (given === undefined) return null;
  const mapping = compileMapping(given);
  const lacking = columnsLacking(await recordsOf(mapping), mapping).join(", ");
  if (reading.mapping !== undefined) {
    if (lacking === "") return mapping;
    throw new UnreadableError(1, `the mapping does not fit: the file has no column ${lacking}`);
  }
  if (lacking === "") {
    onRemembered?.();
    return mapping;
  }
  if (hasOwnNames(await recordsOf(null))) return null;
  throw new TvsError(
    "REFUSED",
    `the file has neither the register's own columns nor those of the mapping that is remembered: it lacks ${lacking}; ` +
      "tvs teachers map FILE makes a mapping for it, --map FILE gives one, and tvs teachers map --forget forgets the other; nothing was changed",
  );
}

function columnsLacking(records: readonly TableRecord[], mapping: CompiledMapping): readonly string[] {
  const header = findHeader(records, mapping, true);
  const names = new Set(header?.cells.map((cell) => normalizeName(cell.trim())));
  return mapping.columns.filter((name) => !names.has(normalizeName(name)));
}

function hasOwnNames(records: readonly TableRecord[]): boolean {
  const header = findHeader(records, null, true);
  const fields = new Set(header?.cells.map((cell) => findField(cell.trim(), null)));
  return requiredFields.every((field) => fields.has(field));
}

export type Extract = ReturnType<typeof readExtract>;

/**
 * Reads an extract and checks each row, without comparing it with other rows or the register.
 * @returns the rows, and members that are complete only after the last row
 * @throws TvsError (from `rows`) INPUT_UNREADABLE with the number of the line, and never with a value of the file
 */
export function readExtract(input: ImportInput, blindIndex: BlindIndex) {
  const digest = createHash("sha256");
  const names: ExtractFindings = { fields: [], unknown: [], totals: [], unread: [] };
  const extract = {
    ...{ name: input.name, names, rows: readRows() },
    ...{ format: "csv" as ImportFormat, explanations: {} as CodeExplanations, sheet: null as string | null },
    /** The number of the file's bytes that were read so far. */
    bytes: 0,
    /** SHA-256 of the file in hex. */
    sha256: "",
  };
  async function* countedBytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of input.bytes) {
      digest.update(chunk);
      extract.bytes += chunk.length;
      yield chunk;
    }
  }
  async function* readRows(): AsyncGenerator<CheckedRow[]> {
    try {
      const { rows, ...how } = await openRows({ ...input, bytes: countedBytes() }, names);
      Object.assign(extract, how);
      for await (const some of rows) yield some.map((row) => checkRow(row, blindIndex));
      refuseUnreadStatusColumn(names.unread, extract);
      extract.sha256 = digest.digest("hex");
    } catch (error) {
      throw toUnreadableInputError(input.name, error);
    }
  }
  return extract;
}

async function openRows(input: ImportInput, names: ExtractFindings) {
  const file = await openFile(input);
  if ("open" in file) {
    const mapping = await chooseMapping(file.peek, input);
    const { records, sheet = null, ...layout } = file.open(mapping);
    const rows = readTableRows(records, { ...layout, mapping }, names);
    return { format: layout.format, explanations: mapping?.explanations ?? {}, sheet, rows };
  }
  if (detectUtf16(file.beginning) !== null)
    throw new UnreadableError(1, "the file is UTF-16; save it as UTF-8, as NDJSON is");
  return { format: "ndjson", rows: readNdjsonRows(asText(file.whole), names) };
}

export function toUnreadableInputError(name: string, error: unknown): unknown {
  if (error instanceof UnreadableError) {
    return new TvsError(
      "INPUT_UNREADABLE",
      `${name}, line ${error.line}: ${error.message}; nothing was changed`,
    );
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string" || !/^E[A-Z]+$/.test(code)) return error;
  const why =
    code === "ENOENT" ? "there is no such file" : "it cannot be read; check what it is, its owner and mode";
  return new TvsError("INPUT_UNREADABLE", `${name}: ${why}`, { cause: error });
}

/** Decodes NDJSON. Invalid UTF-8 becomes U+FFFD, which rejects only the row and not the file. */
async function* asText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}
