import { readStrictJson } from "../partner/strict-json.ts";
import { type ImportField, importFields, type RawRow } from "./import-fields.ts";
import { maxRowLength, type RowSource, UnreadableError } from "./import-source.ts";

const twofold = { field: null, code: "DUPLICATE_MEMBER" } as const;
/** Unknown members that are told of; a file with more of them is something else. */
const maxUnknown = 50;

/**
 * Reads NDJSON: one object a line, its members in camelCase, and `profile`. null clears a field.
 * @throws UnreadableError for a line that is no JSON object: a file cut short must not be half applied
 */
export async function* readJsonRows({ text, onUnknown }: RowSource): AsyncGenerator<RawRow[]> {
  const unknown = new Set<string>();
  let line = 0;
  for await (const lines of readLines(text)) {
    const rows: RawRow[] = [];
    for (const one of lines) {
      line++;
      if (one.trim() === "") continue;
      const members = parseObject(one, line);
      for (const name of Object.keys(members)) {
        if (known.has(name) || unknown.has(name) || unknown.size >= maxUnknown) continue;
        unknown.add(name);
        onUnknown(/^[a-z][a-z]{0,39}$/i.test(name) ? name : `member ${unknown.size}`);
      }
      // Which of two values was meant cannot be known; what else a strict reader refuses, checkRow does as well.
      const reading = readStrictJson(one);
      const isTwofold = "problem" in reading && reading.problem === "JSON_DUPLICATE_MEMBER";
      rows.push(isTwofold ? { ...rowOf({}, line), fault: twofold } : rowOf(members, line));
    }
    yield rows;
  }
}

async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = "";
  let count = 0;
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    count += lines.length;
    if (rest.length > maxRowLength)
      throw new UnreadableError(count + 1, "the line is too long; write one object a line");
    yield lines;
  }
  if (rest !== "") yield [rest];
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

function rowOf(members: Record<string, unknown>, line: number): RawRow {
  const cells: Partial<Record<ImportField, string>> = {};
  for (const field of importFields) {
    const value = members[field];
    if (value === undefined) continue;
    const text = cellOf(field, value);
    if (text === null)
      return { line, format: "ndjson", cells: {}, fault: { field, code: "VALUE_TYPE_INVALID" } };
    cells[field] = text;
  }
  return { line, format: "ndjson", cells, profile: members.profile };
}

/** A number is taken for a teacher id alone: 01234567890 as a JSON number has lost its zero already. */
function cellOf(field: ImportField, value: unknown): string | null {
  if (value === null) return "";
  if (typeof value === "string") return value.trim();
  if (typeof value === "number") return field === "tId" ? String(value) : null;
  return typeof value === "boolean" && (field === "active" || field === "ninVerified") ? String(value) : null;
}
