/** What dates and words of another system mean, as far as the file says it, and the questions where it does not. */

import { certificateStatuses, sources } from "../../partner/contract.ts";
import { nameLabel } from "./arrival.ts";
import { isPartOfName } from "./column-names.ts";
import type { ColumnProfile } from "./column-profile.ts";
import { requiredFields } from "./columns.ts";
import { columnOfField, fieldNamed } from "./fields.ts";
import { isDateField, type Mapping } from "./mapping.ts";
import type { Chosen, ColumnReading, Question } from "./suggested-columns.ts";
import { isOwnWord, isWordField, otherWord } from "./words.ts";

/** The form of the text dates of all columns that are dates; undefined when all are of the register's own form. */
export function chooseDates(chosen: Chosen, questions: Question[]): { dates?: string; why: string } {
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

export function withDates(column: ColumnReading, why: string): ColumnReading {
  const field = column.taken === null ? undefined : fieldNamed(column.taken);
  return field === undefined || !isDateField(field) || why === ""
    ? column
    : { ...column, why: `${column.why}, ${why}` };
}

/** How the words of another system are read; whether it means the same by them, only the operator knows. */
export function chooseWords(chosen: Chosen, questions: Question[]): Mapping["values"] {
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

export function askForMissing(chosen: Chosen, profiles: readonly ColumnProfile[], questions: Question[]) {
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
