import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { BlindIndex } from "../blind-index.ts";

import { TvsError } from "../errors.ts";
import type { Arrival, ArrivedNames, UnknownName } from "./arrival.ts";
import { CsvError, readCsvRows } from "./csv.ts";
import {
  type ArrivedField,
  fieldNamed,
  formatOfName,
  type ImportFormat,
  type RawRow,
  UnreadableError,
} from "./fields.ts";
import { readJsonRows } from "./ndjson.ts";
import { type CheckedRow, checkRow } from "./rows.ts";

/**
 * The next part of an extract, with the fields and the unknown names that nobody was told of yet, whatever the rows are
 * worth. The last one has no rows, but the hash of the file.
 */
export type FilePiece = {
  readonly rows: readonly CheckedRow[];
  readonly format: ImportFormat;
  /** Bytes of the file that were read since the piece before. */
  readonly bytes: number;
  readonly fields: readonly ArrivedField[];
  readonly unknown: readonly UnknownName[];
  /** Of all bytes, in hex; null until the end. */
  readonly sha256: string | null;
};

/** What the pieces brought so far, beside the rows themselves. */
type Arriving = { -readonly [K in "format" | "rows"]: Arrival[K] } & {
  readonly fields: Set<ArrivedField>;
  readonly unknown: UnknownName[];
};

export function nothingArrived(): Arriving {
  return { format: "csv", rows: 0, fields: new Set(), unknown: [] };
}

/** Adds what a piece brings, its rows too. */
export function addArrived(arriving: Arriving, piece: FilePiece): void {
  arriving.format = piece.format;
  arriving.rows += piece.rows.length;
  for (const field of piece.fields) arriving.fields.add(field);
  arriving.unknown.push(...piece.unknown);
}

/**
 * Reads an extract and checks each row by itself, in the order of the file. Half of an import's checking is done
 * here, and nothing of it needs the register: so it may run in a thread of its own.
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read to its end
 */
export async function* readPieces(input: ImportInput, blindIndex: BlindIndex): AsyncGenerator<FilePiece> {
  const digest = createHash("sha256");
  const names: ArrivedNames = { fields: [], unknown: [] };
  let bytes = 0;
  let format: ImportFormat = "csv";
  function piece(rows: readonly CheckedRow[], sha256: string | null): FilePiece {
    const { fields, unknown } = names;
    const next = { rows, format, bytes, fields: fields.splice(0), unknown: unknown.splice(0), sha256 };
    bytes = 0;
    return next;
  }
  function onBytes(chunk: Uint8Array): void {
    digest.update(chunk);
    bytes += chunk.length;
  }
  for await (const rows of readRows(input, names, onBytes)) {
    format = rows[0]?.format ?? format;
    yield piece(
      rows.map((row) => checkRow(row, blindIndex)),
      null,
    );
  }
  yield piece([], digest.digest("hex"));
}

/** An extract as bytes. `name` is what messages call it. */
export type ImportInput = { readonly name: string; readonly bytes: AsyncIterable<Uint8Array> };

/**
 * Reads an extract in bounded memory, some rows at a time. The format is that of the name, else of the text.
 * @param onBytes sees every byte of the file once, in order
 * @throws TvsError INPUT_UNREADABLE, naming the line, when CSV is not UTF-8, holds NUL or is not well-formed, or
 *   when a file has no line of NDJSON; the message never repeats what was read
 */
async function* readRows(
  input: ImportInput,
  names: ArrivedNames,
  onBytes: (chunk: Uint8Array) => void,
): AsyncGenerator<RawRow[]> {
  try {
    const chunks = input.bytes[Symbol.asyncIterator]();
    const first = await chunks.next();
    if (first.done) throw new UnreadableError(1, "the file is empty");
    refuseOtherKinds(first.value);
    const bytes = joined(first.value, chunks);
    if (formatOf(input.name, first.value) === "csv") yield* readCsvRows(checkedBytes(bytes, onBytes), names);
    else yield* readJsonRows(readText(bytes, onBytes), names);
  } catch (error) {
    throw explain(input.name, error);
  }
}

function explain(name: string, error: unknown): unknown {
  if (error instanceof UnreadableError || error instanceof CsvError) {
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

function formatOf(name: string, first: Uint8Array): ImportFormat {
  const named = formatOfName(name);
  if (named !== null) return named;
  return new TextDecoder().decode(first).trimStart().startsWith("{") ? "ndjson" : "csv";
}

/**
 * Refuses, by its beginning, a file that is no text in UTF-8 or whose columns are not parted by commas, and says what
 * to do: otherwise its first cell or its first byte would be called wrong.
 * @throws UnreadableError
 */
function refuseOtherKinds(bytes: Uint8Array): void {
  const [a, b, c, d] = bytes;
  const hasUtf16Mark = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
  // What extracts begin with is ASCII: in UTF-16 every other byte of it is 0.
  const isUtf16 =
    hasUtf16Mark || (a !== 0 && b === 0 && c !== 0 && d === 0) || (a === 0 && b !== 0 && c === 0);
  if (isUtf16)
    throw new UnreadableError(1, "the file is UTF-16; save it as UTF-8 (spreadsheets offer `CSV UTF-8`)");
  if (a === 0x50 && b === 0x4b && c === 3 && d === 4)
    throw new UnreadableError(
      1,
      "the file is a spreadsheet or a zip archive; save the sheet as CSV in UTF-8",
    );
  if (a === 0x1f && b === 0x8b) throw new UnreadableError(1, "the file is compressed; unpack it first");
  const parted = partedBy(new TextDecoder().decode(bytes.subarray(0, maxHeaderBytes)));
  if (parted === undefined) return;
  const message = `the columns are parted by ${parted}, and tvs reads commas; save the file as CSV with commas, in UTF-8`;
  throw new UnreadableError(1, message);
}

const maxHeaderBytes = 4096;
const otherPartings = { semicolons: ";", "tab characters": "\t", "vertical bars": "|" } as const;

/** What parts the columns of a header instead of commas, in words; undefined when the text begins with no such header. */
function partedBy(text: string): string | undefined {
  const [header = ""] = text.trimStart().split(/[\r\n]/, 1);
  const known = (names: readonly string[]) =>
    names.filter((name) => fieldNamed(name.replaceAll('"', "").trim()) !== undefined).length;
  return Object.entries(otherPartings).find(([, parting]) => known(header.split(parting)) > 1)?.[0];
}

async function* joined(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Decodes NDJSON, in which a line's damage is that line's alone: its reader finds U+FFFD or a NUL there. */
async function* readText(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: (chunk: Uint8Array) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of bytes) {
    onBytes(chunk);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/**
 * Passes CSV on, and refuses what is no UTF-8 text: another character set would become a register full of damaged
 * names, and a NUL would cut a text short in the database.
 */
async function* checkedBytes(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  for await (const chunk of bytes) {
    onBytes(chunk);
    const nul = chunk.indexOf(0);
    if (nul !== -1)
      throw new UnreadableError(line + linesIn(chunk.subarray(0, nul)), "a NUL byte; this is no UTF-8 text");
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      throw new UnreadableError(line + firstBadLine(chunk), "not UTF-8; save the file as UTF-8 text");
    }
    line += linesIn(chunk);
    yield chunk;
  }
  try {
    decoder.decode();
  } catch {
    throw new UnreadableError(line, "not UTF-8; the file ends within a character");
  }
}

function linesIn(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}

/** The line of a chunk, counted from 0, that is not UTF-8; no character spans a line end. */
function firstBadLine(chunk: Uint8Array): number {
  let start = 0;
  for (let line = 0; ; line++) {
    const end = chunk.indexOf(10, start);
    if (end === -1) return line;
    // The first line may begin within a character of the chunk before: only its own end is judged.
    if (!isUtf8(line === 0 ? withoutContinuation(chunk.subarray(0, end)) : chunk.subarray(start, end)))
      return line;
    start = end + 1;
  }
}

function withoutContinuation(line: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && ((line[start] ?? 0) & 0xc0) === 0x80) start++;
  return line.subarray(start);
}
