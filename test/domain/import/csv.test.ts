import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { readCsv, type TableRecord } from "../../../src/domain/import/csv.ts";
import { UnreadableError } from "../../../src/domain/import/fields.ts";
import { seededNumbers } from "../../harness/random.ts";
import { catchError } from "../../harness/rejection.ts";

type Rules = Parameters<typeof readCsv>[1]["rules"];

/** Reads a text in pieces of `pieceBytes`. */
async function read(text: string, { rules = "strict" as Rules, maxRecordBytes = 1000, pieceBytes = 5 } = {}) {
  async function* pieces() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const records: TableRecord[] = [];
  for await (const some of readCsv(pieces(), { maxRecordBytes, rules })) records.push(...some);
  return records;
}

// biome-ignore format: a list reads better in rows
const cells = [
  "", "a", "b c", "\u00e9", "x,y", 'say "yes"', "two\nlines", "two\r\nlines", '"', ",", '""', " ", "\u{1F600}",
];

test.each(["strict", "lenient"] as const)(
  "the %s CSV rules give the same records for pieces of any size",
  async (rules) => {
    const pick = seededNumbers(1);
    for (let round = 0; round < 200; round++) {
      const newline = pick(2) === 0 ? "\n" : "\r\n";
      const quote = (cell: string) =>
        /[",\r\n ]/.test(cell) || pick(4) === 0 ? `"${cell.replaceAll('"', '""')}"` : cell;
      let text = pick(4) === 0 ? "\ufeff" : "";
      let line = 1;
      const records = Array.from({ length: 1 + pick(6) }, () => {
        const record = {
          line,
          cells: Array.from({ length: 2 + pick(3) }, () => cells[pick(cells.length)] ?? ""),
        };
        const written = `${record.cells.map(quote).join(",")}${newline}`;
        text += written;
        line += written.split("\n").length - 1;
        return record;
      });
      if (pick(2) === 0) text = text.slice(0, -newline.length);
      const found = await read(text, { rules, pieceBytes: 1 + pick(7) });
      expect(found.map(({ line, cells }) => ({ line, cells }))).toEqual(records);
    }
  },
);

test("the CSV reader reads an empty line as a record of one empty cell", async () => {
  expect(await read("\na,b\r\n\r\nc\n")).toEqual([
    { line: 1, cells: [""] },
    { line: 2, cells: ["a", "b"] },
    { line: 3, cells: [""] },
    { line: 4, cells: ["c"] },
  ]);
  expect(await read("")).toEqual([]);
});

const faults: [string, string, Rules, string][] = [
  ["text after a quoted cell", 'a\n"two\r\nlines"\n"b"x\n', "strict", "quotes"],
  ["text after a quoted cell in lenient CSV", 'a\n"two\r\nlines"\n"b"x\n', "lenient", "quotes"],
  ["a quote within a cell", 'a\n"two\r\nlines"\nb"c\n', "strict", "quotes"],
  ["a quote that is not closed", 'a\n"two\r\nlines"\n"b\nc\nd', "strict", "quotes"],
  ["no end", `a\n"two\r\nlines"\n"${"b\n".repeat(2000)}`, "strict", "too long"],
];

test.each(faults)(
  "the error of a CSV record with %s has the number of the record's first line",
  async (_name, text, rules, message) => {
    const error = await catchError(read(text, { rules }));
    expect(error).toBeInstanceOf(UnreadableError);
    expect(error).toMatchObject({ line: 4 });
    expect((error as Error).message).toContain(message);
  },
);

test("the lenient CSV rules trim cells and accept quotes within cells and any line end", async () => {
  const records = await read(' a , b "c" d\r"e" ,f', { rules: "lenient" });
  expect(records.map((record) => record.cells)).toEqual([
    ["a", 'b "c" d'],
    ["e", "f"],
  ]);
});

test("the CSV reader rethrows the error of a file that cannot be read", async () => {
  const failure = new Error("EIO");
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("a\n");
    throw failure;
  }
  const reading = Array.fromAsync(readCsv(broken(), { maxRecordBytes: 1000, rules: "strict" }));
  expect(await catchError(reading)).toBe(failure);
});
