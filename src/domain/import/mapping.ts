/** A mapping: how the file of another system is read as an extract (decision D7.10). */

import * as v from "valibot";
import { didYouMean } from "../did-you-mean.ts";
import { TvsError } from "../errors.ts";
import { teacherFields } from "../teachers/teachers.ts";
import { dateReader } from "./dates.ts";
import { columnOfField, fieldNamed, type ImportField, recordFieldOf, squeezed } from "./fields.ts";
import { delimiters, encodings } from "./text.ts";

const texts = v.record(v.string(), v.string());
const lines = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_048_576));

const mappingSchema = v.strictObject({
  columns: v.optional(texts, {}),
  ignore: v.optional(v.array(v.string()), []),
  values: v.optional(v.record(v.string(), texts), {}),
  constants: v.optional(texts, {}),
  dates: v.optional(v.string()),
  delimiter: v.optional(v.picklist(delimiters)),
  encoding: v.optional(v.picklist(encodings)),
  sheet: v.optional(v.pipe(v.string(), v.nonEmpty())),
  header: v.optional(lines),
  open: v.optional(v.array(v.string()), []),
});

/** What stands in the file of a mapping; the columns of a file by their names there, the register's by its own. */
export type Mapping = v.InferOutput<typeof mappingSchema>;

/**
 * Reads a mapping.
 * @param name what messages call it
 * @throws TvsError INPUT_UNREADABLE, naming the member that is wrong
 */
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
  const flaw = flawOf(parsed.output);
  if (flaw !== null) throw wrong(flaw);
  return parsed.output;
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue) ?? "the mapping";
  if (issue.type === "strict_object" && issue.expected === "never") return `the member ${path} is not known`;
  if (issue.type === "picklist") return `${path} is one of ${issue.expected?.replaceAll('"', "")}`;
  return `${path} is not ${issue.expected ?? "as it should be"}`;
}

/** What is wrong with a mapping that has the right members; null when nothing is. */
function flawOf(mapping: Mapping): string | null {
  const ours = Object.values(mapping.columns);
  for (const [member, names] of [
    ["columns", ours],
    ["values", Object.keys(mapping.values)],
    ["constants", Object.keys(mapping.constants)],
  ] as const) {
    const stranger = names.find((one) => fieldNamed(one) === undefined);
    if (stranger !== undefined) {
      const known = didYouMean(stranger, Object.values(columnOfField));
      return `${member} names the column ${stranger}, which the register does not have${known === null ? "" : `; did you mean ${known}?`}`;
    }
  }
  const fields = ours.map((name) => fieldNamed(name));
  const twice = ours.find((_, index) => fields.indexOf(fields[index]) !== index);
  if (twice !== undefined) return `columns takes two columns of the file for ${twice}`;
  const both = Object.keys(mapping.constants).find((name) => fields.includes(fieldNamed(name)));
  if (both !== undefined)
    return `constants gives ${both}, and columns takes it from the file; one of them must go`;
  const theirs = Object.keys(mapping.columns).map(squeezed);
  const same = theirs.find((name, index) => theirs.indexOf(name) !== index);
  if (same !== undefined) return `columns names ${same} twice, written in two ways`;
  if (mapping.dates !== undefined && dateReader(mapping.dates) === null)
    return `dates is no form of a date; it is written with D, M and Y once each, such as D/M/YYYY, or excel`;
  return null;
}

/** @throws TvsError INPUT_UNREADABLE naming the questions that a mapping leaves open */
export function refuseOpen({ open }: Mapping, name: string): void {
  if (open.length === 0) return;
  throw new TvsError(
    "INPUT_UNREADABLE",
    `${name}: what is meant by ${open.join(", ")} is not decided; answer it in the mapping, and take it out of \`open\``,
  );
}

/** How a cell of a file becomes one of an extract; null where it is one already. */
export type Translation = ((cell: string) => string) | null;

/** A mapping, ready to be used: what a column of the file is, by its name there, and what stands in it. */
export type CompiledMapping = ReturnType<typeof compileMapping>;

export function compileMapping(mapping: Mapping) {
  const columns = new Map<string, ImportField | null>(mapping.ignore.map((name) => [squeezed(name), null]));
  for (const [theirs, ours] of Object.entries(mapping.columns))
    columns.set(squeezed(theirs), fieldNamed(ours) ?? null);
  const dates = mapping.dates === undefined ? null : dateReader(mapping.dates);
  const words = new Map(
    Object.entries(mapping.values).map(([column, values]) => [
      fieldNamed(column),
      new Map(Object.entries(values).map(([theirs, ours]) => [squeezed(theirs), ours])),
    ]),
  );
  return {
    /** The field of a column by its name; null when it is to be ignored, undefined when the mapping says nothing. */
    fieldOf: (name: string): ImportField | null | undefined => columns.get(squeezed(name)),
    translationOf(field: ImportField): Translation {
      const translated = words.get(field);
      if (translated !== undefined) return (cell) => translated.get(squeezed(cell)) ?? cell;
      // What is no date of the form stays as it is, and is refused as any wrong date is.
      return dates !== null && isDateField(field) ? (cell) => dates(cell) ?? cell : null;
    },
    constants: Object.entries(mapping.constants).map(([column, value]): readonly [ImportField, string] => [
      fieldNamed(column) as ImportField,
      value,
    ]),
    /** Names of columns that a file must have for the mapping to fit it, as the mapping writes them. */
    columns: Object.keys(mapping.columns),
    header: mapping.header,
    encoding: mapping.encoding,
    delimiter: mapping.delimiter,
  };
}

export function isDateField(field: ImportField): boolean {
  return /_date$|_on$/.test(teacherFields[recordFieldOf[field]].column);
}
