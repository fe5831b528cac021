import { type CsvRecord, lineEndsIn, misplacedQuote, tooLong } from "./csv.ts";

/**
 * Reads CSV of RFC 4180 in UTF-8, with LF or CRLF, with a byte order mark or without, as many records at a time as a
 * piece of it completes: a quote in the wrong place moves every cell behind it, and is an error. Rows may be of
 * different lengths; an empty line is a record of one empty cell.
 *
 * By itself, because an extract has a million rows and nearly none of them a quote: a line without one is parted at its
 * commas, which takes a tenth of what a parser takes that looks at every byte.
 * @param maxRecordLength in UTF-16 units: a quote that is not closed swallows the rest of a file
 * @throws CsvError
 */
export async function* readStrictCsv(
  pieces: AsyncIterable<Uint8Array>,
  maxRecordLength: number,
): AsyncGenerator<CsvRecord[]> {
  const decoder = new TextDecoder();
  let rest = "";
  let line = 1;
  function scan(text: string, isEnd: boolean): CsvRecord[] {
    const whole = rest + text;
    const { records, end, nextLine } = recordsIn(whole, { line, isEnd, maxRecordLength });
    rest = whole.slice(end);
    line = nextLine;
    if (rest.length > maxRecordLength) throw tooLong(line);
    return records;
  }
  for await (const piece of pieces) yield scan(decoder.decode(piece, { stream: true }), false);
  yield scan(decoder.decode(), true);
}

/** What is known of a text that is scanned: the line on which it begins, and whether nothing follows it. */
type Place = { readonly line: number; readonly isEnd: boolean; readonly maxRecordLength: number };
type Scanned = { readonly records: CsvRecord[]; readonly end: number; readonly nextLine: number };

function recordsIn(text: string, { line: firstLine, isEnd, maxRecordLength }: Place): Scanned {
  const records: CsvRecord[] = [];
  let line = firstLine;
  let at = 0;
  let quote = text.indexOf('"');
  while (at < text.length) {
    if (quote !== -1 && quote < at) quote = text.indexOf('"', at);
    const newline = text.indexOf("\n", at);
    const lineEnd = newline === -1 ? text.length : newline;
    const isPlain = quote === -1 || quote > lineEnd;
    if (isPlain && newline === -1 && !isEnd) break;
    const record = isPlain
      ? { cells: textBefore(text, at, newline).split(","), next: lineEnd + 1, lines: 1 }
      : readQuoted(text, at, { line, isEnd });
    if (record === null) break;
    if (record.next - at > maxRecordLength) throw tooLong(line);
    records.push({ line, cells: record.cells });
    line += record.lines;
    at = record.next;
  }
  return { records, end: Math.min(at, text.length), nextLine: line };
}

type QuotedRecord = { readonly cells: string[]; readonly next: number; readonly lines: number };

/** @returns null when the record's end has not come yet */
function readQuoted(text: string, from: number, { line, isEnd }: Omit<Place, "maxRecordLength">) {
  const cells: string[] = [];
  let lines = 1;
  for (let at = from; ; ) {
    const isQuoted = text.startsWith('"', at);
    const end = isQuoted ? closingQuote(text, at) + 1 : endOfCell(text, at);
    const isOpen = isQuoted && end === 0;
    // What follows a quote at the end of what has come may be another one, or the second half of a CRLF.
    if (!isEnd && (isOpen || end >= text.length - (isQuoted ? 1 : 0))) return null;
    if (isOpen) throw misplacedQuote(line);
    const cell = isQuoted ? text.slice(at + 1, end - 1) : textBefore(text, at, end);
    if (!isQuoted && cell.includes('"')) throw misplacedQuote(line);
    cells.push(isQuoted ? cell.replaceAll('""', '"') : cell);
    if (isQuoted) lines += lineEndsIn(cell);
    if (text.startsWith(",", end)) {
      at = end + 1;
      continue;
    }
    const next = text.startsWith("\r\n", end) ? end + 2 : end + 1;
    if (end < text.length && text[next - 1] !== "\n") throw misplacedQuote(line);
    return { cells, next, lines } satisfies QuotedRecord;
  }
}

/** The text up to a line end, whose CR belongs to it; -1 is the end of the text, where a CR is one of the cell's. */
function textBefore(text: string, from: number, end: number): string {
  if (end === -1) return text.slice(from);
  const isCrlf = end > from && text[end] === "\n" && text[end - 1] === "\r";
  return text.slice(from, isCrlf ? end - 1 : end);
}

/** @returns -1 when the cell that begins with a quote is not closed */
function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at !== -1 && text.startsWith('"', at + 1)) at = text.indexOf('"', at + 2);
  return at;
}

function endOfCell(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== "," && text[at] !== "\n") at++;
  return at;
}
