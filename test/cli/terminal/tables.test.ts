import { expect, test } from "bun:test";
import { alignValue, layOutTable } from "../../../cli/terminal/tables.ts";

const heading = (title: string) => title;
const head = ["NAME", "NOTE"];
const chinese = ["王小明", "a sentence of several words"];
const rows = [chinese, ["Ada", "another one"]];

test("a table counts a wide character as two columns", () => {
  const lines = ["NAME    NOTE", "王小明  a sentence of several words", "Ada     another one"];
  expect(layOutTable(head, rows, { width: null, heading })).toBe(lines.join("\n"));
});

test("a printed table wraps a sentence if wide characters leave too little room", () => {
  const width = "王小明".length + 2 + "a sentence of several words".length;
  const lines = ["NAME    NOTE", "王小明  a sentence of several", "        words", "Ada     another one"];
  expect(layOutTable(head, rows, { width, heading })).toBe(lines.join("\n"));
});

test("a printed record wraps a value by terminal columns, not by characters", () => {
  const value = ["教師".repeat(4), "教師".repeat(4), "教師".repeat(4)].join(" ");
  const [, second] = alignValue({ name: "title", pad: 0, value, width: 40 }).split("\n");
  expect(second).toBe(`${" ".repeat(7)}${"教師".repeat(4)}`);
});

test("a wrapped line keeps a number together with its word", () => {
  const value = "57 VALID, 2 EXPIRED, 0 REVOKED, 1 NOT_FOUND";
  const lines = ["licenses           57 VALID, 2 EXPIRED,", "0 REVOKED, 1 NOT_FOUND"];
  expect(alignValue({ name: "licenses", pad: 9, value, width: 40 }).split(/\n */)).toEqual(lines);
});
