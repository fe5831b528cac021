import { describe, expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import { splitRecords } from "../../src/domain/import-csv.ts";
import { readPhone } from "../../src/domain/import-values.ts";
import { canonicalPhone } from "../../src/domain/search-term.ts";
import { rejection } from "../rejection.ts";
import { csv, row, withImports } from "./import-world.ts";

describe("the lines of the report", () => {
  const bad = { nin: "x" };
  const spread = (newline: string) =>
    csv([
      row(1, { ...bad, state: `a${newline}b${newline}c` }),
      row(2, bad),
      row(3, { ...bad, state: "x" }),
      row(4, bad),
    ]);

  test.each([
    ["LF", (text: string) => text, "\n"],
    ["CRLF", (text: string) => text.replaceAll("\n", "\r\n"), "\n"],
    ["a byte order mark", (text: string) => `\ufeff${text}`, "\n"],
    ["no line end at the end", (text: string) => text.trimEnd(), "\n"],
  ])("count what an editor counts: %s", async (_name, spell, newline) => {
    await withImports(async ({ add }) => {
      const { report } = await add(spell(spread(newline)));
      expect(report.rejected.map((issue) => issue.line)).toEqual([2, 5, 6, 7]);
    });
  });

  test("blank lines and rows of commas are no rows, but lines", () =>
    withImports(async ({ add }) => {
      const [header, first, second] = csv([row(1), row(2, bad)]).split("\n");
      const { rows, report } = await add(`\n${header}\n\n${first}\n,,,,,,\n${second}\n\n`);
      expect(rows).toBe(2);
      expect(report.rejected).toEqual([{ line: 6, field: "nin", code: "NIN_INVALID" }]);
    }));

  test("a row with too many or too few cells is rejected as a whole", () =>
    withImports(async ({ add }) => {
      const text = csv([row(1), row(2), row(3)]).split("\n");
      const { report, inserted } = await add(
        [text[0], `${text[1]},x`, text[2]?.replace(/,[^,]*$/, ""), text[3]].join("\n"),
      );
      const code = "COLUMN_COUNT";
      expect(report.rejected).toEqual([2, 3].map((line) => ({ line, field: null, code })));
      expect(inserted).toBe(1);
    }));
});

describe("a file that could not be read", () => {
  const good = csv([row(1), row(2), row(3)]);
  const unreadable: [string, string | Uint8Array, RegExp][] = [
    ["is empty", "", /empty/],
    ["has blank lines only", "\n\n", /no header/],
    ["lacks a column", "reg_no,name,source\nA/B/C/D,N,legacy\n", /line 1: .*certificate_status/],
    ["has a column twice", `name,${good}`, /line 1: .*name twice/],
    [
      "is not UTF-8",
      Buffer.concat([Buffer.from(`${good}TR/1/2/3,Ren`), Buffer.from([0xe9, 10])]),
      /line 5: .*UTF-8/,
    ],
    ["ends within a character", Buffer.concat([Buffer.from(good), Buffer.from([0xc3])]), /line 5: .*UTF-8/],
    ["holds NUL", good.replace("TR/2019/LA/3", "TR/2019\0LA/3"), /line 4: .*NUL/],
    ["has a quote inside a cell", good.replace("TR/2019/LA/2", 'TR/20"19/LA/2'), /line 3: .*quotes/],
    ["has text behind a quote", good.replace("TR/2019/LA/2", '"TR/2019/LA/2"x'), /line 3: .*quotes/],
    ["has a quote that is not closed", good.replace("TR/2019/LA/2", '"TR/2019/LA/2'), /line 3: .*quotes/],
    ["has a row without end", `${good}"${"x".repeat(1_100_000)}`, /line 5: .*too long/],
  ];

  test.each(unreadable)("%s", async (_name, content, message) => {
    await withImports(async ({ add, count, everything }) => {
      const error = await rejection(add(content, { pieceBytes: 65_536 }));
      expect(error).toMatchObject({ code: "INPUT_UNREADABLE" });
      expect((error as Error).message).toMatch(message);
      expect((error as Error).message).not.toContain("TR/2019");
      expect(await count("SELECT (SELECT count(*) FROM teachers) + (SELECT count(*) FROM imports)")).toBe(0);
      expect(everything()).not.toContain("Adaeze");
    });
  });

  test.each([
    ["not JSON", '{"regNo": "TR/2019/LA/1"', 2],
    ["an array", "[]", 2],
    ["a word", "null", 2],
  ])("NDJSON: %s on a line", async (_name, second, line) => {
    await withImports(async ({ add }) => {
      const first = '{"regNo":"TR/2019/LA/1","name":"A","source":"legacy","certificateStatus":"CLAIMED"}';
      const error = await rejection(add(`${first}\n${second}\n`, { name: "a.jsonl" }));
      expect((error as Error).message).toContain(`line ${line}:`);
      expect((error as Error).message).not.toContain("TR/2019");
    });
  });
});

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("the CSV reader", () => {
  test("reads what another parser reads, however the text is cut", () => {
    const pick = numbers(1);
    const cells = [
      "",
      "a",
      "b c",
      "\u00e9",
      "x,y",
      'say "yes"',
      "two\nlines",
      "two\r\nlines",
      '"',
      ",",
      '""',
      " ",
    ];
    for (let round = 0; round < 300; round++) {
      const newline = pick(2) === 0 ? "\n" : "\r\n";
      const quote = (cell: string) =>
        /[",\r\n]/.test(cell) || pick(4) === 0 ? `"${cell.replaceAll('"', '""')}"` : cell;
      const records = Array.from({ length: 1 + pick(6) }, () =>
        Array.from({ length: 2 + pick(3) }, () => cells[pick(cells.length)] ?? ""),
      );
      const text =
        records.map((record) => record.map(quote).join(",")).join(newline) + (pick(2) === 0 ? newline : "");
      const other = parse(text, { relax_column_count: true, record_delimiter: [newline] }) as string[][];
      expect(other).toEqual(records);
      expect(readInPieces(text, () => 1 + pick(5))).toEqual(records);
    }
  });
});

function readInPieces(text: string, size: () => number): string[][] {
  const found: string[][] = [];
  let rest = "";
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const length = size();
    const read = splitRecords(rest + text.slice(at, at + length), { line, final: false });
    found.push(...read.records.map((record) => [...record.cells]));
    ({ rest, line } = read);
    at += length;
  }
  return rest === ""
    ? found
    : [...found, ...splitRecords(rest, { line, final: true }).records.map((one) => [...one.cells])];
}

describe("phone numbers", () => {
  test("are read as a search for them is, by the short way too", () => {
    const pick = numbers(2);
    const digits = (count: number) => Array.from({ length: count }, () => pick(10)).join("");
    for (let round = 0; round < 300; round++) {
      const national = `${[7, 8, 9][pick(3)]}${digits(9)}`;
      for (const text of [`0${national}`, `+234${national}`, `234${national}`]) {
        expect(readPhone(text)).toEqual({ value: canonicalPhone(text) });
      }
    }
    for (const text of ["+44 20 7946 0958", "0803 123 4567"]) {
      expect(readPhone(text)).toEqual({ value: canonicalPhone(text) });
    }
  });
});
