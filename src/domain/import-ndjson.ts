import { type ImportField, importFields, type RawRow } from "./import-fields.ts";
import { maxRowBytes, type RowSource, UnreadableError } from "./import-source.ts";

/** Unknown members that are told of; a file with more of them is something else. */
const maxUnknown = 50;

/**
 * Reads NDJSON: one object a line, its members in camelCase, and `profile`. null clears a field.
 * @throws UnreadableError for a line that is no JSON object: a file cut short must not be half applied
 */
export async function* readJsonRows({ bytes, onUnknown }: RowSource): AsyncGenerator<RawRow> {
  const unknown = new Set<string>();
  let line = 0;
  for await (const text of readLines(bytes)) {
    line++;
    if (text.trim() === "") continue;
    const members = parseObject(text, line);
    for (const name of Object.keys(members)) {
      if (isKnown(name) || unknown.has(name) || unknown.size >= maxUnknown) continue;
      unknown.add(name);
      onUnknown(/^[a-z][a-z]{0,39}$/i.test(name) ? name : `member ${unknown.size}`);
    }
    yield rowOf(members, line);
  }
}

async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8");
  let rest = "";
  let line = 0;
  for await (const chunk of bytes) {
    const text = rest + decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      line++;
      yield text.slice(start, end);
      start = end + 1;
    }
    rest = text.slice(start);
    if (rest.length > maxRowBytes) throw new UnreadableError(line + 1, "the line is too long; write one object a line");
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

function parseObject(text: string, line: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message repeats what it read.
    throw new UnreadableError(line, "no JSON; write one object a line");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UnreadableError(line, "not a JSON object; write one object a line");
  }
  return value as Record<string, unknown>;
}

const known: ReadonlySet<string> = new Set([...importFields, "profile"]);

function isKnown(name: string): boolean {
  return known.has(name);
}

function rowOf(members: Record<string, unknown>, line: number): RawRow {
  const cells: Partial<Record<ImportField, string>> = {};
  for (const field of importFields) {
    const value = members[field];
    if (value === undefined) continue;
    const text = cellOf(field, value);
    if (text === null) return { line, format: "ndjson", cells: {}, fault: { field, code: "VALUE_TYPE_INVALID" } };
    cells[field] = text;
  }
  return { line, format: "ndjson", cells, profile: members["profile"] };
}

/** A number is taken for a teacher id alone: 01234567890 as a JSON number has lost its zero already. */
function cellOf(field: ImportField, value: unknown): string | null {
  if (value === null) return "";
  if (typeof value === "string") return value.trim();
  if (typeof value === "number") return field === "tId" ? String(value) : null;
  return typeof value === "boolean" && (field === "active" || field === "ninVerified") ? String(value) : null;
}
