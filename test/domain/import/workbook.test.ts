import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import type { TableRecord } from "../../../src/domain/import/csv.ts";
import { readWorkbook, workbookLimits } from "../../../src/domain/import/workbook.ts";
import { workbookParts, zipOf } from "../../harness/archive.ts";
import { rejection } from "../../harness/rejection.ts";

const sheetXml = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
const styles =
  '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy;@"/><numFmt numFmtId="165" formatCode="0.00&quot;day&quot;"/></numFmts>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>';

/** A workbook of a sheet of these rows and another, and whatever else is given. */
function bookOf(
  rows: string,
  others: Readonly<Record<string, string | Buffer>> = {},
  properties = "",
): Buffer {
  return zipOf({
    ...workbookParts(sheetXml(rows), { properties }),
    "xl/styles.xml": styles,
    "xl/sharedStrings.xml":
      "<sst><si><t>shared</t></si><si><r><t>in </t></r><r><t>parts &amp; more</t></r><rPh><t>no</t></rPh></si></sst>",
    "xl/worksheets/sheet2.xml": sheetXml(
      '<row r="1"><c r="A1" t="inlineStr"><is><t>second</t></is></c></row>',
    ),
    ...others,
  });
}

async function rowsOf(book: Uint8Array, sheet?: string, limits = workbookLimits): Promise<TableRecord[]> {
  const all: TableRecord[] = [];
  for await (const records of readWorkbook(book, { sheet, limits })) all.push(...records);
  return all;
}

const firstRow = async (cells: string, properties = "") =>
  (await rowsOf(bookOf(`<row r="1">${cells}</row>`, {}, properties)))[0]?.cells;

describe("a cell of a workbook", () => {
  test.each([
    ["shared text", '<c r="A1" t="s"><v>0</v></c>', ["shared"]],
    ["text in parts, without its reading", '<c r="A1" t="s"><v>1</v></c>', ["in parts & more"]],
    ["text of its own", '<c r="A1" t="inlineStr"><is><t>own</t></is></c>', ["own"]],
    ["a formula's result", '<c r="A1" t="str"><f>A2</f><v>result</v></c>', ["result"]],
    ["a number", '<c r="A1"><v>20000000001</v></c>', ["20000000001"]],
    ["a long number in short", '<c r="A1"><v>2.0000000001E10</v></c>', ["20000000001"]],
    ["a flag", '<c r="A1" t="b"><v>1</v></c><c r="B1" t="b"><v>0</v></c>', ["true", "false"]],
    ["a failed formula", '<c r="A1" t="e"><v>#N/A</v></c>', ["#N/A"]],
    ["a day", '<c r="A1" s="1"><v>47483</v></c>', ["2029-12-31"]],
    ["a day with its hour", '<c r="A1" s="2"><v>47483.75</v></c>', ["2029-12-31"]],
    ["a number in days, which is none", '<c r="A1" s="3"><v>47483</v></c>', ["47483"]],
    ["a day before Excel's wrong leap day", '<c r="A1" s="1"><v>59</v></c>', ["1900-02-28"]],
    [
      "an address that leaves cells out",
      '<c r="B1" t="s"><v>0</v></c><c r="D1"><v>4</v></c>',
      ["", "shared", "", "4"],
    ],
    ["no address", '<c t="s"><v>0</v></c><c><v>4</v></c>', ["shared", "4"]],
  ])("is %s", async (_name, cells, expected) => {
    expect(await firstRow(cells)).toEqual(expected);
  });

  test("counts its days from 1904 where the workbook says so", async () => {
    expect(await firstRow('<c r="A1" s="1"><v>46021</v></c>', '<workbookPr date1904="1"/>')).toEqual([
      "2029-12-31",
    ]);
  });
});

test("the sheet is the first one, or the one that is named, and lines are its own", async () => {
  const book = bookOf('<row r="3"><c r="A3"><v>1</v></c></row><row><c><v>2</v></c></row>');
  expect(await rowsOf(book)).toEqual([
    { line: 3, cells: ["1"] },
    { line: 4, cells: ["2"] },
  ]);
  expect(await rowsOf(book, "Two")).toEqual([{ line: 1, cells: ["second"] }]);
  expect(String(await rejection(rowsOf(book, "Three")))).toContain("no sheet of the name");
});

describe("a workbook that means harm", () => {
  const mebibyte = "x".repeat(1024 * 1024);
  const cell = '<c r="A1"><v>1</v></c>';
  const hostile: [name: string, book: () => Buffer, says: RegExp][] = [
    ["is a text", () => Buffer.from("PK\x03\x04and so on"), /damaged/],
    ["holds no sheet", () => zipOf({ "hello.txt": "hello" }), /damaged/],
    ["is cut short", () => bookOf(`<row>${cell}</row>`).subarray(0, 900), /damaged/],
    [
      "unpacks to gigabytes",
      () => bookOf(`<row r="1">${cell}</row>`.repeat(200_000)),
      /larger than tvs reads/,
    ],
    [
      "has a table of texts that fills memory",
      () => bookOf("", { "xl/sharedStrings.xml": `<sst>${`<si><t>${mebibyte}</t></si>`.repeat(5)}</sst>` }),
      /larger than tvs reads/,
    ],
    ["is nested without end", () => bookOf("<x>".repeat(1000)), /damaged/],
    ["has one tag without end", () => bookOf(`<row r="${mebibyte.repeat(4)}"/>`), /damaged/],
    [
      "claims to be smaller than it is",
      () => zipOf({ "xl/workbook.xml": mebibyte }, { "xl/workbook.xml": 10 }),
      /damaged/,
    ],
    [
      "has a cell beyond all columns",
      () => bookOf('<row r="1"><c r="XFD1"><v>1</v></c></row>'),
      /larger than tvs reads/,
    ],
    ["is no XML", () => bookOf("<row><c></row>"), /damaged/],
  ];

  test.each(hostile)("and %s is refused", async (_name, book, says) => {
    const limits = { ...workbookLimits, unpackedBytes: 6 * 1024 * 1024, stringBytes: 2 * 1024 * 1024 };
    expect(String(await rejection(rowsOf(book(), undefined, limits)))).toMatch(says);
  });

  test("names entities, which are not resolved", async () => {
    const bomb = `<!DOCTYPE x [<!ENTITY a "${"b".repeat(1000)}">]>${sheetXml('<row r="1"><c r="A1" t="str"><v>&a;&a;</v></c></row>')}`;
    expect(await rowsOf(bookOf("", { "xl/worksheets/sheet1.xml": bomb }))).toEqual([
      { line: 1, cells: ["&a;&a;"] },
    ]);
  });
});
