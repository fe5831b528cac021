/** In which form the dates of a table are written, and the questions where it does not say so. */

import { isOfAnother } from "./column-names.ts";
import { type ColumnProfile, dateCount, listValues, sumOf } from "./column-profile.ts";
import { columnOfField, fieldNamed, type ImportField } from "./fields.ts";
import { isDateField, type Mapping } from "./mapping.ts";
import { type Chosen, type ColumnReading, labelOf, type Question } from "./suggested-columns.ts";

function dateColumns(chosen: Chosen): readonly ColumnProfile[] {
  return [...chosen].filter(([field]) => isDateField(field)).map(([, column]) => column);
}

/** The form of all text dates; left out where all are of the register's own form, or where the file does not decide. */
export function chooseDates(chosen: Chosen, questions: Question[]): { dates?: string; why: string } {
  const columns = dateColumns(chosen);
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
  const undecided =
    equal.length > 0
      ? `the dates may be ${[form, ...equal].join(" or ")}: no value is above 12, so none decides; set \`dates\``
      : rival !== undefined
        ? `most dates are ${form}, but line ${rival[1].onlyAt} can only be ${rival[0]}; tvs reads one form in a file`
        : null;
  const half = columns.find(({ isoDates, forms: own }) => isoDates > 0 && own.size > 0);
  if (undecided !== null) questions.push({ about: "dates", question: undecided });
  if (half !== undefined) questions.push({ about: "dates", question: describeHalf(half) });
  if (undecided !== null || half !== undefined) return { why: "" };
  return {
    dates: form,
    why: onlyAt === null ? `written ${form}` : `written ${form}, as line ${onlyAt} shows`,
  };
}

function describeHalf(column: ColumnProfile): string {
  const { isoDates } = column;
  const texts = dateCount(column) - isoDates - sumOf(column.never);
  return (
    `${labelOf(column)} has ${isoDates} dates as YYYY-MM-DD or as cells of dates, and ${texts} in another form. ` +
    "A spreadsheet makes dates of the texts that it can read, and may have swapped their days and months: " +
    "export the column again as text, or set `dates` if you know that both kinds are right"
  );
}

export function withDates(column: ColumnReading, why: string): ColumnReading {
  const field = column.taken === null ? undefined : fieldNamed(column.taken);
  return field === undefined || !isDateField(field) || why === ""
    ? column
    : { ...column, why: `${column.why}, ${why}` };
}

/** Reads dates that mean none, such as 0000-00-00, as empty, and asks; 9999-12-31 may be a licence without an end. */
export function chooseNever(chosen: Chosen, questions: Question[]): Mapping["values"] {
  const values: Mapping["values"] = {};
  for (const [field, column] of chosen) {
    const { never } = column;
    if (!isDateField(field) || never.size === 0) continue;
    const about = columnOfField[field];
    const isEndless = (text: string) => field === "licenseExpiryDate" && /2[9]\d\d|[3-9]\d{3}/.test(text);
    const none = [...never.keys()].filter((text) => !isEndless(text));
    if (none.length > 0) values[about] = Object.fromEntries(none.map((text) => [text, ""]));
    const proposed =
      none.length < never.size
        ? "A year so late is stored as it stands; give another date in `values` if none is meant"
        : "`values` reads them as empty; delete there what is a real date";
    questions.push({
      about,
      question: `${labelOf(column)} holds dates with which other systems say that there is none: ${listValues(never.values())}. ${proposed}`,
    });
  }
  return values;
}

const fewRows = 3;

/** Asks where most rows have a date of revocation. */
export function askForRevoked(chosen: Chosen, rows: number, questions: Question[]): void {
  const column = chosen.get("licenseRevokedOn");
  if (column === undefined || rows < fewRows) return;
  const revoked = dateCount(column) - sumOf(column.never);
  if (revoked * 2 <= rows) return;
  questions.push({
    about: columnOfField.licenseRevokedOn,
    question: `${revoked} of ${rows} teachers would be revoked by ${labelOf(column)}; is that what it says?`,
  });
}

/** From the latest to the earliest. */
const fieldsByTime: readonly ImportField[] = [
  "licenseExpiryDate",
  "licenseIssueDate",
  "certificateIssueDate",
];
const maxOffered = 5;

/** Offers the columns of dates whose names are not recognised for the date fields that have none, in order of time. */
export function offerDates(chosen: Chosen, profiles: readonly ColumnProfile[], questions: Question[]): void {
  const taken = new Set(chosen.values());
  const free = fieldsByTime.filter((field) => !chosen.has(field));
  const isOffered = (column: ColumnProfile) =>
    column.name !== "" &&
    !taken.has(column) &&
    !isOfAnother(column.name) &&
    column.filled > 0 &&
    dateCount(column) / column.filled >= 0.95;
  const offered = profiles
    .filter(isOffered)
    .sort((one, other) => (other.span?.last ?? "").localeCompare(one.span?.last ?? ""));
  for (const [index, column] of offered.slice(0, maxOffered).entries()) {
    const open = [...free, ...(chosen.has("licenseRevokedOn") ? [] : (["licenseRevokedOn"] as const))];
    if (open.length === 0 || (free.length === 0 && !isSparse(column, chosen))) continue;
    const names = open.map((field) => columnOfField[field]);
    const likely = free[index] === undefined ? "" : `; by its dates it may be ${columnOfField[free[index]]}`;
    const span = column.span === null ? "" : ` from ${column.span.first} to ${column.span.last}`;
    const label = labelOf(column);
    questions.push({
      about: label,
      question: `${label} holds dates${span} and is left out; if it is ${names.join(" or ")}, move it from \`ignore\` to \`columns\`${likely}`,
    });
  }
}

/** Whether far fewer rows have the date than have a licence, as with revocations. */
function isSparse({ filled }: ColumnProfile, chosen: Chosen): boolean {
  return filled * 2 < (chosen.get("licenseExpiryDate")?.filled ?? 0);
}
