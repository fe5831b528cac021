/** Tables for people: aligned if they fit the terminal, else wrapped, else with a block of lines for each row. */

import Table from "cli-table3";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

const leastWrappedWidth = 24;
const columnGap = 2;

/** @param width the terminal's columns; null without a terminal, where every row stays one line */
type Layout = { readonly width: number | null; readonly heading: (title: string) => string };

/**
 * Lays out rows of printable cells. No cell is cut, so that an id can be pasted. In a table wider than the terminal
 * sentences are wrapped; if that is not enough, each row becomes a block of lines.
 */
export function layOutTable(head: readonly string[], rows: readonly (readonly string[])[], layout: Layout) {
  const { width } = layout;
  if (width === null || widthOf(head, rows) <= width) return aligned(head, rows, layout);
  const wrappedRows = wrapSentences(head, rows, width);
  return wrappedRows === null ? stacked(head, rows, layout) : aligned(head, wrappedRows, layout);
}

function columnWidths(head: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return head.map((title, index) =>
    Math.max(...[title, ...rows.map((row) => row[index] ?? "")].map((one) => stringWidth(one))),
  );
}

function widthOf(head: readonly string[], rows: readonly (readonly string[])[]): number {
  const widths = columnWidths(head, rows);
  return widths.reduce((sum, one) => sum + one, 0) + columnGap * (widths.length - 1);
}

/** Wraps the widest column of sentences. @returns null if the other columns leave too little room */
function wrapSentences(head: readonly string[], rows: readonly (readonly string[])[], width: number) {
  const widths = columnWidths(head, rows);
  const isText = (index: number) => rows.some((row) => (row[index] ?? "").includes(" "));
  const texts = widths.map((one, index) => (isText(index) ? one : 0));
  const column = texts.indexOf(Math.max(...texts));
  const room = width - (widthOf(head, rows) - (widths[column] ?? 0));
  const words = rows.flatMap((row) => (row[column] ?? "").split(" ")).map((one) => stringWidth(one));
  if (!isText(column) || room < leastWrappedWidth || Math.max(...words) > room) return null;
  return rows.map((row) => row.map((text, index) => (index === column ? wrapText(text, room) : text)));
}

function aligned(head: readonly string[], rows: readonly (readonly string[])[], { heading }: Layout): string {
  const none = { top: "", "top-mid": "", "top-left": "", "top-right": "", bottom: "", "bottom-mid": "" };
  const lines = { "bottom-left": "", "bottom-right": "", left: "", "left-mid": "", mid: "", "mid-mid": "" };
  const made = new Table({
    chars: { ...none, ...lines, right: "", "right-mid": "", middle: " ".repeat(columnGap) },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
    head: head.map(heading),
  });
  made.push(...rows.map((row) => [...row]));
  const printed = made.toString().split("\n");
  return printed.map((line) => line.trimEnd()).join("\n");
}

function stacked(head: readonly string[], rows: readonly (readonly string[])[], { heading, width }: Layout) {
  const nameWidth = Math.max(...head.map((one) => stringWidth(one)));
  const line = (title: string, value: string) =>
    alignValue({ name: heading(title), pad: nameWidth - stringWidth(title), value, width: width ?? 80 });
  return rows.map((row) => head.map((title, index) => line(title, row[index] ?? "")).join("\n")).join("\n\n");
}

/** Writes a name and its value. If a word of the value does not fit beside the name, the value goes below the name. */
export function alignValue(options: { name: string; pad: number; value: string; width: number }): string {
  const { name, pad, value, width } = options;
  const indent = stringWidth(name) + pad + columnGap;
  const longest = Math.max(...value.split(" ").map((one) => stringWidth(one)));
  if (indent + longest > width && longest > leastWrappedWidth)
    return `${name}\n  ${wrapText(value, width - 2, "\n  ")}`;
  const room = Math.max(width - indent, leastWrappedWidth);
  return `${name}${" ".repeat(pad + columnGap)}${wrapText(value, room, `\n${" ".repeat(indent)}`)}`;
}

/** Wraps text between words. A long word stays whole, for copying, and a number stays with the word that it counts. */
export function wrapText(text: string, width: number, lineBreak = "\n"): string {
  const joined = text.replace(/(?<=\d) (?=\p{L})/gu, noBreak);
  return wrapAnsi(joined, width).replaceAll(noBreak, " ").replaceAll("\n", lineBreak);
}

/** A character for private use that replaces a space, so that no line breaks there. */
const noBreak = "\ue000";
