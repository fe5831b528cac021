import Table from "cli-table3";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { parseDurationMs } from "../../src/domain/clock.ts";
import { suggestWord } from "../../src/domain/did-you-mean.ts";
import { type ErrorCode, TvsError } from "../../src/domain/errors.ts";

/** Control characters, and characters that reverse or hide text. Data must not control the terminal. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes a text safe for a terminal: writes invisible characters as JSON escapes. */
export const escapeUnprintable = (text: string): string => text.replace(unprintable, escaped);

export function formatTerminalJson(value: object): string {
  return JSON.stringify(value, null, 2).split("\n").map(escapeUnprintable).join("\n");
}

function escaped(character: string): string {
  // JSON escapes a character above U+FFFF as two surrogates.
  return character
    .split("")
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Exit codes (decision D1.2). 0: done, or every input is valid. 1: refused, or an input is invalid or unknown. 2: undecided. */
export const exitCodes = { done: 0, refused: 1, undecided: 2 } as const;

const undecidedCodes: readonly ErrorCode[] = [
  "USAGE",
  "INPUT_UNREADABLE",
  "CONFIG_INVALID",
  "REGISTER_MISSING",
  "REGISTER_CLOSED",
];

export function exitCodeOf(error: TvsError): number {
  return undecidedCodes.includes(error.code) ? exitCodes.undecided : exitCodes.refused;
}

type Asked = { json?: unknown };

/** Prints a command's result: one JSON value with `--json`, else text. */
export function printResult(args: Asked, value: unknown, human: () => string): void {
  // JSON.stringify escapes control characters only up to U+001F. `escapeUnprintable` escapes the others.
  const text = args.json === true ? escapeUnprintable(JSON.stringify(value)) : human();
  process.stdout.write(args.json === true ? `${text}\n` : ensureLineEnd(text));
}

/** Prints a note to stderr, so that stdout has only the result. */
export function printNote(words: string): void {
  // A note may quote text from the database, whose control characters must not reach the terminal.
  const lines = words.split("\n").map(escapeUnprintable);
  // A terminal breaks long lines within words, and a command that is broken cannot be pasted.
  const shown = process.stderr.isTTY === true ? lines.map(wrapNote) : lines;
  process.stderr.write(ensureLineEnd(shown.join("\n")));
}

/** Wraps a line of a note for the terminal. The lines after a break get the indentation of the first line. */
function wrapNote(line: string): string {
  const start = /^ */.exec(line)?.[0] ?? "";
  return wrapIndented(start, line.slice(start.length), { width: chooseTextWidth(process.stderr) });
}

export function printNoteTable(head: readonly string[], rows: readonly (readonly TableCell[])[]): void {
  process.stderr.write(ensureLineEnd(formatTable(head, rows, process.stderr)));
}

/** Prints a hint, such as the next command, at a terminal only. */
export function hint(args: Asked, text: string): void {
  if (args.json !== true && process.stderr.isTTY === true) printNote(text);
}

const ensureLineEnd = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

export type TableCell = string | number | boolean | null | undefined;

type Rows = readonly (readonly string[])[];

const leastWrappedWidth = 24;
const columnGap = 2;

/**
 * Makes a table. In a pipe or file every row is one line, for `grep` and `cut`. At a terminal, the widest column of
 * texts with spaces is wrapped if necessary; if that is not enough, each row becomes a block of lines. No cell is cut.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly TableCell[])[],
  { isTTY, columns }: { isTTY?: boolean; columns?: number } = process.stdout,
): string {
  const titles = head.map((title) => formatHeading(title, isTTY));
  const cells = rows.map((row) => row.map((one) => toSecond(cell(one))));
  const width = isTTY === true ? Math.max(columns ?? 80, 40) : Number.POSITIVE_INFINITY;
  const widths = titles.map((title, index) => widest([title, ...cells.map((row) => row[index] ?? "")]));
  const tableWidth = widths.reduce((sum, one) => sum + one + columnGap, -columnGap);
  if (tableWidth <= width) return aligned(titles, cells);
  const wrapped = wrapSentences(cells, widths, tableWidth - width);
  return wrapped === null ? stacked(titles, cells, width) : aligned(titles, wrapped);
}

const widest = (texts: readonly string[]): number => Math.max(...texts.map((one) => stringWidth(one)));

/** Wraps the widest column of texts with spaces, to save `excess` characters. @returns null if the column would get too narrow */
function wrapSentences(rows: Rows, widths: readonly number[], excess: number): Rows | null {
  const isText = (index: number) => rows.some((row) => row[index]?.includes(" "));
  const texts = widths.map((one, index) => (isText(index) ? one : 0));
  const column = texts.indexOf(Math.max(...texts));
  const room = (widths[column] ?? 0) - excess;
  const words = rows.flatMap((row) => (row[column] ?? "").split(" "));
  if (!isText(column) || room < leastWrappedWidth || widest(words) > room) return null;
  return rows.map((row) => row.map((text, index) => (index === column ? wrapText(text, room) : text)));
}

function aligned(titles: string[], rows: Rows): string {
  const none = { top: "", "top-mid": "", "top-left": "", "top-right": "", bottom: "", "bottom-mid": "" };
  const lines = { "bottom-left": "", "bottom-right": "", left: "", "left-mid": "", mid: "", "mid-mid": "" };
  const made = new Table({
    chars: { ...none, ...lines, right: "", "right-mid": "", middle: " ".repeat(columnGap) },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
    head: titles,
  });
  made.push(...rows.map((row) => [...row]));
  const printed = made.toString().split("\n");
  return printed.map((line) => line.trimEnd()).join("\n");
}

function stacked(titles: readonly string[], rows: Rows, width: number): string {
  const nameWidth = widest(titles);
  return rows
    .map((row) => titles.map((title, index) => alignValue(title, row[index] ?? "", { nameWidth, width })))
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

/** Writes a name and its value. If a word of the value does not fit beside the name, the value goes below the name. */
function alignValue(name: string, value: string, options: { nameWidth: number; width: number }): string {
  const { nameWidth, width } = options;
  const indent = nameWidth + columnGap;
  const longest = widest(value.split(" "));
  if (indent + longest > width && longest > leastWrappedWidth)
    return `${name}\n${wrapIndented("  ", value, { width })}`;
  const start = name + " ".repeat(indent - stringWidth(name));
  return wrapIndented(start, value, { width: Math.max(width, indent + leastWrappedWidth) });
}

type Hanging = { readonly indent?: number; readonly width?: number };

/** Wraps a text that begins after `start`. The lines after a break are indented, by default to where the text begins. */
export function wrapIndented(start: string, text: string, options: Hanging = {}): string {
  const { indent = stringWidth(start), width = chooseTextWidth() } = options;
  return start + wrapText(text, width - indent, `\n${" ".repeat(indent)}`);
}

/** Wraps text between words. A long word stays whole, so that it can be copied; a number stays with the next word. */
export function wrapText(text: string, width = chooseTextWidth(), lineBreak = "\n"): string {
  const joined = text.replace(/(?<=\d) (?=\p{L})/gu, noBreak);
  return wrapAnsi(joined, width).replaceAll(noBreak, " ").replaceAll("\n", lineBreak);
}

/** A private-use character, which replaces a space at which no line may break. */
const noBreak = "\ue000";

type CellName<T> = { [K in keyof T]: T[K] extends TableCell ? K : never }[keyof T] & string;

/** The columns of a table by title: each is the name of a member, or a function that makes the cell. */
export type TableColumns<T> = Readonly<Record<string, CellName<T> | ((one: T) => TableCell)>>;

export function formatListTable<T>(list: readonly T[], columns: TableColumns<T>): string {
  const cells = Object.values(columns).map((column) =>
    typeof column === "function" ? column : (one: T) => one[column] as TableCell,
  );
  const rows = list.map((one) => cells.map((cellOf) => cellOf(one)));
  return formatTable(Object.keys(columns), rows);
}

/** Prints a list: one array with `--json`, else a table. @param none the text for an empty list */
export function printList<T>(args: Asked, list: readonly T[], columns: TableColumns<T>, none?: string): void {
  printResult(args, list, () =>
    list.length === 0 && none !== undefined ? none : formatListTable(list, columns),
  );
}

/** Makes a text with a line for each name and its value. A long value continues on further lines. */
export function formatMembers(members: Readonly<Record<string, TableCell>>): string {
  const nameWidth = Math.max(...Object.keys(members).map((name) => name.length));
  const isSeen = process.stdout.isTTY === true;
  const width = isSeen ? chooseTextWidth() : Math.max(chooseTextWidth(), nameWidth + 32);
  const lines = Object.entries(members).map(([name, value]) => {
    const text = cell(value);
    // Without a terminal only lists are wrapped. Other values stay on one line, for `grep`.
    if (!isSeen && !text.includes(", ")) return `${name.padEnd(nameWidth + columnGap)}${text}`;
    return alignValue(name, text, { nameWidth, width });
  });
  return lines.join("\n");
}

/** Returns the width for texts, in characters: the terminal's, at least 40 and at most 100; 80 without a terminal. */
export function chooseTextWidth({ columns = 80 }: { columns?: number } = process.stdout): number {
  return Math.min(Math.max(columns, 40), 100);
}

/** Wraps a sentence of a command's result at a terminal. In a pipe or file the sentence stays one line. */
export function wrapAtTerminal(sentence: string): string {
  return process.stdout.isTTY === true ? wrapText(sentence) : sentence;
}

/** Removes the milliseconds of a time, to make tables narrower. */
function toSecond(text: string): string {
  return text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.\d{3}Z$/, "$1Z");
}

function cell(value: TableCell): string {
  return value === null || value === undefined || value === "" ? "-" : escapeUnprintable(String(value));
}

export function formatHeading(title: string, isTTY = process.stdout.isTTY): string {
  const colourful = isTTY === true && (process.env.NO_COLOR ?? "") === "";
  return colourful ? `\u001b[1m${title}\u001b[22m` : title;
}

/** Reads a duration: `30s`, `5m`, `24h`, `7d`. @returns milliseconds @throws TvsError USAGE */
export function parseDuration(text: string, flag: string): number {
  const duration = parseDurationMs(text);
  if (duration === null) throw new TvsError("USAGE", `${flag} must be a duration such as 30s, 5m, 24h or 7d`);
  return duration;
}

/**
 * Reads an ISO 8601 time with an offset, or a date, which means its midnight in UTC.
 * @param orElse other accepted forms, for the message @returns milliseconds since the epoch @throws TvsError USAGE
 */
export function parseTime(text: string, flag: string, orElse = ""): number {
  const wellFormed = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const time = wellFormed ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new TvsError("USAGE", `${flag} must be an ISO 8601 time such as 2026-01-31T12:00:00Z${orElse}`);
  return time;
}

/** Reads `all`, or names separated by commas. @throws TvsError USAGE with the flag and the known names */
export function parseWordList<T extends string>(text: string, flag: string, known: readonly T[]): T[] {
  if (text === "all") return [...known];
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.some((one) => one === name));
  if (unknown === undefined) return known.filter((one) => names.includes(one));
  const meant = suggestWord(unknown, ["all", ...known]);
  throw new TvsError("USAGE", `${flag}: "${unknown}" is not one of all, ${known.join(", ")}${meant}`);
}

/** Reads one of the words `choices`, ignoring case. @throws TvsError USAGE with these words and a suggestion */
export function parseChoice<T extends string>(text: string, flag: string, choices: readonly T[]): T {
  const known = choices.find((one) => one.toLowerCase() === text.toLowerCase());
  if (known !== undefined) return known;
  throw new TvsError("USAGE", `${flag} must be one of ${choices.join(", ")}${suggestWord(text, choices)}`);
}

export function parseCount(text: string, flag: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new TvsError("USAGE", `${flag} must be a whole number`);
  return Number(text);
}
