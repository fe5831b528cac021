/** Reads workbooks with SheetJS (decision D7.13). */

import { Buffer } from "node:buffer";
import { inflateRawSync } from "node:zlib";
import { CFB, read, SSF, type WorkBook, type WorkSheet } from "@e965/xlsx";
import type { CellFlaw, TableRecord } from "./csv.ts";
import { convertDaysSince1900, convertDaysSince1904 } from "./dates.ts";
import { UnreadableError } from "./fields.ts";
import { maxColumns, tooManyColumnsMessage } from "./table.ts";
import {
  archiveLimits,
  isZipArchive,
  listZipEntries,
  workbookDamagedMessage,
  workbookTooLargeMessage,
} from "./text.ts";

/** Maximum rows of a sheet. `cli/register/workbook-process.ts` limits the time and memory of reading. */
const maxRows = 250_000;

/** Size of the smallest .xls file, in bytes: an OLE compound file has at least three sectors of 512 bytes. */
const minXlsBytes = 1536;

/** Unpacks a part of a workbook for SheetJS, whose own code never returns from a part without an end. */
class InflateRaw {
  /** Length of the packed part, in bytes; the next part of the file follows. */
  bytesRead = 0;
  _processChunk(packed: Uint8Array): Uint8Array {
    const options = { info: true, maxOutputLength: archiveLimits.bytes };
    const { buffer, engine } = inflateRawSync(packed, options) as unknown as Inflated;
    this.bytesRead = engine.bytesWritten;
    return buffer;
  }
}
type Inflated = { readonly buffer: Uint8Array; readonly engine: { readonly bytesWritten: number } };
(CFB as { utils: { use_zlib(zlib: object): void } }).utils.use_zlib({ InflateRaw });

export type SheetOptions = {
  readonly sheet?: string | undefined;
  /** The sheet to read if `sheet` is not given and the workbook has a sheet of this name. */
  readonly preferred?: string | undefined;
};

export type Sheet = { readonly name: string; readonly records: readonly TableRecord[] };

/**
 * Reads a sheet of a workbook. Texts stay unchanged, numbers become digits, and cells that show a date become
 * YYYY-MM-DD. A cell with a formula has the result that the spreadsheet saved last.
 * @param file the workbook's bytes, or the text of an HTML or XML table
 * @throws UnreadableError for another kind of file, a missing sheet, or a workbook that is damaged, too large or locked
 */
export function readWorkbook(file: Uint8Array | string, options: SheetOptions = {}): Sheet {
  const isZip = typeof file !== "string" && isZipArchive(file);
  if (isZip) refuseOtherArchives(listZipEntries(file));
  // SheetJS would read a smaller .xls file as text.
  if (!isZip && typeof file !== "string" && file.length < minXlsBytes)
    throw new UnreadableError(1, workbookDamagedMessage);
  const book = parse(file);
  if (isZip) checkParts(book);
  const name = chooseSheet(book, options);
  const sheet = book.Sheets[name];
  if (sheet === undefined) throw new UnreadableError(1, workbookDamagedMessage);
  return { name, records: recordsOf(sheet, book.Workbook?.WBProps?.date1904 === true) };
}

function refuseOtherArchives(parts: ReadonlySet<string>): void {
  const known = ["[content_types].xml", "content.xml", "xl/workbook.xml", "xl/workbook.bin"];
  if (!known.some((name) => parts.has(name)))
    throw new UnreadableError(1, "this is a zip archive and no workbook; unpack it first");
}

const noTable = "this is HTML or XML without a table that can be read; ask for the extract as CSV or .xlsx";

function parse(file: Uint8Array | string): WorkBook {
  const options = {
    ...{ dense: true, raw: true, cellNF: true, cellFormula: true, sheetStubs: true },
    ...{ cellText: false, cellHTML: false, bookFiles: true, sheetRows: maxRows + 100 },
  };
  try {
    return read(file, { ...options, type: typeof file === "string" ? "string" : "array" });
  } catch (error) {
    const isLocked = /password|encrypt/i.test(String(error));
    const words = "the workbook has a password; open it in a spreadsheet and save it without one";
    throw new UnreadableError(
      1,
      isLocked ? words : typeof file === "string" ? noTable : workbookDamagedMessage,
      {
        cause: error,
      },
    );
  }
}

/** Chooses the sheet to read: the sheet `sheet`, or else `preferred`, or else the first visible sheet with cells. */
function chooseSheet(book: WorkBook, { sheet, preferred }: SheetOptions): string {
  const { SheetNames: names } = book;
  if (sheet !== undefined) {
    if (names.includes(sheet)) return sheet;
    const words = `the workbook has no sheet of the name that was asked for; it has ${names.length}, and --sheet names one`;
    throw new UnreadableError(1, words);
  }
  if (preferred !== undefined && names.includes(preferred)) return preferred;
  const visible = names.filter((_, index) => (book.Workbook?.Sheets?.[index]?.Hidden ?? 0) === 0);
  // Chooses an unreadable sheet too, and refuses the file later, because the next sheet may be another table.
  const found = visible.find((name) => book.Sheets[name] === undefined || hasCells(book.Sheets[name]));
  if (found !== undefined) return found;
  if (names.length === 0) throw new UnreadableError(1, workbookDamagedMessage);
  throw new UnreadableError(1, "no sheet that is shown has cells; --sheet names one that is hidden");
}

type Cell = { readonly t: string; readonly v?: unknown; readonly z?: unknown; readonly f?: unknown };
type Rows = readonly (readonly (Cell | undefined)[] | undefined)[];

function rowsOf(sheet: WorkSheet): Rows {
  return (sheet as { "!data"?: Rows })["!data"] ?? [];
}

function hasCells(sheet: WorkSheet): boolean {
  return rowsOf(sheet).some((row) =>
    row?.some((cell) => cell !== undefined && (cell.t !== "z" || cell.f !== undefined)),
  );
}

function recordsOf(sheet: WorkSheet, is1904: boolean): TableRecord[] {
  const rows = rowsOf(sheet);
  const covered = coveredCells(sheet, rows.length);
  const records: TableRecord[] = [];
  // The array of rows is sparse. Object.keys skips its holes.
  for (const key of Object.keys(rows)) {
    const index = Number(key);
    const row = rows[index];
    if (!Number.isSafeInteger(index) || row === undefined) continue;
    const cells: string[] = [];
    const flaws = new Map<number, CellFlaw>();
    row.forEach((cell, column) => {
      if (cell === undefined) return;
      const flaw = cellFlawOf(cell);
      if (flaw !== null) flaws.set(column, flaw);
      const text = flaw === null ? textOf(cell, is1904) : "";
      if (text === "" && flaw === null) return;
      if (column >= maxColumns) throw new UnreadableError(index + 1, tooManyColumnsMessage);
      while (cells.length < column) cells.push("");
      cells[column] = text;
    });
    for (const column of covered.get(index) ?? []) flaws.set(column, "merged");
    if (cells.length === 0) continue;
    if (records.length >= maxRows) throw new UnreadableError(1, workbookTooLargeMessage);
    records.push({ line: index + 1, cells, ...(flaws.size === 0 ? {} : { flaws: [...flaws] }) });
  }
  return records;
}

/** Lists, for each row, the columns that have no value because a merged cell covers them. */
function coveredCells(sheet: WorkSheet, rows: number): ReadonlyMap<number, ReadonlySet<number>> {
  const covered = new Map<number, Set<number>>();
  for (const { s, e } of sheet["!merges"] ?? [])
    for (let row = s.r; row <= Math.min(e.r, rows - 1); row++) {
      const columns = covered.get(row) ?? new Set();
      covered.set(row, columns);
      for (let column = s.c; column <= Math.min(e.c, maxColumns - 1); column++)
        if (row !== s.r || column !== s.c) columns.add(column);
    }
  return covered;
}

function cellFlawOf({ t, f }: Cell): CellFlaw | null {
  if (t === "e") return "error";
  return t === "z" && f !== undefined ? "formula" : null;
}

function textOf({ t, v, z }: Cell, is1904: boolean): string {
  if (v === undefined || v === null || t === "z") return "";
  if (typeof v !== "number") return String(v);
  const format = typeof z === "string" ? z.slice(0, maxFormatLength) : "General";
  if (showsDate(format)) return (is1904 ? convertDaysSince1904(v) : convertDaysSince1900(v)) ?? String(v);
  return showsLeadingDigits(format) ? SSF.format(format, v) : String(v);
}

const maxFormatLength = 255;

/** Whether a number format shows a date: the format has d or y outside quotes, brackets and escapes. */
function showsDate(format: string): boolean {
  return /[dy]/i.test(format.replace(/"[^"]*"|\[[^\]]*\]|\\.|_./g, ""));
}

/** Whether a number format adds leading digits, as `00000000000` does for NINs. */
function showsLeadingDigits(format: string): boolean {
  return format.length > 1 && /^(?:0|#|"\d*"|\\\d)+$/.test(format) && !/^#*0?$/.test(format);
}

/** Matches content types of a workbook's main part: workbooks, templates and add-ins, also with macros or binary. */
const workbookType = /(?:spreadsheetml|ms-excel)\.(?:sheet|template|addin)\.(?:[\w.]*\.)?main(?:\+xml)?$/i;

/** Refuses a workbook whose parts contradict each other: Excel may show other rows than SheetJS reads. */
function checkParts(book: WorkBook): void {
  const { keys = [], files = {} } = book as unknown as {
    keys?: string[];
    files?: Readonly<Record<string, { content?: Uint8Array }>>;
  };
  const parts = new Map(keys.map((key) => [partName(key.replace(/^Root Entry/, "")), files[key]?.content]));
  const read = (part: string) => Buffer.from(parts.get(part) ?? []).toString();
  if (!parts.has("[content_types].xml")) return;
  // Parts of another kind of workbook, and names that differ only in case, make SheetJS read other parts than Excel.
  const others = ["content.xml", "meta-inf/manifest.xml", "objectdata.xml"];
  if (others.some((part) => parts.has(part)) || parts.size < keys.length)
    throw new UnreadableError(1, workbookDamagedMessage);
  const relations = attributesOfTags(read("_rels/.rels"), "Relationship");
  const types = attributesOfTags(read("[content_types].xml"), "Override");
  const targets = [
    ...relations
      .filter((one) => attribute(one, "Type")?.endsWith("/officeDocument"))
      .map((one) => attribute(one, "Target")),
    ...types
      .filter((one) => workbookType.test(attribute(one, "ContentType") ?? ""))
      .map((one) => attribute(one, "PartName")),
  ];
  const named = new Set(targets.map((target = "") => partName(target)));
  const [workbook = "xl/workbook.xml"] = named;
  const hasTwoIds = attributesOfTags(read(workbook), "sheet").some(
    (sheet) => (sheet.match(/(?:^|[\s:])id\s*=/gi) ?? []).length > 1,
  );
  if (named.size > 1 || !parts.has(workbook) || hasTwoIds)
    throw new UnreadableError(1, workbookDamagedMessage);
  for (const part of parts.keys()) if (part.endsWith(".xml")) checkRows(read(part));
}

function partName(name: string): string {
  return name.replace(/^\/+/, "").toLowerCase();
}

/** Lists the attributes of each XML tag `name`, one text per tag. The tag may have a namespace prefix. */
function attributesOfTags(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<(?:\\w+:)?${name}\\s([^<>]*)>`, "g"))].map(
    ([, inside = ""]) => inside,
  );
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`(?:^|\\s)${name}\\s*=\\s*["']([^"']*)["']`).exec(tag)?.[1];
}

/** Refuses a sheet if a row number does not ascend or exceeds 1,048,576. @throws UnreadableError */
function checkRows(sheet: string): void {
  let last = 0;
  for (const row of attributesOfTags(sheet, "row")) {
    const given = attribute(row, "r");
    const line = given === undefined ? last + 1 : Number(given);
    if (!Number.isSafeInteger(line) || line <= last || line > 1_048_576)
      throw new UnreadableError(1, workbookDamagedMessage);
    last = line;
  }
}
