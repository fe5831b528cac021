import Table from "cli-table3";
import { type ErrorCode, TvsError } from "../src/domain/errors.ts";

/** Exit codes, frozen: done or all valid; refused, not valid or not known; could not decide. */
export const exitCodes = { done: 0, refused: 1, undecided: 2 } as const;

const undecidedCodes: readonly ErrorCode[] = ["USAGE", "INPUT_UNREADABLE", "CONFIG_INVALID"];

export function exitCodeOf(error: TvsError): number {
  return undecidedCodes.includes(error.code) ? exitCodes.undecided : exitCodes.refused;
}

/**
 * Prints a command's result: with `--json` one JSON value, else the text for people.
 * @param args the parsed arguments, of which only `json` is looked at
 */
export function print(args: { json?: unknown }, value: unknown, human: () => string): void {
  process.stdout.write(args.json === true ? `${JSON.stringify(value)}\n` : ensureLineEnd(human()));
}

/** A remark beside the result. It goes to stderr, so that stdout stays what scripts read. */
export function note(text: string): void {
  process.stderr.write(ensureLineEnd(text));
}

function ensureLineEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

export type Cell = string | number | boolean | null | undefined;

/** An aligned table without lines. Cells are printed as one line of printable text each. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const none = { top: "", "top-mid": "", "top-left": "", "top-right": "", bottom: "", "bottom-mid": "" };
  const lines = { "bottom-left": "", "bottom-right": "", left: "", "left-mid": "", mid: "", "mid-mid": "" };
  const made = new Table({
    chars: { ...none, ...lines, right: "", "right-mid": "", middle: "  " },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
    head: head.map((title) => heading(title)),
  });
  made.push(...rows.map((row) => row.map((one) => toSecond(cell(one)))));
  return made
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** One record, a line each member; a list that is too long for the line goes on below itself. */
export function record(members: Readonly<Record<string, Cell>>): string {
  const width = Math.max(...Object.keys(members).map((name) => name.length));
  const room = Math.max(terminalWidth() - width - 2, 30);
  return Object.entries(members)
    .map(([name, value]) => {
      const text = cell(value);
      const shown = text.includes(", ") ? wrapped(text, room, `\n${" ".repeat(width + 2)}`) : text;
      return `${name.padEnd(width)}  ${shown}`;
    })
    .join("\n");
}

/** Columns of the terminal; 80 where there is none, and no more than 100, because longer lines read badly. */
export function terminalWidth(): number {
  return Math.min(Math.max(process.stdout.columns ?? 80, 40), 100);
}

/** Breaks text between words into lines of `width`; a word that is longer stays whole, to be copied. */
export function wrapped(text: string, width: number, lineBreak = "\n"): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1] ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join(lineBreak);
}

/** In a table a time is for reading, and columns are dear; `--json` and single records have its milliseconds. */
function toSecond(text: string): string {
  return text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.\d{3}Z$/, "$1Z");
}

function cell(value: Cell): string {
  return value === null || value === undefined || value === "" ? "-" : printable(String(value));
}

/** Text from files and callers may hold escape sequences that would rewrite the operator's screen. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function heading(title: string): string {
  const colourful = process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "";
  return colourful ? `\u001b[1m${title}\u001b[22m` : title;
}

/**
 * Reads a duration: `30s`, `5m`, `24h`, `7d`.
 * @returns milliseconds
 * @throws TvsError USAGE
 */
export function parseDuration(flag: string, text: string): number {
  const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) throw new TvsError("USAGE", `${flag} must be a duration such as 30s, 5m, 24h or 7d`);
  return Number(match[1]) * (units[match[2] ?? "s"] ?? 0);
}

/**
 * Reads a time: ISO 8601 with an offset, or a date, which begins at midnight UTC.
 * @returns milliseconds since the epoch
 * @throws TvsError USAGE
 */
export function parseTime(flag: string, text: string): number {
  const wellFormed = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const time = wellFormed ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new TvsError("USAGE", `${flag} must be an ISO 8601 time such as 2026-01-31T12:00:00Z`);
  }
  return time;
}

/** Reads a whole number. @throws TvsError USAGE */
export function parseCount(flag: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new TvsError("USAGE", `${flag} must be a whole number`);
  return Number(text);
}
