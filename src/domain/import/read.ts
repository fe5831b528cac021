import { createHash } from "node:crypto";
import type { BlindIndex } from "../blind-index.ts";
import { TvsError } from "../errors.ts";
import { type ArrivedNames, refuseOverlooked, type UnknownName, type UnreadColumn } from "./arrival.ts";
import { type ImportInput, openExtract } from "./extract.ts";
import { type ArrivedField, type ImportFormat, UnreadableError } from "./fields.ts";
import { readJsonRows } from "./ndjson.ts";
import type { Explanations } from "./report.ts";
import { type CheckedRow, checkRow } from "./rows.ts";
import { readTable } from "./table.ts";

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
  /** The line of a sum below the table, which was left out. */
  readonly totals: readonly number[];
  /** By which mapping it is read: the one that was given, the one that is remembered, or none. */
  readonly mappedBy: "given" | "remembered" | null;
  /** What codes mean where the mapping says how a cell is written. */
  readonly explanations: Explanations;
  /** The sheet of a workbook that is read; null for other files. */
  readonly sheet: string | null;
  /** Of all bytes, in hex; null until the end. */
  readonly sha256: string | null;
};

/**
 * Reads an extract and checks each row by itself, in the order of the file. Half of an import's checking is done
 * here, and nothing of it needs the register: so it may run in a thread of its own.
 * @throws TvsError INPUT_UNREADABLE, naming the line, when the file is none that can be read, is not well-formed, or has
 *   no line of NDJSON; the message never repeats what was read
 */
export async function* readPieces(input: ImportInput, blindIndex: BlindIndex): AsyncGenerator<FilePiece> {
  const digest = createHash("sha256");
  const unread: UnreadColumn[] = [];
  const names: ArrivedNames = { fields: [], unknown: [], totals: [], unread };
  let read = 0;
  /** What arrived since the piece before. */
  const arrived = () => {
    const { fields, unknown, totals } = names;
    const piece = {
      bytes: read,
      fields: fields.splice(0),
      unknown: unknown.splice(0),
      totals: totals.splice(0),
    };
    read = 0;
    return piece;
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
      explanations: (isTable ? opened.layout.mapping?.explanations : undefined) ?? {},
      sheet: isTable ? (opened.sheet ?? null) : null,
    };
    const rows = isTable
      ? readTable(opened.records, opened.layout, names)
      : readJsonRows(asText(opened.bytes), names);
    for await (const some of rows)
      yield { ...how, ...arrived(), rows: some.map((row) => checkRow(row, blindIndex)), sha256: null };
    refuseOverlooked(unread, { name: input.name, format: opened.format });
    yield { ...how, ...arrived(), rows: [], sha256: digest.digest("hex") };
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
