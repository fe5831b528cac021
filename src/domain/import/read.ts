/** Reads a file as it came: what it is, how its text is written, and by which mapping (decision D7.10). */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { BlindIndex } from "../blind-index.ts";
import { TvsError } from "../errors.ts";
import { type ArrivedNames, refuseOverlooked, type UnreadColumn } from "./arrival.ts";
import { readCsv, type TableRecord } from "./csv.ts";
import { formatOfName, maxRowLength, squeezed, UnreadableError } from "./fields.ts";
import { type CompiledMapping, compileMapping, type Mapping } from "./mapping.ts";
import { readJsonRows } from "./ndjson.ts";
import type { Explanations } from "./report.ts";
import { type CheckedRow, checkRow, requiredFields } from "./rows.ts";
import { fieldOfName, findHeader, readTable, type TableLayout } from "./table.ts";
import {
  asUtf8,
  type Delimiter,
  type Encoding,
  isArchive,
  isOldWorkbook,
  markedEncoding,
  refuseOtherKinds,
  refuseOtherSet,
  sniffDelimiter,
  tooLarge,
  utf16Of,
} from "./text.ts";
import type { Sheet, SheetOptions } from "./workbook.ts";

/** What the operator says of a file; what is said here wins over what a mapping says. */
export type Reading = {
  readonly delimiter?: Delimiter | undefined;
  readonly encoding?: Encoding | undefined;
  readonly sheet?: string | undefined;
  readonly mapping?: Mapping | undefined;
  /** That of an earlier import: it is used where it fits. */
  readonly remembered?: Mapping | undefined;
};

/** An extract as bytes. `name` is what messages call it. */
export type ImportInput = {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly reading?: Reading | undefined;
  /** Reads a workbook where the reading can be ended; without it, in this thread. */
  readonly readSheet?: SheetReader | undefined;
};

export type SheetReader = (file: Uint8Array | string, options: SheetOptions) => Promise<Sheet>;

/** Reads a workbook in this thread. The library is loaded for a workbook alone. */
const readHere: SheetReader = async (file, options) =>
  (await import("./workbook.ts")).readWorkbook(file, options);

type MappedBy = "given" | "remembered" | null;

export type OpenedTable = Omit<TableLayout, "mapping"> & {
  readonly records: AsyncIterable<readonly TableRecord[]>;
  readonly sheet?: string;
};
/** A file that was looked at, and is about to be read. */
type OpenedExtract =
  | { readonly format: "ndjson"; readonly bytes: AsyncIterable<Uint8Array> }
  | (OpenedTable & TableLayout & { readonly mappedBy: MappedBy });

/** Bytes of a text that are looked at before it is read. */
const beginningBytes = 64 * 1024;

/**
 * Looks at the beginning of a file, and opens it.
 * @throws UnreadableError when it is nothing that can be read, or a given mapping does not fit
 * @throws TvsError REFUSED when the remembered mapping does not fit, and the file lacks the register's own columns too
 */
async function openExtract(input: ImportInput): Promise<OpenedExtract> {
  const { name, reading = {} } = input;
  const { beginning, whole } = await beginningOf(input.bytes);
  if (isWorkbook(beginning, name)) {
    const sheet = reading.sheet ?? reading.mapping?.sheet;
    const preferred = sheet === undefined ? reading.remembered?.sheet : undefined;
    const found = await sheetOf(whole, { sheet, preferred }, input);
    return { ...tableOf(found), ...(await chooseMapping(async () => found.records, reading)) };
  }
  if (isNdjson(name, beginning)) {
    if (utf16Of(beginning) !== null)
      throw new UnreadableError(1, "the file is UTF-16; save it as UTF-8, as NDJSON is");
    return { format: "ndjson", bytes: whole };
  }
  const text = createText(beginning, reading);
  const chosen = await chooseMapping(text.peek, reading);
  return { ...text.open(whole, chosen.mapping), ...chosen };
}

/** Opens a file of which nothing is known. @throws UnreadableError */
export async function openTable(input: ImportInput): Promise<OpenedTable> {
  const { name, reading = {} } = input;
  const { beginning, whole } = await beginningOf(input.bytes);
  if (isWorkbook(beginning, name)) return tableOf(await sheetOf(whole, { sheet: reading.sheet }, input));
  if (!isNdjson(name, beginning)) return createText(beginning, reading).open(whole, null);
  const words = "this is NDJSON, whose members have the register's own names; it needs no mapping";
  throw new UnreadableError(1, words);
}

function tableOf({ name, records }: Sheet): OpenedTable {
  return { format: "xlsx", delimiter: ",", sheet: name, records: once(records) };
}

function isNdjson(name: string, beginning: Uint8Array): boolean {
  const named = formatOfName(name);
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

async function beginningOf(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ beginning: Uint8Array; whole: AsyncIterable<Uint8Array> }> {
  const pieces = bytes[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < beginningBytes) {
    const next = await pieces.next();
    if (next.done) break;
    first.push(next.value);
    length += next.value.length;
  }
  if (length === 0) throw new UnreadableError(1, "the file is empty");
  const beginning = Buffer.concat(first).subarray(0, beginningBytes);
  refuseOtherKinds(beginning);
  return { beginning, whole: joined(first, pieces) };
}

async function* joined<T>(first: readonly T[], rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    yield* first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** A text whose beginning is known, read as a mapping says. */
function createText(beginning: Uint8Array, reading: Reading) {
  const marked = reading.encoding ?? markedEncoding(beginning);
  const endsInCr = beginning.includes(0x0d) && !beginning.includes(0x0a);
  const encodingBy = (mapping: CompiledMapping | null) => marked ?? mapping?.encoding ?? "utf-8";
  // Names are ASCII in nearly every file: other letters may be shown wrong here.
  const textBy = (mapping: CompiledMapping | null) => new TextDecoder(encodingBy(mapping)).decode(beginning);
  function delimiterBy(mapping: CompiledMapping | null): Delimiter {
    const isKnown = (name: string) => fieldOfName(name, mapping) != null;
    return reading.delimiter ?? mapping?.delimiter ?? sniffDelimiter(textBy(mapping), isKnown);
  }
  const recordsIn = (utf8: AsyncIterable<Uint8Array>, delimiter: Delimiter) =>
    readCsv(utf8, { maxRecordBytes: maxRowLength, rules: "strict", delimiter, endsInCr });
  return {
    /** The first rows, enough to find the header. They are not read to the end, which may be in the middle of a row. */
    async peek(mapping: CompiledMapping | null): Promise<readonly TableRecord[]> {
      const rows = recordsIn(once(Buffer.from(textBy(mapping))), delimiterBy(mapping));
      for await (const records of rows) if (records.length > 0) return records;
      return [];
    },
    open(whole: AsyncIterable<Uint8Array>, mapping: CompiledMapping | null) {
      const encoding = encodingBy(mapping);
      if (marked === null) refuseOtherSet(beginning, encoding);
      const delimiter = delimiterBy(mapping);
      return { format: "csv" as const, delimiter, records: recordsIn(asUtf8(whole, encoding), delimiter) };
    },
  };
}

/** Whether a file is a workbook: of Excel or OpenDocument, an old one, or a table in HTML or XML, whatever its name. */
function isWorkbook(beginning: Uint8Array, name: string): boolean {
  return (
    isArchive(beginning) ||
    isOldWorkbook(beginning) ||
    (formatOfName(name) !== "ndjson" && isMarkup(beginning))
  );
}

function isMarkup(beginning: Uint8Array): boolean {
  const encoding = beginning[0] === 0xff ? "utf-16le" : beginning[0] === 0xfe ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(beginning.subarray(0, 1024)).trimStart().startsWith("<");
}

async function sheetOf(
  bytes: AsyncIterable<Uint8Array>,
  options: SheetOptions,
  { reading = {}, readSheet = readHere }: ImportInput,
): Promise<Sheet> {
  const file = await collected(bytes);
  if (!isMarkup(file)) return readSheet(file, options);
  // What is no UTF-8 by its bytes is refused, as CSV is.
  const encoding = reading.encoding ?? markedEncoding(file) ?? reading.mapping?.encoding ?? "utf-8";
  let text = "";
  for await (const piece of asUtf8(once(file), encoding)) text += Buffer.from(piece).toString();
  return readSheet(text, options);
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

/** Bytes of a workbook, which is read from its end, where its list of parts is. */
const maxWorkbookBytes = 64 * 1024 * 1024;

async function collected(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length > maxWorkbookBytes) throw new UnreadableError(1, tooLarge);
  }
  return Buffer.concat(pieces);
}

/** Chooses the given mapping, the remembered one where it fits, or none where none is needed. */
async function chooseMapping(
  recordsOf: (mapping: CompiledMapping | null) => Promise<readonly TableRecord[]>,
  { mapping, remembered }: Reading,
): Promise<{ mapping: CompiledMapping | null; mappedBy: MappedBy }> {
  if (mapping !== undefined) {
    const given = compileMapping(mapping);
    const lacking = columnsLacking(await recordsOf(given), given);
    if (lacking.length > 0)
      throw new UnreadableError(1, `the mapping does not fit: the file has no column ${lacking.join(", ")}`);
    return { mapping: given, mappedBy: "given" };
  }
  if (remembered === undefined) return { mapping: null, mappedBy: null };
  const before = compileMapping(remembered);
  const lacking = columnsLacking(await recordsOf(before), before);
  if (lacking.length === 0) return { mapping: before, mappedBy: "remembered" };
  if (hasOwnNames(await recordsOf(null))) return { mapping: null, mappedBy: null };
  throw new TvsError(
    "REFUSED",
    `the file has neither the register's own columns nor those of the mapping that is remembered: it lacks ${lacking.join(", ")}; ` +
      "tvs teachers map FILE makes a mapping for it, --map FILE gives one, and tvs teachers map --forget forgets the other; nothing was changed",
  );
}

function columnsLacking(records: readonly TableRecord[], mapping: CompiledMapping): readonly string[] {
  const header = findHeader(records, mapping, true);
  const names = new Set(header?.cells.map((cell) => squeezed(cell.trim())));
  return mapping.columns.filter((name) => !names.has(squeezed(name)));
}

function hasOwnNames(records: readonly TableRecord[]): boolean {
  const header = findHeader(records, null, true);
  const fields = new Set(header?.cells.map((cell) => fieldOfName(cell.trim(), null)));
  return requiredFields.every((field) => fields.has(field));
}

/** The next part of an extract, as {@link readPieces} gives it. */
export type FilePiece = ReturnType<typeof readPieces> extends AsyncIterable<infer Piece> ? Piece : never;

/**
 * Reads an extract and checks each row by itself, in the order of the file.
 * @returns pieces, each with the bytes that were read since the piece before, the fields and unknown names that are new
 *   in it, the lines of sums below a table, and what codes mean where the mapping says how a cell is written. The last
 *   one has no rows, but the hash of the file, in hex.
 * @throws TvsError INPUT_UNREADABLE, naming the line, when the file cannot be read, is not well-formed, or has no line of
 *   NDJSON; the message never repeats what was read
 */
export async function* readPieces(input: ImportInput, blindIndex: BlindIndex) {
  const digest = createHash("sha256");
  const unread: UnreadColumn[] = [];
  const names: ArrivedNames = { fields: [], unknown: [], totals: [], unread };
  let read = 0;
  const pieceOf = (rows: readonly CheckedRow[], sha256: string | null) => {
    const { fields, unknown, totals } = names;
    const found = { fields: fields.splice(0), unknown: unknown.splice(0), totals: totals.splice(0) };
    const bytes = read;
    read = 0;
    return { rows, sha256, bytes, ...found };
  };
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of input.bytes) {
      digest.update(chunk);
      read += chunk.length;
      yield chunk;
    }
  }
  try {
    const opened = await openExtract({ ...input, bytes: watched() });
    const isTable = opened.format !== "ndjson";
    const how = {
      format: opened.format,
      mappedBy: isTable ? opened.mappedBy : null,
      explanations: ((isTable ? opened.mapping?.explanations : null) ?? {}) as Explanations,
      sheet: isTable ? (opened.sheet ?? null) : null,
    };
    const rows = isTable
      ? readTable(opened.records, opened, names)
      : readJsonRows(asText(opened.bytes), names);
    for await (const some of rows) {
      const checked = some.map((row) => checkRow(row, blindIndex));
      yield { ...how, ...pieceOf(checked, null) };
    }
    refuseOverlooked(unread, { name: input.name, format: opened.format });
    yield { ...how, ...pieceOf([], digest.digest("hex")) };
  } catch (error) {
    throw unreadable(input.name, error);
  }
}

export function unreadable(name: string, error: unknown): unknown {
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

/** Decodes NDJSON, in which a line's damage is that line's alone: its reader finds U+FFFD or a NUL there. */
async function* asText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}
