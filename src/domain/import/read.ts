import { createHash } from "node:crypto";
import type { BlindIndex } from "../blind-index.ts";
import { TvsError } from "../errors.ts";
import { type ArrivedNames, refuseOverlooked, type UnreadColumn } from "./arrival.ts";
import { type ImportInput, openExtract } from "./extract.ts";
import { UnreadableError } from "./fields.ts";
import { readJsonRows } from "./ndjson.ts";
import type { Explanations } from "./report.ts";
import { type CheckedRow, checkRow } from "./rows.ts";
import { readTable } from "./table.ts";

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
