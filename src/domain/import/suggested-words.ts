/** Proposes how another system's words, dates and texts are read, and asks the operator about each proposal. */

import { isPrivateOrUnstoredColumn } from "./column-names.ts";
import type { ColumnProfile, CountedValue } from "./column-profile.ts";
import { countDateCells, formatValueCounts, redactValue, sumCounts } from "./column-profile.ts";
import { columnOfField, fieldOfColumnName, type ImportField } from "./fields.ts";
import { isDateField, type Mapping } from "./mapping.ts";
import type { ColumnChoice } from "./suggest.ts";
import { type AskOperator, type ColumnProposal, isLikelyStatusColumn, labelOf } from "./suggested-columns.ts";
import type { DamageKind } from "./suspect-text.ts";
import { readBoolean } from "./values.ts";
import {
  guessRegisterWord,
  hasFixedWords,
  isRegisterWord,
  isWithdrawalWord,
  maxStatusWords,
  registerWordsOf,
} from "./words.ts";

type Proposal = {
  readonly ask: AskOperator;
  /** Adds translations of a field's texts to the proposed mapping. */
  readonly propose: (field: ImportField, texts: Iterable<readonly [theirs: string, ours: string]>) => void;
};

export function proposeTranslations(found: ColumnChoice, ask: AskOperator) {
  const values: Mapping["values"] = {};
  const propose: Proposal["propose"] = (field, texts) => {
    const words = Object.fromEntries(texts);
    const column = columnOfField[field];
    if (Object.keys(words).length > 0) values[column] = { ...values[column], ...words };
  };
  const dates = chooseDates(found, ask);
  proposeWords(found, { ask, propose });
  proposeEmptyDates(found, { ask, propose });
  proposeTexts(found, { ask, propose });
  askForStatuses(found, ask);
  askForRevoked(found, ask);
  askForDateFields(found, ask);
  return { values, ...dates };
}

/** Proposes translations for the words of the chosen columns. The operator must confirm each translation. */
function proposeWords({ chosen, profiles }: ColumnChoice, { ask, propose }: Proposal): void {
  const taken = new Set(chosen.values());
  const isStatusAlone = !profiles.some((column) => !taken.has(column) && isLikelyStatusColumn(column));
  for (const [field, column] of chosen) {
    if (!hasFixedWords(field)) continue;
    const isStatus = field === "licenseStatus";
    const strange = [...(column.words?.values() ?? [])].filter(({ text }) => !isRegisterWord(field, text));
    const about = columnOfField[field];
    // Asks about licence statuses even if all words are known: another system may give the same words other meanings.
    if (strange.length === 0 && (!isStatus || (column.name === about && isStatusAlone))) continue;
    const meant = strange.flatMap(({ text }) => {
      const value = isStatus ? statusWord(column, text) : guessRegisterWord(field, text);
      return value === undefined ? [] : [[text, value] as const];
    });
    propose(field, meant);
    if (isStatus) {
      ask(about, statusQuestion(column, { isDated: chosen.has("licenseRevokedOn") }));
      continue;
    }
    const proposed = meant.length > 0 ? "; some are proposed there" : "";
    const withdrawn = strange.some(({ text }) => isWithdrawalWord(text))
      ? "; if it says whose licence was withdrawn, take the column for license_status"
      : "";
    const own = registerWordsOf(field).join(", ");
    ask(
      about,
      `what is meant by ${formatValueCounts(strange)}? Give each in \`values\` one of ${own}${proposed}${withdrawn}`,
    );
  }
}

/** Proposes the word of `license_status` for a cell. In a column such as "Struck off", yes means REVOKED. */
function statusWord({ name }: ColumnProfile, text: string): string | undefined {
  const answer = readBoolean(text);
  if ("value" in answer && isWithdrawalWord(name)) return answer.value ? "REVOKED" : "";
  return guessRegisterWord("licenseStatus", text);
}

function statusQuestion(column: ColumnProfile, { isDated }: { isDated: boolean }): string {
  const words = [...(column.words?.values() ?? [])];
  const unread = words.filter(
    ({ text }) => !isRegisterWord("licenseStatus", text) && statusWord(column, text) === undefined,
  );
  const revoked = words.filter(({ text }) => statusWord(column, text) === "REVOKED");
  const asked = [
    `${labelOf(column)} says how licences stand: ${rowsWith(words)}. Check in \`values\` what each word means`,
  ];
  if (unread.length > 0)
    asked.push(`give ${formatValueCounts(unread)} one of ${registerWordsOf("licenseStatus").join(", ")}`);
  if (revoked.length > 0 && !isDated)
    asked.push(
      `no column has the day of revocation, so that those with ${formatValueCounts(revoked)} are revoked as of the day of the import`,
    );
  return asked.join("; ");
}

function rowsWith(words: readonly CountedValue[]): string {
  const most = [...words].sort((one, other) => other.count - one.count).slice(0, 20);
  return most
    .map(({ text, count }) => `${count} ${count === 1 ? "row says" : "rows say"} ${redactValue(text)}`)
    .join(", ");
}

/** Asks about each column that seems to hold licence statuses and is not read as `license_status`. */
function askForStatuses({ chosen, profiles }: ColumnChoice, ask: AskOperator): void {
  const fieldOf = new Map([...chosen].map(([field, column]) => [column, field]));
  for (const column of profiles) {
    const field = fieldOf.get(column);
    const isOfText = (field === "state" || field === "category") && column.withdrawn.size > 0;
    if (column.name === "" || !isLikelyStatusColumn(column) || (field !== undefined && !isOfText)) continue;
    const words =
      column.words !== null && column.words.size <= maxStatusWords ? column.words : column.withdrawn;
    const label = labelOf(column);
    const said = words.size === 0 ? "its texts are many" : rowsWith([...words.values()]);
    const taken = field === undefined ? "left out" : `taken for ${columnOfField[field]}`;
    const harm =
      column.withdrawn.size === 0 ? "" : ": teachers whose licence was withdrawn would be shown as licensed";
    const other = chosen.get("licenseStatus");
    const remedy =
      other === undefined
        ? "Take the column for license_status, or leave it in `ignore` if it says nothing of licences"
        : `Only one column can be license_status, which is ${labelOf(other)} now`;
    ask(label, `${label} is ${taken}: ${said}. Nothing of it would be kept${harm}. ${remedy}`);
  }
}

const textFields: readonly ImportField[] = ["name", "state", "category", "licenseRevokedReason"];

const exportAgain = "export the file again in UTF-8, or correct each text in `values`";
const damages: Readonly<Record<Exclude<DamageKind, "NULL_WORD">, string>> = {
  HTML_ENTITY:
    "with HTML entities such as &amp;; export the file again as plain text, or correct each text in `values`",
  MOJIBAKE: `with UTF-8 that another program read as Windows-1252, such as Ã© for é; ${exportAgain}`,
  QUESTION_MARK: `with a question mark where a letter is lost; ${exportAgain}`,
  REPLACEMENT_CHARACTER: `with the mark of a letter that could not be read; ${exportAgain}`,
};

/** Asks about damaged texts. Proposes that words such as NULL are read as empty. */
function proposeTexts({ chosen, parts }: ColumnChoice, { ask, propose }: Proposal): void {
  const columns = [...chosen, ...parts.map((column) => ["name", column] as const)];
  for (const [field, column] of columns) {
    if (hasFixedWords(field) || field === "regNo") continue;
    const about = columnOfField[field];
    const nulls = column.suspects.get("NULL_WORD") ?? 0;
    if (nulls > 0) {
      propose(field, emptied(column.nulls.keys()));
      const found = `${count(nulls)} that may stand for an empty cell: ${formatValueCounts(column.nulls.values())}`;
      ask(
        about,
        `${labelOf(column)} has ${found}. \`values\` reads them as empty; delete there what is meant`,
      );
    }
    if (!textFields.includes(field)) continue;
    for (const [kind, said] of Object.entries(damages) as [keyof typeof damages, string][]) {
      const found = column.suspects.get(kind) ?? 0;
      if (found > 0) ask(about, `${labelOf(column)} has ${count(found)} ${said}`);
    }
  }
}

const emptied = (texts: Iterable<string>) => Array.from(texts, (text) => [text, ""] as const);

function count(texts: number): string {
  return texts === 1 ? "1 text" : `${texts} texts`;
}

/** Finds the form in which the file's dates are written. Asks if several forms are possible. */
function chooseDates({ chosen }: ColumnChoice, ask: AskOperator): { dates?: string; why: string } {
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
  const undecided =
    equal.length > 0
      ? `the dates may be ${[form, ...equal].join(" or ")}: no value is above 12, so none decides; set \`dates\``
      : rival !== undefined
        ? `most dates are ${form}, but line ${rival[1].onlyAt} can only be ${rival[0]}; tvs reads one form in a file`
        : null;
  const half = columns.find(({ isoDates, forms: own }) => isoDates > 0 && own.size > 0);
  if (undecided !== null) ask("dates", undecided);
  if (half !== undefined) ask("dates", describeHalf(half));
  if (undecided !== null || half !== undefined) return { why: "" };
  return {
    dates: form,
    why: onlyAt === null ? `written ${form}` : `written ${form}, as line ${onlyAt} shows`,
  };
}

function describeHalf(column: ColumnProfile): string {
  const { isoDates } = column;
  const texts = countDateCells(column) - isoDates - sumCounts(column.never);
  return (
    `${labelOf(column)} has ${isoDates} dates as YYYY-MM-DD or as cells of dates, and ${texts} in another form. ` +
    "A spreadsheet makes dates of the texts that it can read, and may have swapped their days and months: " +
    "export the column again as text, or set `dates` if you know that both kinds are right"
  );
}

export function addDateFormReason(column: ColumnProposal, why: string): ColumnProposal {
  const field = column.taken === null ? undefined : fieldOfColumnName(column.taken);
  const isDated = field !== undefined && isDateField(field) && why !== "";
  return isDated ? { ...column, why: `${column.why}, ${why}` } : column;
}

/** Asks about dates such as 0000-00-00, and proposes to read them as empty, except expiry dates such as 9999-12-31. */
function proposeEmptyDates({ chosen }: ColumnChoice, { ask, propose }: Proposal): void {
  for (const [field, column] of chosen) {
    const { never } = column;
    if (!isDateField(field) || never.size === 0) continue;
    const isEndless = (text: string) => field === "licenseExpiryDate" && /2[9]\d\d|[3-9]\d{3}/.test(text);
    const none = [...never.keys()].filter((text) => !isEndless(text));
    propose(field, emptied(none));
    const proposed =
      none.length < never.size
        ? "A year so late is stored unchanged; give another date in `values` if none is meant"
        : "`values` reads them as empty; delete there what is a real date";
    const dates = formatValueCounts(never.values());
    ask(
      columnOfField[field],
      `${labelOf(column)} holds dates with which other systems say that there is none: ${dates}. ${proposed}`,
    );
  }
}

const fewRows = 3;

function askForRevoked({ chosen, rows }: ColumnChoice, ask: AskOperator): void {
  const column = chosen.get("licenseRevokedOn");
  if (column === undefined || rows < fewRows) return;
  const revoked = countDateCells(column) - sumCounts(column.never);
  if (revoked * 2 <= rows) return;
  const said = `${revoked} of ${rows} teachers would be revoked by ${labelOf(column)}`;
  ask(columnOfField.licenseRevokedOn, `${said}; is that what it says?`);
}

const dateFields: readonly ImportField[] = ["licenseExpiryDate", "licenseIssueDate", "certificateIssueDate"];
const maxOffered = 5;

/** Asks whether unrecognised columns of dates belong to date fields for which no column was found. */
function askForDateFields({ chosen, profiles }: ColumnChoice, ask: AskOperator): void {
  const taken = new Set(chosen.values());
  const free = dateFields.filter((field) => !chosen.has(field));
  const open = [...free, ...(chosen.has("licenseRevokedOn") ? [] : (["licenseRevokedOn"] as const))];
  const isOffered = (column: ColumnProfile) =>
    column.name !== "" &&
    !taken.has(column) &&
    !isPrivateOrUnstoredColumn(column.name) &&
    column.filled > 0 &&
    countDateCells(column) / column.filled >= 0.95 &&
    // A column that is mostly empty may hold dates of revocation, which few teachers have.
    (free.length > 0 || column.filled * 2 < (chosen.get("licenseExpiryDate")?.filled ?? 0));
  if (open.length === 0) return;
  const names = open.map((field) => columnOfField[field]).join(" or ");
  const offered = profiles
    .filter(isOffered)
    .sort((one, other) => (other.span?.last ?? "").localeCompare(one.span?.last ?? ""));
  for (const [index, column] of offered.slice(0, maxOffered).entries()) {
    const likely = free[index] === undefined ? "" : `; by its dates it may be ${columnOfField[free[index]]}`;
    const span = column.span === null ? "" : ` from ${column.span.first} to ${column.span.last}`;
    const label = labelOf(column);
    const move = `if it is ${names}, move it from \`ignore\` to \`columns\`${likely}`;
    ask(label, `${label} holds dates${span} and is left out; ${move}`);
  }
}
