/** A file as it came: what it is, how its text is written, and by which mapping it is read (decision D7.10). */

import { Buffer } from "node:buffer";
import { TvsError } from "../errors.ts";
import { requiredFields } from "./columns.ts";
import { readCsv, type TableRecord } from "./csv.ts";
import { formatOfName, maxRowLength, squeezed, UnreadableError } from "./fields.ts";
import { type CompiledMapping, compileMapping, type Mapping } from "./mapping.ts";
import { fieldOfName, findHeader, type TableLayout } from "./table.ts";
import {
  asUtf8,
  type Delimiter,
  type Encoding,
  headerLines,
  markedEncoding,
  refuseOtherKinds,
  refuseOtherSet,
  refuseUtf16,
  sniffDelimiter,
} from "./text.ts";
import { isWorkbook, readWorkbook, tooLarge, workbookLimits } from "./workbook.ts";

/** What the operator says of a file; what is said here wins over what a mapping says. */
export type Reading = {
  readonly delimiter?: Delimiter | undefined;
  readonly encoding?: Encoding | undefined;
  readonly sheet?: string | undefined;
  /** The mapping for this file. */
  readonly mapping?: Mapping | undefined;
  /** That of an earlier import: it is used where it fits. */
  readonly remembered?: Mapping | undefined;
};

/** An extract as bytes. `name` is what messages call it. */
export type ImportInput = {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly reading?: Reading | undefined;
};

/** A file that was looked at, and is about to be read. */
type OpenedExtract =
  | { readonly format: "ndjson"; readonly bytes: AsyncIterable<Uint8Array> }
  | (OpenedTable & { readonly layout: TableLayout; readonly mappedBy: "given" | "remembered" | null });

export type OpenedTable = {
  readonly format: TableLayout["format"];
  readonly delimiter: Delimiter;
  readonly records: AsyncIterable<readonly TableRecord[]>;
};

/** So much of a text is looked at before it is read. */
const beginningBytes = 64 * 1024;

/**
 * Looks at the beginning of a file, and opens it.
 * @throws UnreadableError when it is nothing that can be read, or a given mapping does not fit
 * @throws TvsError REFUSED when the remembered mapping does not fit, nor has the file the register's own columns
 */
export async function openExtract({ name, bytes, reading = {} }: ImportInput): Promise<OpenedExtract> {
  const { beginning, whole } = await beginningOf(bytes);
  if (isWorkbook(beginning)) return openWorkbook(whole, reading);
  if (isNdjson(name, beginning)) {
    refuseUtf16(beginning);
    return { format: "ndjson", bytes: whole };
  }
  const marked = reading.encoding ?? markedEncoding(beginning);
  const recordsOf = (mapping: CompiledMapping | null) => peek(beginning, { reading, mapping, marked });
  const { mapping, mappedBy } = await chooseMapping(recordsOf, reading);
  const encoding = marked ?? mapping?.encoding ?? "utf-8";
  if (marked === null) refuseOtherSet(beginning, encoding);
  const delimiter = delimiterOf(beginning, { reading, mapping, marked });
  const records = recordsIn(whole, { encoding, delimiter });
  return {
    format: "csv",
    delimiter,
    records,
    layout: { format: "csv", delimiter, mapping },
    mappedBy,
  };
}

/** Opens a file that nothing is known of, for who looks at it. @throws UnreadableError */
export async function openTable({ name, bytes, reading = {} }: ImportInput): Promise<OpenedTable> {
  const { beginning, whole } = await beginningOf(bytes);
  if (isWorkbook(beginning)) {
    const records = readWorkbook(await collected(whole), { sheet: reading.sheet });
    return { format: "xlsx", delimiter: ",", records };
  }
  if (isNdjson(name, beginning))
    throw new UnreadableError(
      1,
      "this is NDJSON, whose members have the register's own names; it needs no mapping",
    );
  const marked = reading.encoding ?? markedEncoding(beginning);
  const encoding = marked ?? "utf-8";
  const delimiter = delimiterOf(beginning, { reading, mapping: null, marked });
  return { format: "csv", delimiter, records: recordsIn(whole, { encoding, delimiter }) };
}

function isNdjson(name: string, beginning: Uint8Array): boolean {
  const named = formatOfName(name);
  if (named === "xlsx") throw new UnreadableError(1, "the file is called .xlsx, and is no Excel workbook");
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
  { encoding, delimiter }: { encoding: Encoding; delimiter: Delimiter },
): AsyncGenerator<TableRecord[]> {
  return readCsv(asUtf8(bytes, encoding), { maxRecordBytes: maxRowLength, rules: "strict", delimiter });
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
  const rows = readCsv(pieces, { maxRecordBytes: maxRowLength, rules: "strict", delimiter });
  for await (const records of rows) if (records.length > 0) return records;
  return [];
}

async function openWorkbook(bytes: AsyncIterable<Uint8Array>, reading: Reading): Promise<OpenedExtract> {
  const file = await collected(bytes);
  const sheet = reading.sheet ?? reading.mapping?.sheet;
  const preferred = sheet === undefined ? reading.remembered?.sheet : undefined;
  const records = readWorkbook(file, { sheet, preferred });
  let first: TableRecord[] = [];
  const pieces = records[Symbol.asyncIterator]();
  const enough = Math.max(headerLines, reading.mapping?.header ?? 0, reading.remembered?.header ?? 0);
  while ((first.at(-1)?.line ?? 0) <= enough) {
    const next = await pieces.next();
    if (next.done) break;
    first = first.concat(next.value);
  }
  const { mapping, mappedBy } = await chooseMapping(async () => first, reading);
  const layout = { format: "xlsx", delimiter: ",", mapping } as const;
  return { ...layout, records: joined([first], pieces), layout, mappedBy };
}

/** A workbook is read from its end, where its list of parts is. */
async function collected(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length > workbookLimits.fileBytes) throw new UnreadableError(1, tooLarge);
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
