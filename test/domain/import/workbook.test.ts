import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { CFB } from "@e965/xlsx";
import type { TableRecord } from "../../../src/domain/import/csv.ts";
import { readWorkbook } from "../../../src/domain/import/workbook.ts";
import { makeZip, workbookParts } from "../../harness/archive.ts";
import { catchError } from "../../harness/rejection.ts";

const sheetXml = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
const styles =
  '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy;@"/><numFmt numFmtId="166" formatCode="00000000000"/><numFmt numFmtId="165" formatCode="0.00&quot;day&quot;"/></numFmts>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>';

/** Makes a workbook with a sheet of the given rows, a second sheet and other parts. */
function bookOf(
  rows: string,
  others: Readonly<Record<string, string | Buffer>> = {},
  properties = "",
): Buffer {
  return makeZip({
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

async function rowsOf(book: Uint8Array, sheet?: string): Promise<readonly TableRecord[]> {
  return readWorkbook(book, { sheet }).records;
}

const firstRow = async (cells: string, properties = "") =>
  (await rowsOf(bookOf(`<row r="1">${cells}</row>`, {}, properties)))[0]?.cells;

test.each<[name: string, cells: string, expected: string[], properties?: string]>([
  ["shared text", '<c r="A1" t="s"><v>0</v></c>', ["shared"]],
  ["a text in parts, without its phonetic reading", '<c r="A1" t="s"><v>1</v></c>', ["in parts & more"]],
  ["inline text", '<c r="A1" t="inlineStr"><is><t>own</t></is></c>', ["own"]],
  ["a formula's result", '<c r="A1" t="str"><f>A2</f><v>result</v></c>', ["result"]],
  ["a number", '<c r="A1"><v>20000000001</v></c>', ["20000000001"]],
  ["a long number in scientific notation", '<c r="A1"><v>2.0000000001E10</v></c>', ["20000000001"]],
  ["a boolean", '<c r="A1" t="b"><v>1</v></c><c r="B1" t="b"><v>0</v></c>', ["true", "false"]],
  ["a number with leading zeros, as it is shown", '<c r="A1" s="4"><v>1234567890</v></c>', ["01234567890"]],
  ["a day", '<c r="A1" s="1"><v>47483</v></c>', ["2029-12-31"]],
  ["a day with its hour", '<c r="A1" s="2"><v>47483.75</v></c>', ["2029-12-31"]],
  ["a number with the unit day, which is no date", '<c r="A1" s="3"><v>47483</v></c>', ["47483"]],
  ["a day before Excel's wrong leap day", '<c r="A1" s="1"><v>59</v></c>', ["1900-02-28"]],
  [
    "an address that leaves cells out",
    '<c r="B1" t="s"><v>0</v></c><c r="D1"><v>4</v></c>',
    ["", "shared", "", "4"],
  ],
  ["no address", '<c t="s"><v>0</v></c><c><v>4</v></c>', ["shared", "4"]],
  ["a day since 1904", '<c r="A1" s="1"><v>46021</v></c>', ["2029-12-31"], '<workbookPr date1904="1"/>'],
])("a workbook cell with %s is read", async (_name, cells, expected, properties = "") => {
  expect(await firstRow(cells, properties)).toEqual(expected);
});

test("a workbook's first sheet, or the named sheet, is read with the sheet's own line numbers", async () => {
  const book = bookOf('<row r="3"><c r="A3"><v>1</v></c></row><row><c><v>2</v></c></row>');
  expect(await rowsOf(book)).toEqual([
    { line: 3, cells: ["1"] },
    { line: 4, cells: ["2"] },
  ]);
  expect(await rowsOf(book, "Two")).toEqual([{ line: 1, cells: ["second"] }]);
  expect(String(await catchError(rowsOf(book, "Three")))).toContain("no sheet of the name");
});

test.each([
  ["formula", '<c r="A1"><f>B1</f></c>'],
  ["formula", '<c r="A1" t="n"><f>B1</f><v></v></c>'],
  ["error", '<c r="A1" t="e"><v>#REF!</v></c>'],
] as const)("a workbook cell whose value cannot be known has the flaw %s", async (flaw, cell) => {
  const [row] = await rowsOf(bookOf(`<row r="1">${cell}</row>`));
  expect(row?.flaws).toEqual([[0, flaw]]);
});

const megabyte = "x".repeat(1024 * 1024);
const cell = '<c r="A1"><v>1</v></c>';
const relationTo = (part: string) =>
  `<Relationships><Relationship Id="a" Type="x/officeDocument" Target="${part}"/></Relationships>`;
const sheetOf = (id: string) =>
  `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="x"><sheets><sheet name="One" r:id="rId1" ${id}/></sheets></workbook>`;
// biome-ignore format: a table reads better in rows
const hostile: [name: string, book: () => Buffer, says: RegExp][] = [
  ["is a zip archive of other files", () => makeZip({ "hello.txt": "hello" }), /zip archive and no workbook/],
  ["is cut short", () => bookOf(`<row>${cell}</row>`).subarray(0, 900), /damaged/],
  ["has too high a compression ratio", () => bookOf(megabyte.repeat(40)), /larger than tvs reads/],
  ["declares an unpacked size of gigabytes",
    () => makeZip({ "xl/workbook.xml": megabyte }, { "xl/workbook.xml": 1.5 * 1024 ** 3 }),
    /larger than tvs reads/],
  ["has a cell beyond all columns", () => bookOf('<row r="1"><c r="XFD1"><v>1</v></c></row>'),
    /more than 256 columns/],
  ["has a row with the number 1e308", () => bookOf(`<row r="1e308">${cell}</row>`), /damaged/],
  ["has two rows with the same number", () => bookOf(`<row r="2">${cell}</row><row r="2">${cell}</row>`), /damaged/],
  ["refers to a shared text that does not exist", () => bookOf('<row r="1"><c r="A1" t="s"><v>99</v></c></row>'),
    /damaged/],
  ["names a main part that does not exist",
    () => bookOf(`<row r="1">${cell}</row>`, { "_rels/.rels": relationTo("xl/none.xml") }),
    /damaged/],
  ["names two main parts",
    () => bookOf(`<row r="1">${cell}</row>`, { "_rels/.rels": relationTo("xl/other.xml"), "xl/other.xml": "<workbook/>" }),
    /damaged/],
  ["has parts of two kinds of workbook", () => bookOf(`<row r="1">${cell}</row>`, { "content.xml": "<x/>" }), /damaged/],
  ["has two parts whose names differ only in case", () => bookOf(`<row r="1">${cell}</row>`, { "xl/WORKBOOK.xml": "<x/>" }), /damaged/],
  ["has two rows with the same number in another part",
    () => bookOf(`<row r="1">${cell}</row>`, { "a/xl/worksheets/b.xml": '<row r="2"/><row r="2"></row>'.replace("/>", "></row>") }),
    /damaged/],
  ["names two parts for a sheet", () => bookOf(`<row r="1">${cell}</row>`, { "xl/workbook.xml": sheetOf('q:id="rId2"') }), /damaged/],
  ["names a second part without a prefix", () => bookOf(`<row r="1">${cell}</row>`, { "xl/workbook.xml": sheetOf('Id="rId2"') }), /damaged/],
];

test.each(hostile)("a workbook that %s is refused", async (_name, book, says) => {
  expect(String(await catchError(rowsOf(book())))).toMatch(says);
});

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/extracts/${name}`, import.meta.url));

test.each([
  ["cells-without-addresses-revocation-becomes-expiry.xlsx", 2, 6, "2094-01-02"],
  ["workbook-part-of-another-name.xlsx", 1, 1, "Madeup Person B"],
  ["shared-strings-part-in-capitals.xlsx", 1, 1, "Madeup Person B"],
  ["escaped-carriage-return-x000D.xlsx", 2, 1, "Madeup Person B"],
  ["hidden-old-copy-first.xlsx", 1, 4, "2094-06-30"],
] as const)("each cell of the workbook %s is read in its own column", async (file, row, column, text) => {
  expect((await rowsOf(fixture(file)))[row]?.cells[column]).toBe(text);
});

test.each(["America/Los_Angeles", "Pacific/Kiritimati", "Africa/Lagos"])(
  "a date cell is the same day in the time zone %s, in every workbook format",
  async (zone) => {
    const script = `import { utils, write } from "@e965/xlsx";
import { readWorkbook } from "./src/domain/import/workbook.ts";
const cells = { A1: { t: "n", v: 47211, z: "d/m/yyyy" }, B1: { t: "s", v: "01234567890" }, "!ref": "A1:B1" };
const said = ["xlsx", "xlsb", "biff8", "ods", "xlml"].map((bookType) => {
  const book = utils.book_new(cells, "T");
  const bytes = new Uint8Array(write(book, { bookType, type: "array" }));
  const text = new TextDecoder().decode(bytes);
  return readWorkbook(bookType === "xlml" ? text : bytes).records[0].cells;
});
console.log(JSON.stringify(said));`;
    const child = Bun.spawn([process.execPath, "-e", script], {
      env: { ...process.env, TZ: zone },
      stdout: "pipe",
      stderr: "inherit",
    });
    const said = JSON.parse(await new Response(child.stdout).text());
    expect(said).toEqual(Array(5).fill(["2029-04-03", "01234567890"]));
  },
);

test("a text cell of an HTML table stays text", () => {
  const html = "<table><tr><td>3/4/2029</td><td>01234567890</td></tr></table>";
  expect(readWorkbook(html).records[0]?.cells).toEqual(["3/4/2029", "01234567890"]);
});

test("the refusal of a workbook with a password names the remedy", () => {
  const locked = CFB.utils.cfb_new();
  for (const name of ["/EncryptionInfo", "/EncryptedPackage"])
    CFB.utils.cfb_add(locked, name, Buffer.alloc(512));
  const file = Buffer.from(CFB.write(locked, { type: "buffer" }));
  expect(() => readWorkbook(file, {})).toThrow(
    "the workbook has a password; open it in a spreadsheet and save it without one",
  );
});
