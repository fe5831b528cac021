import { expect, test } from "bun:test";
import { limitOption, sinceOption } from "../../../cli/terminal/lists.ts";
import {
  escapeUnprintable,
  exitCodeOf,
  exitCodes,
  formatMembers,
  formatTable,
  parseCount,
  parseDuration,
  parseTime,
  wrapIndented,
} from "../../../cli/terminal/output.ts";
import { type ErrorCode, TvsError } from "../../../src/domain/errors.ts";

/** The message of a refusal. @throws Error if the text is accepted */
function refusalOf(read: (text: string, flag: string) => unknown, text: string): string {
  try {
    read(text, "--flag");
  } catch (error) {
    expect(error).toMatchObject({ code: "USAGE" });
    return (error as Error).message;
  }
  throw new Error(`${text} was accepted`);
}

test("the exit code of every error code is the one that this test lists, because exit codes must not change", () => {
  expect(exitCodes).toEqual({ done: 0, refused: 1, undecided: 2 });
  const ends = { USAGE: 2, CONFIG_INVALID: 2, REFUSED: 1, NOT_KNOWN: 1, MASTER_KEY_MISSING: 1, INTERNAL: 1 };
  for (const [code, exit] of Object.entries({ ...ends, STORE_BUSY: 1 }))
    expect([code, exitCodeOf(new TvsError(code as ErrorCode, "x"))]).toEqual([code, exit]);
});

const [since, limit] = [sinceOption("Only").read, limitOption(50).read];
const aTime = "--flag must be an ISO 8601 time such as 2026-01-31T12:00:00Z";

test.each([
  [
    "a duration",
    parseDuration,
    { "30s": 30_000, "5m": 300_000, "24h": 86_400_000, "7d": 604_800_000, "0s": 0 },
    ["", "5", "h", "-1h", "1.5h", "1 h", "1H", "1w", "1h30m", "1234567s"],
    "--flag must be a duration such as 30s, 5m, 24h or 7d",
  ],
  [
    "a time",
    (text: string, flag: string) => new Date(parseTime(text, flag)).toISOString(),
    {
      "2026-01-31T12:00:00Z": "2026-01-31T12:00:00.000Z",
      "2026-01-31T12:00Z": "2026-01-31T12:00:00.000Z",
      "2026-01-31T12:00:00.250+01:00": "2026-01-31T11:00:00.250Z",
      "2026-01-31": "2026-01-31T00:00:00.000Z",
    },
    ["", "yesterday", "2026-01-31T12:00:00", "2026-13-01", "2026-01-31T25:00Z", "1767225600"],
    aTime,
  ],
  ["a time or duration", since, {}, ["", "yesterday", "2026-13-01"], `${aTime}, or a duration such as 24h`],
  [
    "a count",
    parseCount,
    { "0": 0, "7": 7, "9999999999": 9_999_999_999 },
    ["", "-1", "1.0", "1e3", " 1", "12345678901", "0x1"],
    "--flag must be a whole number",
  ],
  ["a limit", limit, { "1": 1, "100000": 100_000 }, ["0", "100001"], "--flag must be from 1 to 100000"],
])(
  "an option reads %s, and the refusal of an invalid value names the option",
  (_name, read, good, bad, message) => {
    for (const [text, value] of Object.entries(good)) expect(read(text, "--flag")).toBe(value);
    for (const text of bad) expect([text, refusalOf(read, text)]).toEqual([text, message]);
  },
);

test("a printed table is aligned, without lines, colour or trailing spaces", () => {
  const rows = [["a", "active"] as const, ["long one", null] as const];
  expect(formatTable(["kid", "state"], rows)).toBe("kid       state\na         active\nlong one  -");
});

const chinese = ["王小明", "a sentence of several longer words"];
const wideRows = [chinese, ["Ada", "another one"]];

test("a table counts a wide character as two columns", () => {
  const lines = ["NAME    NOTE", "王小明  a sentence of several longer words", "Ada     another one"];
  expect(formatTable(["NAME", "NOTE"], wideRows)).toBe(lines.join("\n"));
});

test("a printed table wraps a sentence if wide characters leave too little room", () => {
  const columns = "王小明".length + 2 + "a sentence of several longer words".length;
  const lines = [
    "NAME    NOTE",
    "王小明  a sentence of several longer",
    "        words",
    "Ada     another one",
  ];
  expect(Bun.stripANSI(formatTable(["NAME", "NOTE"], wideRows, { isTTY: true, columns }))).toBe(
    lines.join("\n"),
  );
});

test("a table in which no sentence can be wrapped has a block of lines for each row", () => {
  const [id, value] = ["x".repeat(30), "57 VALID, 2 EXPIRED, 0 REVOKED, 1 NOT_FOUND"];
  const lines = [`ID    ${id}`, "NOTE  57 VALID, 2 EXPIRED, 0 REVOKED,", "      1 NOT_FOUND"];
  const printed = formatTable(["ID", "NOTE"], [[id, value]], { isTTY: true, columns: 40 });
  expect(Bun.stripANSI(printed)).toBe(lines.join("\n"));
});

test("a wrapped text counts a wide character as two columns", () => {
  const text = ["教師".repeat(4), "教師".repeat(4), "教師".repeat(4)].join(" ");
  const [, second] = wrapIndented("title  ", text, { width: 40 }).split("\n");
  expect(second).toBe(`${" ".repeat(7)}${"教師".repeat(4)}`);
});

test("a printed record has a line for each member", () => {
  const record = { id: 1, name: "Ada", on: false, none: null, missing: undefined, empty: "" };
  const lines = ["id       1", "name     Ada", "on       false", "none     -", "missing  -", "empty    -"];
  expect(formatMembers(record)).toBe(lines.join("\n"));
});

test("a printed table shows times to the second, and a printed record shows them in full", () => {
  const time = "2026-01-31T12:00:00.123Z";
  expect(formatTable(["AT"], [[time]])).toBe("AT\n2026-01-31T12:00:00Z");
  expect(formatMembers({ at: time })).toBe(`at  ${time}`);
});

test("the long list of a printed record continues on further lines, and no word is broken", () => {
  const purposes = Array.from({ length: 8 }, (_, index) => `PURPOSE_NUMBER_${index}`);
  const lines = formatMembers({ id: "x", purposes: purposes.join(", ") }).split("\n");
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines.slice(2)) expect(line).toMatch(/^ {10}PURPOSE_/);
  const shown = lines.slice(1).join(" ");
  expect([...shown.matchAll(/PURPOSE_NUMBER_\d/g)].map(([name]) => name)).toEqual(purposes);
});

test("control and hidden characters of printed values are escaped, and readable text is unchanged", () => {
  expect(formatTable(["name"], [["x\u001b[31m\ny"]])).toBe("name\nx\\u001b[31m\\u000ay");
  expect(formatMembers({ name: "x\u009b2J" })).toBe("name  x\\u009b2J");
  // A character beyond U+FFFF is escaped as two surrogates.
  const hidden = "a\u{e0041}b";
  expect(escapeUnprintable(hidden)).toBe("a\\udb40\\udc41b");
  expect(JSON.parse(`"${escapeUnprintable(hidden)}"`)).toBe(hidden);
  expect(escapeUnprintable("Adé Ọbí 😀 教師")).toBe("Adé Ọbí 😀 教師");
});
