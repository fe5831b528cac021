import { createHash } from "node:crypto";
import type { BlindIndex } from "../blind-index.ts";
import type { ImportIssue } from "./codes.ts";
import type { ImportFormat } from "./fields.ts";
import { type ImportInput, readRows } from "./file.ts";
import { checkRow, type TeacherPatch } from "./rows.ts";

/** A row that was read and checked by itself; `patch` is null when it is rejected. */
export type ReadRow = {
  readonly line: number;
  readonly patch: TeacherPatch | null;
  readonly issues: readonly ImportIssue[];
};

/** The next part of an extract. The last one has no rows, but the hash of the file. */
export type FilePiece = {
  readonly rows: readonly ReadRow[];
  readonly format: ImportFormat;
  /** Bytes of the file that were read since the piece before. */
  readonly bytes: number;
  /** Columns or members that are not known, each told once. */
  readonly unknown: readonly string[];
  /** Of all bytes, in hex; null until the end. */
  readonly sha256: string | null;
};

/**
 * Reads an extract and checks each row by itself, in the order of the file. Half of an import's checking is done
 * here, and nothing of it needs the register: so it may run in a thread of its own.
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read to its end
 */
export async function* readPieces(input: ImportInput, blindIndex: BlindIndex): AsyncGenerator<FilePiece> {
  const digest = createHash("sha256");
  let bytes = 0;
  let unknown: string[] = [];
  let format: ImportFormat = "csv";
  const rows = readRows(input, {
    onBytes(chunk) {
      digest.update(chunk);
      bytes += chunk.length;
    },
    onUnknown: (label) => unknown.push(label),
  });
  for await (const some of rows) {
    format = some[0]?.format ?? format;
    const checked = some.map((row): ReadRow => ({ line: row.line, ...checkRow(row, blindIndex) }));
    yield { rows: checked, format, bytes, unknown, sha256: null };
    bytes = 0;
    unknown = [];
  }
  yield { rows: [], format, bytes, unknown, sha256: digest.digest("hex") };
}
