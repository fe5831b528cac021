/** The parsers of extracts: each reads a file, or refuses it with a message of its own. */

import { strict as assert } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import { writeXlsx } from "hucre/xlsx";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { type ImportInput, readExtract } from "../../src/domain/import/read.ts";
import { foreignFiles } from "../domain/import/foreign-files.ts";
import { makeZip } from "../harness/archive.ts";
import { csv, rows } from "../harness/imports.ts";
import { membersOf } from "./parser-edits.ts";
import type { FuzzedParser } from "./parser-evidence.ts";

const blindIndex = createBlindIndex(new Uint8Array(32).fill(7));
const foreign = await foreignFiles();
const isBook = (file: Buffer) => file[0] === 0x50;

/** Removes the time of creation, so that the workbook is the same in every run. */
function repacked(book: Buffer): Buffer {
  return makeZip(
    Object.fromEntries(Object.entries(membersOf(book)).filter(([name]) => !name.startsWith("docProps/"))),
  );
}

const own = [
  csv(rows(5)),
  '{"regNo":"A/1/B/1","tId":1,"name":"Ada","profile":{"a":[1]},"nin":null}\n{"tId":2}\n',
];
const cells = csv(rows(5))
  .split("\n")
  .map((line) => line.split(","));
const extracts = [
  ...own.map((text) => Buffer.from(text)),
  repacked(Buffer.from(await writeXlsx({ sheets: [{ name: "Teachers", rows: cells }] }))),
  // The first rows are enough.
  ...foreign
    .map(({ content }) => Buffer.from(content))
    .map((file) => (isBook(file) ? repacked(file) : file.subarray(0, 900))),
];

async function* inPieces(content: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += length) yield content.subarray(at, at + length);
}

/** Every checked row of an extract, or the message of its refusal. */
async function readAll(content: Buffer, pieceBytes: number) {
  const input: ImportInput = { name: "extract", bytes: inPieces(content, pieceBytes), reading: {} };
  let said = "";
  const all: unknown[] = [];
  try {
    for await (const rows of readExtract(input, blindIndex).rows) all.push(...rows);
  } catch (error) {
    if (!isTvsError(error) || !["INPUT_UNREADABLE", "REFUSED"].includes(error.code)) throw error;
    said = error.message;
  }
  return { said, all };
}

const extract = (corpus: readonly Buffer[], share: number): FuzzedParser => ({
  corpus,
  share,
  async accepts(input) {
    const whole = await readAll(input, 2 ** 20);
    // The rows do not depend on the pieces; which fault is found first may.
    const pieces = await readAll(input, 1 + (input.length % 13));
    assert.equal(pieces.said === "", whole.said === "");
    if (whole.said === "")
      assert(isDeepStrictEqual(pieces.all, whole.all), "rows differ by the pieces they came in");
    return whole.all.length > 0;
  },
});
export const files: Readonly<Record<string, FuzzedParser>> = {
  "CSV and NDJSON": extract(
    extracts.filter((file) => !isBook(file)),
    60,
  ),
  workbooks: extract(extracts.filter(isBook), 15),
};
