/** A file as it came: what it is, how its text is written, and by which mapping it is read (decision D7.10). */

import { Buffer } from "node:buffer";
import { TvsError } from "../errors.ts";
import { readCsv, type TableRecord } from "./csv.ts";
import { formatOfName, maxRowLength, squeezed, UnreadableError } from "./fields.ts";
import { type CompiledMapping, compileMapping, type Mapping } from "./mapping.ts";
import { requiredFields } from "./rows.ts";
import { fieldOfName, findHeader, type TableLayout } from "./table.ts";
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

/** The library is loaded for a workbook alone. */
const readHere: SheetReader = async (file, options) =>
  (await import("./workbook.ts")).readWorkbook(file, options);

/** A file that was looked at, and is about to be read. */
type OpenedExtract =
  | { readonly format: "ndjson"; readonly bytes: AsyncIterable<Uint8Array> }
  | (OpenedTable & { readonly layout: TableLayout; readonly mappedBy: "given" | "remembered" | null });

export type OpenedTable = {
  readonly format: TableLayout["format"];
  readonly delimiter: Delimiter;
  readonly records: AsyncIterable<readonly TableRecord[]>;
  readonly sheet?: string;
};

/** So much of a text is looked at before it is read. */
const beginningBytes = 64 * 1024;

/**
 * Looks at the beginning of a file, and opens it.
 * @throws UnreadableError when it is nothing that can be read, or a given mapping does not fit
 * @throws TvsError REFUSED when the remembered mapping does not fit, nor has the file the register's own columns
 */
export async function openExtract(input: ImportInput): Promise<OpenedExtract> {
  const { name, reading = {} } = input;
  const { beginning, whole } = await beginningOf(input.bytes);
  if (isWorkbook(beginning, name)) return openWorkbook(whole, input);
  if (isNdjson(name, beginning)) {
    if (utf16Of(beginning) !== null)
      throw new UnreadableError(1, "the file is UTF-16; save it as UTF-8, as NDJSON is");
    return { format: "ndjson", bytes: whole };
  }
  const marked = reading.encoding ?? markedEncoding(beginning);
  const recordsOf = (mapping: CompiledMapping | null) => peek(beginning, { reading, mapping, marked });
  const { mapping, mappedBy } = await chooseMapping(recordsOf, reading);
  const encoding = marked ?? mapping?.encoding ?? "utf-8";
  if (marked === null) refuseOtherSet(beginning, encoding);
  const delimiter = delimiterOf(beginning, { reading, mapping, marked });
  const endsInCr = linesEndInCr(beginning);
  const records = recordsIn(whole, { encoding, delimiter, endsInCr });
  return {
    format: "csv",
    delimiter,
    records,
    layout: { format: "csv", delimiter, mapping },
    mappedBy,
  };
}

/** Opens a file that nothing is known of, for who looks at it. @throws UnreadableError */
export async function openTable(input: ImportInput): Promise<OpenedTable> {
  const { name, reading = {} } = input;
  const { beginning, whole } = await beginningOf(input.bytes);
  if (isWorkbook(beginning, name)) {
    const sheet = await sheetOf(whole, { sheet: reading.sheet }, input);
    return { format: "xlsx", delimiter: ",", sheet: sheet.name, records: once(sheet.records) };
  }
  if (isNdjson(name, beginning))
    throw new UnreadableError(
      1,
      "this is NDJSON, whose members have the register's own names; it needs no mapping",
    );
  const marked = reading.encoding ?? markedEncoding(beginning);
  const encoding = marked ?? "utf-8";
  const delimiter = delimiterOf(beginning, { reading, mapping: null, marked });
  return {
    format: "csv",
    delimiter,
    records: recordsIn(whole, { encoding, delimiter, endsInCr: linesEndInCr(beginning) }),
  };
}

function isNdjson(name: string, beginning: Uint8Array): boolean {
  const named = formatOfName(name);
  if (named === "xlsx") throw new UnreadableError(1, "the file is called .xlsx, and is no Excel workbook");
  if (named === null && /^\s*\[\s*[{\]]/.test(new TextDecoder().decode(beginning.subarray(0, 1024))))
    throw new UnreadableError(
      1,
      "this is one JSON array; write NDJSON, one object a line, with the members that the manual names, or CSV",
    );
  return (
    named === "ndjson" || (named === null && new TextDecoder().decode(beginning).trimStart().startsWith("{"))
  );
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

function recordsIn(
  bytes: AsyncIterable<Uint8Array>,
  { encoding, ...how }: { encoding: Encoding; delimiter: Delimiter; endsInCr: boolean },
): AsyncGenerator<TableRecord[]> {
  return readCsv(asUtf8(bytes, encoding), { maxRecordBytes: maxRowLength, rules: "strict", ...how });
}

/** Whether the beginning of a text has lines, and none of them ends in LF. */
function linesEndInCr(beginning: Uint8Array): boolean {
  return beginning.includes(0x0d) && !beginning.includes(0x0a);
}

type Peek = {
  readonly reading: Reading;
  readonly mapping: CompiledMapping | null;
  readonly marked: Encoding | null;
};

/** The beginning as text. Names are ASCII in nearly every file: what else it holds may be shown wrong here. */
function textOf(beginning: Uint8Array, { mapping, marked }: Peek): string {
  const encoding = marked ?? mapping?.encoding ?? "utf-8";
  return new TextDecoder(encoding).decode(beginning);
}

function delimiterOf(beginning: Uint8Array, peeked: Peek): Delimiter {
  const { reading, mapping } = peeked;
  const isKnown = (name: string) => fieldOfName(name, mapping) != null;
  return reading.delimiter ?? mapping?.delimiter ?? sniffDelimiter(textOf(beginning, peeked), isKnown);
}

/** The first rows as a mapping would have them read: enough to find the header. */
async function peek(beginning: Uint8Array, peeked: Peek): Promise<readonly TableRecord[]> {
  const text = Buffer.from(textOf(beginning, peeked));
  const pieces = (async function* () {
    yield text;
  })();
  const delimiter = delimiterOf(beginning, peeked);
  // Not to its end, which may be in the middle of a row, unless the header alone is all that there is.
  const rows = readCsv(pieces, {
    maxRecordBytes: maxRowLength,
    rules: "strict",
    delimiter,
    endsInCr: linesEndInCr(beginning),
  });
  for await (const records of rows) if (records.length > 0) return records;
  return [];
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

async function openWorkbook(bytes: AsyncIterable<Uint8Array>, input: ImportInput): Promise<OpenedExtract> {
  const { reading = {} } = input;
  const sheet = reading.sheet ?? reading.mapping?.sheet;
  const preferred = sheet === undefined ? reading.remembered?.sheet : undefined;
  const { name, records } = await sheetOf(bytes, { sheet, preferred }, input);
  const { mapping, mappedBy } = await chooseMapping(async () => records, reading);
  const layout = { format: "xlsx", delimiter: ",", mapping } as const;
  return { ...layout, sheet: name, records: once(records), layout, mappedBy };
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

/** The mapping by which a file is read: the given one, the remembered one where it fits, none where none is needed. */
async function chooseMapping(
  recordsOf: (mapping: CompiledMapping | null) => Promise<readonly TableRecord[]>,
  { mapping, remembered }: Reading,
): Promise<{ mapping: CompiledMapping | null; mappedBy: "given" | "remembered" | null }> {
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
