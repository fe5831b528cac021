/**
 * A mapping for a file that nobody has seen: what its columns are taken for, and why. What cannot be decided from the
 * file is asked, never guessed: a day that is taken for a month is a licence that ends on another day (decision D7.12).
 */

import { certificateStatuses, sources } from "../../partner/contract.ts";
import { nameLabel } from "./arrival.ts";
import { isPartOfName, readName } from "./column-names.ts";
import { addCell, type ColumnProfile, looks, newProfile } from "./column-profile.ts";
import { requiredFields } from "./columns.ts";
import type { TableRecord } from "./csv.ts";
import type { OpenedTable } from "./extract.ts";
import { columnOfField, fieldNamed, type ImportField, squeezed, UnreadableError } from "./fields.ts";
import { compileMapping, isDateField, type Mapping } from "./mapping.ts";
import { type Chosen, type ColumnReading, chooseColumns, type Question } from "./suggested-columns.ts";
import {
  findHeader,
  isFilled,
  isTotal,
  maxCellLength,
  maxColumns,
  oneLine,
  readTable,
  refuseFlaws,
  tooManyColumns,
} from "./table.ts";
import { headerLines } from "./text.ts";
import { readCertificateStatus, readSource } from "./values.ts";
import { isOwnWord, isWordField, otherWord } from "./words.ts";

export type Suggestion = Awaited<ReturnType<typeof suggestMapping>>;

const shownRows = 3;

/**
 * Looks at a whole table and proposes a mapping.
 * @param known what was told, or found, of the file besides: it stands in the mapping
 * @throws UnreadableError when there is no header or no row
 */
export async function suggestMapping(
  table: OpenedTable,
  known: Pick<Mapping, "encoding" | "sheet"> & { readonly isEncodingGuessed?: boolean },
) {
  const { beginning, header, profiles, first, flawed } = await profile(table);
  const taken = chooseColumns(profiles);
  const chosen = new Set(taken.chosen.values());
  for (const record of flawed) refuseFlaws(record, (column) => chosen.has(profiles[column] as ColumnProfile));
  const questions = [...taken.questions];
  const { dates, why } = chooseDates(taken.chosen, questions);
  const values = chooseWords(taken.chosen, questions);
  askForMissing(taken.chosen, profiles, questions);
  if (known.isEncodingGuessed === true)
    questions.push({
      about: "encoding",
      question: "the file is not UTF-8; look whether the names in the rows shown are right in windows-1252",
    });
  const fields = new Map([...taken.chosen].map(([field, column]) => [column.name, columnOfField[field]]));
  const mapping = withHeader(header, beginning, {
    columns: Object.fromEntries(fields),
    ignore: profiles
      .map(({ name }) => name)
      .filter((name) => !fields.has(name) && nameLabel(name, "") !== ""),
    values,
    constants: {},
    ...(dates === undefined ? {} : { dates }),
    ...(table.format === "csv" && table.delimiter !== "," ? { delimiter: table.delimiter } : {}),
    ...(known.encoding === undefined ? {} : { encoding: known.encoding }),
    ...(known.sheet === undefined ? {} : { sheet: known.sheet }),
    open: [...new Set(questions.map(({ about }) => about))],
  });
  return {
    mapping,
    columns: taken.columns.map((one) => withDates(one, why)),
    questions,
    /** Rows as they would be read, by the register's columns, without what is never stored as it is. */
    rows: await showRows(table, { header, first, mapping }),
  };
}

/** The line of the header stands in the mapping only where an import would not find it: titles come and go. */
function withHeader(header: TableRecord, beginning: readonly TableRecord[], mapping: Mapping): Mapping {
  const found = findHeader(beginning, compileMapping(mapping), true);
  return found === header ? mapping : { ...mapping, header: header.line };
}

async function profile(table: OpenedTable) {
  /** The lines up to some behind the header. */
  let beginning: TableRecord[] = [];
  let header: TableRecord | undefined;
  let profiles: ColumnProfile[] = [];
  const first: TableRecord[] = [];
  let last: TableRecord | undefined;
  const flawed: TableRecord[] = [];
  const count = ({ line, cells, flaws }: TableRecord) => {
    if (flaws !== undefined) flawed.push({ line, cells: [], flaws });
    if (first.length < shownRows) first.push({ line, cells });
    for (const [index, column] of profiles.entries())
      addCell(column, (cells[index] ?? "").slice(0, maxCellLength).trim(), line);
  };
  const add = (records: readonly TableRecord[], { line: headerLine }: TableRecord) => {
    for (const record of records) {
      if (record.line <= headerLine || !isFilled(record)) continue;
      if (last !== undefined) count(last);
      last = record;
    }
  };
  const begin = (found: TableRecord) => {
    if (found.cells.length > maxColumns) throw new UnreadableError(found.line, tooManyColumns);
    profiles = found.cells.map((cell) => newProfile(oneLine(cell)));
    add(beginning, found);
    header = found;
  };
  for await (const records of table.records) {
    if (header !== undefined) add(records, header);
    else {
      beginning = beginning.concat(records.filter(isFilled));
      if ((beginning.at(-1)?.line ?? 0) > headerLines) begin(likelyHeader(beginning));
    }
  }
  if (header === undefined) begin(likelyHeader(beginning));
  if (last !== undefined && !last.cells.some(isTotal)) count(last);
  if (header === undefined || first.length === 0)
    throw new UnreadableError(1, "there is no row below the header");
  return { beginning, header, profiles, first, flawed };
}

/** The line with the most names that are known, of those with the most the first; else the first that is as wide as most. */
function likelyHeader(records: readonly TableRecord[]): TableRecord {
  const filled = records.filter(isFilled);
  const [top] = filled;
  if (top === undefined) throw new UnreadableError(1, "the file holds no header");
  const score = ({ cells }: TableRecord) =>
    cells.filter((cell) => readName(cell.trim()).kind !== "unknown").length;
  const beginning = filled.filter(({ line }) => line <= headerLines);
  const best = beginning.reduce(
    (one, other) => (score(other) > score(one) ? other : one),
    beginning[0] ?? top,
  );
  if (score(best) >= 2) return best;
  const widths = beginning.map(({ cells }) => cells.filter((cell) => cell.trim() !== "").length);
  const width = Math.max(...widths);
  const widest = beginning[widths.indexOf(width)] ?? top;
  const isPerson = widest.cells.some((cell) =>
    (["regNo", "nin", "email", "phone"] as const).some((field) => looks[field]?.fits(cell.trim())),
  );
  if (isPerson)
    throw new UnreadableError(
      widest.line,
      `none of the first ${headerLines} lines names the columns; put a header above the rows, as tvs teachers import --template prints it`,
    );
  return widest;
}

/** What is kept as a keyed hash alone is not shown either. */
const unshown: ReadonlySet<string> = new Set(["nin", "email", "phone"]);

async function showRows(
  { format, delimiter }: OpenedTable,
  { header, first, mapping }: { header: TableRecord; first: readonly TableRecord[]; mapping: Mapping },
): Promise<Record<string, string>[]> {
  const rows: Record<string, string>[] = [];
  const compiled = compileMapping({ ...mapping, header: header.line });
  const unheard = { fields: [], unknown: [], totals: [] };
  const records = (async function* () {
    yield [{ ...header, cells: onceEach(header.cells) }, ...first];
  })();
  const missing = requiredFields.filter(
    (field) => !Object.values(mapping.columns).some((name) => fieldNamed(name) === field),
  );
  const filled = { ...compiled, constants: missing.map((field) => [field, ""] as const) };
  for await (const some of readTable(records, { format, delimiter, mapping: filled }, unheard)) {
    for (const { cells } of some)
      rows.push(
        Object.fromEntries(
          Object.entries(cells)
            .filter(([field, value]) => !unshown.has(field) && value !== "")
            .map(([field, value]) => [columnOfField[field as ImportField], asRead(field, value)]),
        ),
      );
  }
  return rows;
}

/** Leaves a name out that is there before: which column is meant is asked. */
function onceEach(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    const isFirst = !seen.has(squeezed(name));
    seen.add(squeezed(name));
    return isFirst ? name : "";
  });
}

/** A word of the register's own where it is read as one. */
function asRead(field: string, text: string): string {
  const read =
    field === "source"
      ? readSource(text)
      : field === "certificateStatus"
        ? readCertificateStatus(text)
        : null;
  return read !== null && "value" in read ? read.value : text;
}

// What dates and words of another system mean, as far as the file says it, and the questions where it does not.

/** The form of the text dates of all columns that are dates; undefined when all are of the register's own form. */
function chooseDates(chosen: Chosen, questions: Question[]): { dates?: string; why: string } {
  const columns = [...chosen].filter(([field]) => isDateField(field)).map(([, column]) => column);
  const forms = new Map<string, { count: number; onlyAt: number | null }>();
  for (const column of columns)
    for (const [form, { count, onlyAt }] of column.forms) {
      const sum = forms.get(form) ?? { count: 0, onlyAt: null };
      forms.set(form, { count: sum.count + count, onlyAt: sum.onlyAt ?? onlyAt });
    }
  const [best, ...others] = [...forms].sort(([, one], [, other]) => other.count - one.count);
  if (best === undefined) return { why: "" };
  const [form, { count, onlyAt }] = best;
  const equal = others.filter(([, other]) => other.count === count).map(([other]) => other);
  const rival = others.find(([, other]) => other.onlyAt !== null);
  if (equal.length > 0)
    questions.push({
      about: "dates",
      question: `the dates may be ${[form, ...equal].join(" or ")}: no value is above 12, so none decides; set \`dates\``,
    });
  else if (rival !== undefined)
    questions.push({
      about: "dates",
      question: `most dates are ${form}, but line ${rival[1].onlyAt} can only be ${rival[0]}; tvs reads one form in a file`,
    });
  return {
    dates: form,
    why: onlyAt === null ? `written ${form}` : `written ${form}, as line ${onlyAt} shows`,
  };
}

function withDates(column: ColumnReading, why: string): ColumnReading {
  const field = column.taken === null ? undefined : fieldNamed(column.taken);
  return field === undefined || !isDateField(field) || why === ""
    ? column
    : { ...column, why: `${column.why}, ${why}` };
}

/** How the words of another system are read; whether it means the same by them, only the operator knows. */
function chooseWords(chosen: Chosen, questions: Question[]): Mapping["values"] {
  const values: Mapping["values"] = {};
  for (const [field, { words }] of chosen) {
    const strange = [...(words ?? [])].filter(
      ([, { text }]) => isWordField(field) && !isOwnWord(field, text),
    );
    if (strange.length === 0) continue;
    const name = columnOfField[field];
    const meant = strange.flatMap(([, { text }]) => {
      const value = otherWord(field, text);
      return value === undefined ? [] : [[text, value] as const];
    });
    if (meant.length > 0) values[name] = Object.fromEntries(meant);
    const shown = strange.map(([, { text }]) => nameLabel(text, "a value that is not shown")).slice(0, 12);
    const proposed = meant.length > 0 ? ", where some are proposed" : "";
    questions.push({
      about: name,
      question: `what is meant by ${shown.join(", ")}? say it in \`values\`${proposed}`,
    });
  }
  return values;
}

function askForMissing(chosen: Chosen, profiles: readonly ColumnProfile[], questions: Question[]) {
  for (const field of requiredFields.filter((one) => !chosen.has(one))) {
    const about = columnOfField[field];
    const parts = profiles.filter(({ name }) => isPartOfName(name)).map(({ name }) => name);
    if (field === "name" && parts.length > 1)
      questions.push({
        about,
        question: `the name stands in ${parts.join(" and ")}; join them to one column, which tvs cannot do`,
      });
    else if (field === "source" || field === "certificateStatus") {
      const values = field === "source" ? sources : certificateStatuses;
      questions.push({
        about,
        question: `no column says it; if all rows have the same, give it in \`constants\`, one of ${values.join(", ")}`,
      });
    } else
      questions.push({ about, question: "no column was found for it, and no teacher can be without it" });
  }
  if (!chosen.has("licenseExpiryDate"))
    questions.push({
      about: columnOfField.licenseExpiryDate,
      question: "no column was found for it, so that nobody would have a licence",
    });
}
