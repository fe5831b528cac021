import { expect, test } from "bun:test";
import { createReadStream } from "node:fs";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import type { TvsError } from "../../../src/domain/errors.ts";
import { readExtract } from "../../../src/domain/import/read.ts";
import { csv, row, withImports, withoutRegNo } from "../../harness/imports.ts";
import { catchError } from "../../harness/rejection.ts";

const bad = { nin: "x" };
const spread = csv([
  row(1, { ...bad, state: "a\nb\nc" }),
  row(2, bad),
  row(3, { ...bad, state: "x" }),
  row(4, bad),
]);

test.each([
  ["LF", spread],
  ["CRLF", spread.replaceAll("\n", "\r\n")],
  ["a byte order mark", `\ufeff${spread}`],
  ["no line break at its end", spread.trimEnd()],
  ["commas in quoted cells", spread.replace("a\nb", "a, b\nc, M.Ed.")],
])("the line numbers of a file with %s are those of a text editor", (_name, text) =>
  withImports(async ({ add }) => {
    const { report } = await add(text);
    expect(report.rejected.map((issue) => issue.line)).toEqual([2, 5, 6, 7]);
  }),
);

test("blank lines and lines of commas are counted as lines but not as rows", () =>
  withImports(async ({ add }) => {
    const [header, first, second] = csv([row(1), row(2, bad)]).split("\n");
    const { rows, report } = await add(`\n${header}\n\n${first}\n,,,,,,\n${second}\n\n`);
    expect(rows).toBe(2);
    expect(report.rejected.map(withoutRegNo)).toEqual([{ line: 6, field: "nin", code: "NIN_INVALID" }]);
  }));

test("a row with too many or too few cells, or with a cell above 32,767 characters, is rejected", () =>
  withImports(async ({ add }) => {
    const long = row(4, { name: "x".repeat(32_768) });
    const [header, first, second = "", ...others] = csv([row(1), row(2), long, row(3)]).split("\n");
    const few = second.split(",").slice(0, 2).join(",");
    const { report, inserted } = await add([header, `${first},x`, few, ...others].join("\n"));
    const codes = ["COLUMN_COUNT", "COLUMN_COUNT", "CELL_TOO_LONG"];
    expect(report.rejected).toEqual(codes.map((code, n) => ({ line: n + 2, field: null, code })));
    expect(inserted).toBe(1);
  }));

const cellsOf = async (name: string) => {
  const file = new URL(`../../fixtures/extracts/${name}`, import.meta.url);
  const rows: (string | null)[] = [];
  const bytes = createReadStream(file);
  for await (const some of readExtract({ name, bytes }, createBlindIndex(new Uint8Array(32))).rows)
    rows.push(...some.map(({ patch }) => patch?.licenseExpiryDate ?? null));
  return rows;
};

test.each([
  ["carriage-returns-alone.csv", 2],
  ["cr-cr-lf-quoted.csv", 2],
  ["ctrl-z-at-the-end.csv", 2],
  ["rows-with-one-delimiter-more.csv", 3],
  ["line-break-in-a-header-cell.csv", 1],
  ["html-table-called.xls", 2],
] as const)("every row of %s is read with its expiry date", async (name, rows) => {
  expect(await cellsOf(name)).toEqual(Array(rows).fill("2094-06-30"));
});

test.each([
  ["csv-in-a-zip.zip", /zip archive and no workbook; unpack it/],
  ["xz-called.csv", /compressed; unpack it/],
  ["array-of-objects.json", /one JSON array/],
  ["expiry-formulas-without-results.xlsx", /formulas without results/],
  ["expiry-merged-over-rows.xlsx", /merged cells/],
] as const)("the refusal of %s names the remedy", async (name, says) => {
  expect(String(await catchError(cellsOf(name)))).toMatch(says);
});

test("a CSV table has at most 256 columns", () =>
  withImports(async ({ add }) => {
    const [header = "", first = ""] = csv([row(1)]).split("\n");
    const missing = 256 - header.split(",").length;
    const widened = (more: number) =>
      [
        header + Array.from({ length: more }, (_, index) => `,extra ${index}`).join(""),
        first + ",".repeat(more),
      ].join("\n");
    const error = await catchError(add(widened(missing + 1)));
    expect(String(error)).toMatch(/more than 256 columns/);
    expect(await add(widened(missing))).toMatchObject({ rows: 1, rejected: 0, inserted: 1 });
  }));

const line = (number: number | string, more = "") =>
  `{"regNo":"TR/2019/LA/${number}","name":"A","source":"legacy","certificateStatus":"CLAIMED","licenseExpiryDate":null${more}}`;
const ndjson = { name: "a.jsonl", pieceBytes: 65_536 };
const deep = (depth: number) => `,"x":${"[".repeat(depth)}${"]".repeat(depth)}`;
const broken: [string, string | Uint8Array, string][] = [
  ["cut short", line(2).slice(0, 40), "JSON_INVALID"],
  ["an array", `[${line(2)}]`, "JSON_INVALID"],
  ["with a NUL", line("2\0"), "JSON_INVALID"],
  ["longer than any teacher's", line(2, `,"x":"${"x".repeat(3_000_000)}"`), "JSON_INVALID"],
  ["too deep", line(2, deep(33)), "JSON_TOO_DEEP"],
  ["far too deep", line(2, deep(200_000)), "JSON_TOO_DEEP"],
  ["no UTF-8", Buffer.from(line("2\u00e9"), "latin1"), "TEXT_INVALID"],
  ["damaged by a character set", line(2, ',"x":"Ren\ufffd"'), "TEXT_INVALID"],
  ["with a member twice, and too large a number", line(2, ',"x":1e999,"name":"B"'), "DUPLICATE_MEMBER"],
  ["with a member twice, and half a character", line(2, ',"x":"\\ud800","name":"B"'), "DUPLICATE_MEMBER"],
];

test("a malformed line of NDJSON is rejected, and the other lines are applied", () =>
  withImports(async ({ add, find }) => {
    const parts = [`${line(1)}\n`, ...broken.map(([, second]) => second), line(3)];
    const content = Buffer.concat(parts.flatMap((part) => [Buffer.from(part), Buffer.from("\n")]));
    const { report, rows, inserted, rejected } = await add(content, ndjson);
    const counted = { rows: broken.length + 2, inserted: 2, rejected: broken.length };
    expect({ rows, inserted, rejected }).toEqual(counted);
    expect(report.rejected).toEqual(
      broken.map(([, , code], n) => ({ line: 3 + n, field: null, code })) as never,
    );
    expect(await find("TR/2019/LA/2")).toBeNull();
    expect(await find("TR/2019/LA/3")).not.toBeNull();
  }));

const good = csv([row(1), row(2), row(3)]);
const noObject = /no line up to here is a JSON object/;
// biome-ignore format: a table reads better in rows
const unreadable: [string, string | Uint8Array, RegExp, name?: string][] = [
  ["is empty", "", /empty/],
  ["has blank lines only", "\n\n", /no header/],
  ["lacks a column", "reg_no,name,source\nA/B/C/D,N,legacy\n", /line 1: .*certificate_status/],
  ["has a column twice", `name,${good}`, /line 1: .*name twice/],
  ["is not UTF-8", Buffer.concat([Buffer.from(`${good}TR/1/2/3,Ren`), Buffer.from([0xe9, 10])]),
    /line 5: .*UTF-8/],
  ["ends within a UTF-8 character", Buffer.concat([Buffer.from(good), Buffer.from([0xc3])]), /line 5: .*UTF-8/],
  ["contains a NUL byte", good.replace("TR/2019/LA/3", "TR/2019\0LA/3"), /line 4: .*NUL/],
  ["has a quote inside a cell", good.replace("TR/2019/LA/2", 'TR/20"19/LA/2'), /line 3: .*quotes/],
  ["is UTF-16 without a mark", Buffer.from(good, "utf16le"),
    /UTF-16 without a mark: give --encoding utf-16le/],
  ["is a damaged workbook", Buffer.from("PK\x03\x04and so on"), /the workbook is damaged/],
  ["has a row without end", `${good}"${"x".repeat(1_100_000)}`, /line 5: .*too long/],
  ["is NDJSON in UTF-16", Buffer.from(`${line(1)}\n${line(2)}\n`, "utf16le"), /the file is UTF-16; save it as UTF-8, as NDJSON is/, ndjson.name],
  ["is NDJSON of blank lines", "\n \n\n", noObject, ndjson.name],
  ["is HTML with a name of NDJSON", "<!doctype html>\n<html>\n<body>503</body>\n</html>\n", noObject, ndjson.name],
  ["is a JSON array over many lines", JSON.stringify([{ regNo: "TR/2019/LA/1" }], null, 2), noObject, ndjson.name],
  ["is one endless line of NDJSON", `${"x".repeat(3_000_000)}`, noObject, ndjson.name],
  ["has a thousand lines before the first JSON object", `${"x\n".repeat(1000)}${line(1)}\n`, noObject, ndjson.name],
];

test.each(unreadable)(
  "a file that %s is refused, and changes nothing",
  (_what, content, expected, name = "extract.csv") =>
    withImports(async ({ add, count, everything }) => {
      const { code, message } = (await catchError(add(content, { name, pieceBytes: 65_536 }))) as TvsError;
      expect(code).toBe("INPUT_UNREADABLE");
      expect(message).toMatch(expected);
      expect(message).not.toContain("TR/2019");
      expect(await count("SELECT (SELECT count(*) FROM teachers) + (SELECT count(*) FROM imports)")).toBe(0);
      expect(everything()).not.toContain("Adaeze");
    }),
);

const quotedHeader = "reg_no,name,source,certificate_status,license_expiry_date";
const quotedLine = (number: number, name: string) => `TR/2019/LA/${number},${name},legacy,CLAIMED,`;

test("a row is rejected if missing quotes join several rows in one of its cells", () =>
  withImports(async ({ add, count }) => {
    const text = [
      quotedHeader,
      quotedLine(1, '"Ada'),
      quotedLine(2, "Bola"),
      quotedLine(3, 'Chi"'),
      quotedLine(4, "Dayo"),
    ].join("\n");
    const { report, inserted } = await add(text);
    expect(inserted).toBe(1);
    expect(report.rejected).toEqual([{ line: 2, field: "name", code: "ROWS_IN_A_CELL" }]);
    expect(await count("SELECT count(*) FROM teachers")).toBe(1);
  }));
