/** Reads mapping files, which say how another system's columns, words and dates are read (decision D7.11). */

import * as v from "valibot";
import { isCalendarDate } from "../clock.ts";
import { suggestWord } from "../did-you-mean.ts";
import { TvsError } from "../errors.ts";
import { createDateReader, type DateReader } from "./dates.ts";
import { columnOfField, fieldOfColumnName, type ImportField, normalizeName } from "./fields.ts";
import type { CodeExplanations } from "./report.ts";
import { csvDelimiters, textEncodings } from "./text.ts";
import { canFieldBeEmpty, hasFixedWords, isRegisterWord, registerWordsOf, rejectionCodeOf } from "./words.ts";

const texts = v.record(v.string(), v.string());
const lines = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_048_576));

const mappingSchema = v.strictObject({
  columns: v.optional(texts, {}),
  ignore: v.optional(v.array(v.string()), []),
  values: v.optional(v.record(v.string(), texts), {}),
  constants: v.optional(texts, {}),
  dates: v.optional(v.string()),
  delimiter: v.optional(v.picklist(csvDelimiters)),
  encoding: v.optional(v.picklist(textEncodings)),
  sheet: v.optional(v.pipe(v.string(), v.nonEmpty())),
  header: v.optional(lines),
  open: v.optional(v.array(v.string()), []),
});

/** A parsed mapping file. `columns` and `values` map names and words of the extract to those of the register. */
export type Mapping = v.InferOutput<typeof mappingSchema>;

/** Parses a mapping file. @throws TvsError INPUT_UNREADABLE with the name of the wrong member */
export function parseMapping(text: string, name: string): Mapping {
  const wrong = (why: string) => new TvsError("INPUT_UNREADABLE", `${name}: ${why}`);
  let given: unknown;
  try {
    given = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw wrong("it is not JSON; tvs teachers map FILE prints a mapping");
  }
  const parsed = v.safeParse(mappingSchema, given);
  if (!parsed.success) throw wrong(describeIssue(parsed.issues[0]));
  const flaw = describeMappingError(parsed.output);
  if (flaw !== null) throw wrong(flaw);
  return parsed.output;
}

/** Splits a mapping's target, such as `name.2`, into column and part. `part` is null for a target without a number. */
function splitTarget(ours: string): { readonly column: string; readonly part: number | null } {
  const [, column = ours, part] = /^\s*(name)\.([1-9])\s*$/i.exec(ours) ?? [];
  return { column, part: part === undefined ? null : Number(part) };
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue) ?? "the mapping";
  if (issue.type === "strict_object" && issue.expected === "never") return `the member ${path} is not known`;
  if (issue.type === "picklist") return `${path} is one of ${issue.expected?.replaceAll('"', "")}`;
  return `${path} is not ${issue.expected ?? "as it should be"}`;
}

/** Describes the first error that the schema cannot find. @returns null if the mapping is valid */
function describeMappingError(mapping: Mapping): string | null {
  const ours = Object.values(mapping.columns);
  const targets = ours.map(splitTarget);
  for (const [member, names] of [
    ["columns", targets.map(({ column }) => column)],
    ["values", Object.keys(mapping.values)],
    ["constants", Object.keys(mapping.constants)],
  ] as const) {
    const stranger = names.find((one) => fieldOfColumnName(one) === undefined);
    if (stranger === undefined) continue;
    const meant = suggestWord(stranger, Object.values(columnOfField));
    return `${member} names the column ${stranger}, which the register does not have${meant}`;
  }
  const fields = targets.map(({ column }) => fieldOfColumnName(column));
  const keys = targets.map(({ part }, index) => `${fields[index]} ${part ?? ""}`);
  const whole = targets.find(({ part }, index) => part !== null && keys.includes(`${fields[index]} `));
  if (whole !== undefined)
    return `columns takes a column of the file for ${whole.column}, and others for its parts; one of them must go`;
  const twice = ours.find((_, index) => keys.indexOf(keys[index] as string) !== index);
  if (twice !== undefined) return `columns takes two columns of the file for ${twice}`;
  const both = Object.keys(mapping.constants).find((name) => fields.includes(fieldOfColumnName(name)));
  if (both !== undefined)
    return `constants gives ${both}, and columns takes it from the file; one of them must go`;
  const theirs = Object.keys(mapping.columns).map(normalizeName);
  const same = theirs.find((name, index) => theirs.indexOf(name) !== index);
  if (same !== undefined) return `columns names ${same} twice, written in two ways`;
  const dates = mapping.dates === undefined ? null : createDateReader(mapping.dates);
  if (mapping.dates !== undefined && dates === null)
    return "dates is no form of a date; it is written with D, M and Y once each, such as D/M/YYYY, or excel";
  return describeUnreadableValue(mapping, dates);
}

/** Describes the first text in `values` or `constants` that is invalid for its field. @returns null for valid texts */
function describeUnreadableValue({ values, constants }: Mapping, dates: DateReader | null): string | null {
  const reads = (field: ImportField, word: string, form: DateReader | null) => {
    if (hasFixedWords(field)) return isRegisterWord(field, word) || (word === "" && canFieldBeEmpty(field));
    return !isDateField(field) || word === "" || isCalendarDate(word) || form?.(word) != null;
  };
  const constant = Object.entries(constants).map(
    ([column, ours]) => ["constants", column, { [column]: ours }, null] as const,
  );
  const translated = Object.entries(values).map(
    ([column, words]) => [`values.${column}`, column, words, dates] as const,
  );
  for (const [at, column, words, form] of [...translated, ...constant]) {
    const field = fieldOfColumnName(column);
    if (field === undefined) continue;
    const wrong = Object.entries(words).find(([, ours]) => !reads(field, ours, form));
    if (wrong === undefined) continue;
    const [theirs, ours] = wrong;
    const known = hasFixedWords(field) ? registerWordsOf(field) : [];
    const should = known.length === 0 ? "no date" : `none of ${known.join(", ")}`;
    return `${at} has ${JSON.stringify(theirs)}: ${JSON.stringify(ours)}, which is ${should}${suggestWord(ours, known)}`;
  }
  return null;
}

/** @throws TvsError INPUT_UNREADABLE if the mapping has open questions */
export function refuseOpenQuestions({ open }: Mapping, name: string): void {
  if (open.length === 0) return;
  throw new TvsError(
    "INPUT_UNREADABLE",
    `${name}: what is meant by ${open.join(", ")} is not decided; answer it in the mapping, and take it out of \`open\``,
  );
}

/** Function that converts a cell to a word or date of the register; null if the column's cells stay unchanged. */
export type CellTranslator = ((cell: string) => string) | null;

export type CompiledMapping = ReturnType<typeof compileMapping>;

export function compileMapping(mapping: Mapping) {
  const columns = new Map<string, ImportField | null>(
    mapping.ignore.map((name) => [normalizeName(name), null]),
  );
  const parts = new Map<string, number | null>();
  for (const [theirs, ours] of Object.entries(mapping.columns)) {
    const { column, part } = splitTarget(ours);
    columns.set(normalizeName(theirs), fieldOfColumnName(column) ?? null);
    parts.set(normalizeName(theirs), part);
  }
  const dates = mapping.dates === undefined ? null : createDateReader(mapping.dates);
  const words = new Map(
    Object.entries(mapping.values).map(([column, values]) => [
      fieldOfColumnName(column),
      new Map(Object.entries(values).map(([theirs, ours]) => [normalizeName(theirs), ours])),
    ]),
  );
  return {
    /** Finds a column's field. @returns null for a column in `ignore`, undefined for a column without an entry */
    fieldOf: (name: string): ImportField | null | undefined => columns.get(normalizeName(name)),
    /** Finds which part of the name a column holds, from 1. @returns null if the column holds a whole field */
    partOf: (name: string): number | null => parts.get(normalizeName(name)) ?? null,
    translationOf(field: ImportField): CellTranslator {
      const translated = words.get(field);
      // A text that is not a date stays unchanged, so that the field's reader rejects the row.
      const asDate = dates !== null && isDateField(field) ? (cell: string) => dates(cell) ?? cell : null;
      if (translated === undefined) return asDate;
      const asWord = (cell: string) => translated.get(normalizeName(cell)) ?? cell;
      return asDate === null ? asWord : (cell) => asDate(asWord(cell));
    },
    constants: Object.entries(mapping.constants).map(([column, value]): readonly [ImportField, string] => [
      fieldOfColumnName(column) as ImportField,
      value,
    ]),
    explanations: explanationsOf(mapping),
    /** The columns that a file must have, as the file names them. */
    columns: Object.keys(mapping.columns),
    header: mapping.header,
    encoding: mapping.encoding,
    delimiter: mapping.delimiter,
  };
}

const maxNamed = 20;

/** Explains the codes of invalid dates and words by naming the dates and words that this mapping accepts. */
function explanationsOf({ dates, values }: Mapping): CodeExplanations {
  const explanations: Record<string, string> = {};
  if (dates !== undefined)
    explanations.DATE_INVALID = `a date is written ${dates}, as the mapping says, and must exist`;
  for (const [column, words] of Object.entries(values)) {
    const field = fieldOfColumnName(column);
    if (field === undefined || !hasFixedWords(field)) continue;
    const code = rejectionCodeOf(field);
    const known = Object.keys(words).filter((word) => word !== "");
    const theirs = known.slice(0, maxNamed).join(", ") + (known.length > maxNamed ? ", and more" : "");
    const holds = `${columnOfField[field]} holds ${registerWordsOf(field).join(", ")}, or as the mapping says ${theirs}`;
    explanations[code] = explanations[code] === undefined ? holds : `${explanations[code]}; ${holds}`;
  }
  return explanations;
}

export function isDateField(field: ImportField): boolean {
  return /_date$|_on$/.test(columnOfField[field]);
}
