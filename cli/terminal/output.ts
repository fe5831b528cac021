import { readDuration } from "../../src/domain/clock.ts";
import { suggestion } from "../../src/domain/did-you-mean.ts";
import { type ErrorCode, TvsError } from "../../src/domain/errors.ts";
import { alignValue, layOutTable, wrapText } from "./tables.ts";

/** Control characters, and characters that reverse or hide text. Data must not control the terminal. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes a text safe for a terminal: writes invisible characters as JSON escapes. */
export const escapeControls = (text: string): string => text.replace(unprintable, escaped);

/** Writes a value as indented JSON that is safe for a terminal. */
export function safeJson(value: object): string {
  return JSON.stringify(value, null, 2).split("\n").map(escapeControls).join("\n");
}

function escaped(character: string): string {
  // JSON escapes a character above U+FFFF as two surrogates.
  return character
    .split("")
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Exit codes (decision D1.2). 0: done, or all is valid. 1: refused, or one is not valid or not known. 2: undecided. */
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
export function print(args: Asked, value: unknown, human: () => string): void {
  // JSON.stringify escapes control characters only up to U+001F. `escapeControls` escapes the others.
  const text = args.json === true ? escapeControls(JSON.stringify(value)) : human();
  process.stdout.write(args.json === true ? `${text}\n` : ensureLineEnd(text));
}

/** Prints a note to stderr, so that stdout has only the result. */
export function printNote(words: string): void {
  // A note may quote text from the database, whose control characters must not reach the terminal.
  const lines = words.split("\n").map(escapeControls);
  // A terminal breaks long lines within words. A command in the note could not be pasted then.
  const shown = process.stderr.isTTY === true ? lines.map(hanging) : lines;
  process.stderr.write(ensureLineEnd(shown.join("\n")));
}

/** Wraps a line of a note for the terminal. Further lines get the indentation of the first. */
function hanging(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? "";
  const width = terminalWidth(process.stderr) - indent.length;
  return indent + wrapText(line.slice(indent.length), width, `\n${indent}`);
}

export function printNoteTable(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  process.stderr.write(ensureLineEnd(formatTable(head, rows, process.stderr)));
}

/** Prints a hint, such as the next command, at a terminal only. */
export function hint(args: Asked, text: string): void {
  if (args.json !== true && process.stderr.isTTY === true) printNote(text);
}

const ensureLineEnd = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

export type Cell = string | number | boolean | null | undefined;

/** Makes a table that fits the terminal. In a pipe or file every row is one line, for `grep` and `cut`. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { isTTY, columns }: { isTTY?: boolean; columns?: number } = process.stdout,
): string {
  const cells = rows.map((row) => row.map((one) => toSecond(cell(one))));
  const width = isTTY === true ? Math.max(columns ?? 80, 40) : null;
  return layOutTable(head, cells, { width, heading: (title) => formatHeading(title, isTTY) });
}

type CellName<T> = { [K in keyof T]: T[K] extends Cell ? K : never }[keyof T] & string;

/** The columns of a table by title: each is the name of a member, or a function that makes the cell. */
export type Columns<T> = Readonly<Record<string, CellName<T> | ((one: T) => Cell)>>;

export function formatList<T>(list: readonly T[], columns: Columns<T>): string {
  const cells = Object.values(columns).map((column) =>
    typeof column === "function" ? column : (one: T) => one[column] as Cell,
  );
  const rows = list.map((one) => cells.map((cellOf) => cellOf(one)));
  return formatTable(Object.keys(columns), rows);
}

/** Prints a list: one array with `--json`, else a table. @param none the text for an empty list */
export function printList<T>(args: Asked, list: readonly T[], columns: Columns<T>, none?: string): void {
  print(args, list, () => (list.length === 0 && none !== undefined ? none : formatList(list, columns)));
}

/** Makes a text with a line for each member. A long value continues on further lines. */
export function formatRecord(members: Readonly<Record<string, Cell>>): string {
  const nameWidth = Math.max(...Object.keys(members).map((name) => name.length));
  const isSeen = process.stdout.isTTY === true;
  return Object.entries(members)
    .map(([name, value]) => {
      const text = cell(value);
      const pad = nameWidth - name.length;
      // Without a terminal only lists are wrapped. Other values stay on one line, for `grep`.
      const isOneLine = !isSeen && !text.includes(", ");
      if (isOneLine) return `${name}${" ".repeat(pad)}  ${text}`;
      const width = isSeen ? terminalWidth() : Math.max(terminalWidth(), nameWidth + 32);
      return alignValue({ name, pad, value: text, width });
    })
    .join("\n");
}

/** Returns the width for texts, in characters: that of the terminal, but 40 to 100; 80 without a terminal. */
export function terminalWidth({ columns = 80 }: { columns?: number } = process.stdout): number {
  return Math.min(Math.max(columns, 40), 100);
}

/** Wraps a sentence of a command's result at a terminal. In a pipe or file it stays one line. */
export function wrapSentence(sentence: string): string {
  return process.stdout.isTTY === true ? wrapText(sentence, terminalWidth()) : sentence;
}

/** Removes the milliseconds of a time, to save columns in tables. `--json` and records show them. */
function toSecond(text: string): string {
  return text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.\d{3}Z$/, "$1Z");
}

function cell(value: Cell): string {
  return value === null || value === undefined || value === "" ? "-" : escapeControls(String(value));
}

/** Makes a title bold at a terminal, unless NO_COLOR is set. */
export function formatHeading(title: string, isTTY = process.stdout.isTTY): string {
  const colourful = isTTY === true && (process.env.NO_COLOR ?? "") === "";
  return colourful ? `\u001b[1m${title}\u001b[22m` : title;
}

/** Reads a duration: `30s`, `5m`, `24h`, `7d`. @returns milliseconds @throws TvsError USAGE */
export function parseDuration(text: string, flag: string): number {
  const duration = readDuration(text);
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
export function parseList<T extends string>(text: string, flag: string, known: readonly T[]): T[] {
  if (text === "all") return [...known];
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.some((one) => one === name));
  if (unknown === undefined) return known.filter((one) => names.includes(one));
  const meant = suggestion(unknown, ["all", ...known]);
  throw new TvsError("USAGE", `${flag}: "${unknown}" is not one of all, ${known.join(", ")}${meant}`);
}

/** Reads one of a few words, ignoring case. @throws TvsError USAGE with the words, and the one probably meant */
export function parseChoice<T extends string>(text: string, flag: string, choices: readonly T[]): T {
  const known = choices.find((one) => one.toLowerCase() === text.toLowerCase());
  if (known !== undefined) return known;
  throw new TvsError("USAGE", `${flag} must be one of ${choices.join(", ")}${suggestion(text, choices)}`);
}

export function parseCount(text: string, flag: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new TvsError("USAGE", `${flag} must be a whole number`);
  return Number(text);
}
