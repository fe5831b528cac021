/** What the words of another system mean, as far as they say it, and the questions where they do not. */

import { type ColumnProfile, type Counted, listValues, valueLabel } from "./column-profile.ts";
import { columnOfField } from "./fields.ts";
import type { Mapping } from "./mapping.ts";
import { maxStatusWords, meansWithdrawn } from "./status-column.ts";
import { type Chosen, labelOf, type Question, saysStatus } from "./suggested-columns.ts";
import { readBoolean } from "./values.ts";
import { isOwnWord, isWordField, otherWord, ownWords } from "./words.ts";

type Values = Mapping["values"];

/** Reads the words of the columns that were taken; whether another system means the same, only the operator knows. */
export function chooseWords(
  chosen: Chosen,
  profiles: readonly ColumnProfile[],
  questions: Question[],
): Values {
  const values: Values = {};
  const taken = new Set(chosen.values());
  const isStatusAlone = !profiles.some((column) => !taken.has(column) && saysStatus(column));
  for (const [field, column] of chosen) {
    if (!isWordField(field)) continue;
    const strange = [...(column.words?.values() ?? [])].filter(({ text }) => !isOwnWord(field, text));
    const about = columnOfField[field];
    // Licence Status may say something else by the same words.
    const isAsked = field === "licenseStatus" && !(column.name === about && isStatusAlone);
    if (strange.length === 0 && !isAsked) continue;
    const meant = strange.flatMap(({ text }) => {
      const value = field === "licenseStatus" ? statusWord(column, text) : otherWord(field, text);
      return value === undefined ? [] : [[text, value] as const];
    });
    if (meant.length > 0) values[about] = Object.fromEntries(meant);
    if (field === "licenseStatus") {
      questions.push({
        about,
        question: statusQuestion(column, { isDated: chosen.has("licenseRevokedOn") }),
      });
      continue;
    }
    const proposed = meant.length > 0 ? "; some are proposed there" : "";
    const withdrawn = strange.some(({ text }) => meansWithdrawn(text))
      ? "; if it says whose licence was withdrawn, take the column for license_status"
      : "";
    questions.push({
      about,
      question: `what is meant by ${listValues(strange)}? Give each in \`values\` one of ${ownWords(field).join(", ")}${proposed}${withdrawn}`,
    });
  }
  return values;
}

/** The word of `license_status` for another system's; of a column such as "Struck off", yes means withdrawn. */
function statusWord({ name }: ColumnProfile, text: string): string | undefined {
  const answer = readBoolean(text);
  if ("value" in answer && meansWithdrawn(name)) return answer.value ? "REVOKED" : "";
  return otherWord("licenseStatus", text);
}

function statusQuestion(column: ColumnProfile, { isDated }: { isDated: boolean }): string {
  const words = [...(column.words?.values() ?? [])];
  const unread = words.filter(
    ({ text }) => !isOwnWord("licenseStatus", text) && statusWord(column, text) === undefined,
  );
  const revoked = words.filter(({ text }) => statusWord(column, text) === "REVOKED");
  return [
    `${labelOf(column)} says how licences stand: ${rowsWith(words)}. Check in \`values\` what each word means`,
    ...(unread.length === 0
      ? []
      : [`give ${listValues(unread)} one of ${ownWords("licenseStatus").join(", ")}`]),
    ...(revoked.length === 0 || isDated
      ? []
      : [
          `no column has the day of revocation, so that those with ${listValues(revoked)} are revoked as of the day of the import`,
        ]),
  ].join("; ");
}

/** The words that rows have, as a sentence, the most frequent first. */
function rowsWith(words: readonly Counted[]): string {
  const most = [...words].sort((one, other) => other.count - one.count).slice(0, 20);
  return most
    .map(({ text, count }) => `${count} ${count === 1 ? "row says" : "rows say"} ${valueLabel(text)}`)
    .join(", ");
}

/** Asks about each column that says how licences stand and is not taken for that: its words would be lost. */
export function askForStatuses(
  chosen: Chosen,
  profiles: readonly ColumnProfile[],
  questions: Question[],
): void {
  const fieldOf = new Map([...chosen].map(([field, column]) => [column, field]));
  for (const column of profiles) {
    const field = fieldOf.get(column);
    if (column.name === "" || !saysStatus(column)) continue;
    if (
      field !== undefined &&
      !(["state", "category"] as const).some((one) => one === field && column.withdrawn.size > 0)
    )
      continue;
    const words =
      column.words !== null && column.words.size <= maxStatusWords ? column.words : column.withdrawn;
    const label = labelOf(column);
    const said = words.size === 0 ? "its texts are many" : rowsWith([...words.values()]);
    const taken = field === undefined ? "left out" : `taken for ${columnOfField[field]}`;
    const harm =
      column.withdrawn.size === 0
        ? "Nothing of it would be kept"
        : "Nothing of it would be kept: teachers whose licence was withdrawn would be shown as licensed";
    const other = chosen.get("licenseStatus");
    const remedy =
      other === undefined
        ? "Take the column for license_status, or leave it in `ignore` if it says nothing of licences"
        : `Only one column can be license_status, which is ${labelOf(other)} now`;
    questions.push({ about: label, question: `${label} is ${taken}: ${said}. ${harm}. ${remedy}` });
  }
}
