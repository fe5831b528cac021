import { expect, test } from "bun:test";
import { limitArg, sinceArg } from "../../../cli/terminal/lists.ts";
import {
  exitCodeOf,
  exitCodes,
  parseCount,
  parseDuration,
  parseTime,
  printable,
  record,
  table,
} from "../../../cli/terminal/output.ts";
import { TvsError } from "../../../src/domain/errors.ts";

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toMatchObject({ code: "USAGE" });
    return (error as Error).message;
  }
  throw new Error("it was accepted");
}

test("exit codes are frozen", () => {
  expect(exitCodes).toEqual({ done: 0, refused: 1, undecided: 2 });
});

test.each([
  ["USAGE", 2],
  ["CONFIG_INVALID", 2],
  ["REFUSED", 1],
  ["NOT_KNOWN", 1],
  ["MASTER_KEY_MISSING", 1],
  ["STORE_BUSY", 1],
  ["INTERNAL", 1],
] as const)("the error %s ends a command with %d", (code, exit) => {
  expect(exitCodeOf(new TvsError(code, "x"))).toBe(exit);
});

test.each([
  ["30s", 30_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
  ["0s", 0],
])("the duration %s is read", (text, ms) => {
  expect(parseDuration(text, "--overlap")).toBe(ms);
});

test.each(["", "5", "h", "-1h", "1.5h", "1 h", "1H", "1w", "1h30m", "1234567s"])(
  "%j is refused as a duration",
  (text) => {
    expect(refusalOf(() => parseDuration(text, "--overlap"))).toBe(
      "--overlap must be a duration such as 30s, 5m, 24h or 7d",
    );
  },
);

test.each([
  ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31T12:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31T12:00:00.250+01:00", "2026-01-31T11:00:00.250Z"],
  ["2026-01-31", "2026-01-31T00:00:00.000Z"],
])("the time %s is read", (text, time) => {
  expect(new Date(parseTime(text, "--since")).toISOString()).toBe(time);
});

test.each(["", "yesterday", "2026-01-31T12:00:00", "2026-13-01", "2026-01-31T25:00Z", "1767225600"])(
  "%j is refused as a time",
  (text) => {
    const said = "--since must be an ISO 8601 time such as 2026-01-31T12:00:00Z";
    expect(refusalOf(() => parseTime(text, "--since"))).toBe(said);
    expect(refusalOf(() => sinceArg("Only").read(text, "--since"))).toBe(
      `${said}, or a duration such as 24h`,
    );
  },
);

test("a count is a whole number of ten digits at most", () => {
  expect(["0", "7", "9999999999"].map((text) => parseCount(text, "--limit"))).toEqual([0, 7, 9_999_999_999]);
  for (const text of ["", "-1", "1.0", "1e3", " 1", "12345678901", "0x1"]) {
    expect(refusalOf(() => parseCount(text, "--limit"))).toBe("--limit must be a whole number");
  }
});

test("a list is cut at 1 to 100000, told before anything is opened", () => {
  const { read } = limitArg(50);
  expect(["1", "100000"].map((text) => read(text, "--limit"))).toEqual([1, 100_000]);
  for (const text of ["0", "100001"])
    expect(refusalOf(() => read(text, "--limit"))).toBe("--limit must be from 1 to 100000");
});

test("a table is aligned, without lines, colour or trailing spaces", () => {
  expect(
    table(
      ["kid", "state"],
      [
        ["a", "active"],
        ["long one", null],
      ],
    ),
  ).toBe(["kid       state", "a         active", "long one  -"].join("\n"));
});

test("a record has a line for each member", () => {
  expect(record({ id: 1, name: "Ada", on: false, none: null, missing: undefined, empty: "" })).toBe(
    ["id       1", "name     Ada", "on       false", "none     -", "missing  -", "empty    -"].join("\n"),
  );
});

test("control characters of values are escaped in tables and records", () => {
  expect(table(["name"], [["x\u001b[31m\ny"]])).toBe("name\nx\\u001b[31m\\u000ay");
  expect(record({ name: "x\u009b2J" })).toBe("name  x\\u009b2J");
});

test("a table shows times to the second, a record in full", () => {
  const time = "2026-01-31T12:00:00.123Z";
  expect(table(["AT"], [[time]])).toBe("AT\n2026-01-31T12:00:00Z");
  expect(record({ at: time })).toBe(`at  ${time}`);
});

test("a record's long list goes on below itself, and a word is never broken", () => {
  const purposes = Array.from({ length: 8 }, (_, index) => `PURPOSE_NUMBER_${index}`);
  const lines = record({ id: "x", purposes: purposes.join(", ") }).split("\n");
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines.slice(2)) expect(line).toMatch(/^ {10}PURPOSE_/);
  const shown = lines
    .slice(1)
    .join(" ")
    .matchAll(/PURPOSE_NUMBER_\d/g);
  expect(Array.from(shown, ([name]) => name)).toEqual(purposes);
});

test("a hidden character beyond the basic plane is escaped as its two halves, and readable text stays", () => {
  const hidden = "a\u{e0041}b";
  expect(printable(hidden)).toBe("a\\udb40\\udc41b");
  expect(JSON.parse(`"${printable(hidden)}"`)).toBe(hidden);
  expect(printable("Adé Ọbí 😀 教師")).toBe("Adé Ọbí 😀 教師");
});
