/** Questions about damaged texts, words for empty cells and the character set. */

import { type ColumnProfile, listValues, valueLabel } from "./column-profile.ts";
import { columnOfField, type ImportField } from "./fields.ts";
import type { Mapping } from "./mapping.ts";
import { type Chosen, labelOf, type Question } from "./suggested-columns.ts";
import type { SuspectKind } from "./suspect-text.ts";
import { isWordField } from "./words.ts";

const textFields: readonly ImportField[] = ["name", "state", "category", "licenseRevokedReason"];

const exportAgain = "export the file again in UTF-8, or correct each text in `values`";
/** The damage of a text, and its remedy. */
const damages: Readonly<Record<Exclude<SuspectKind, "NULL_WORD">, string>> = {
  HTML_ENTITY:
    "with HTML entities such as &amp;; export the file again as plain text, or correct each text in `values`",
  MOJIBAKE: `with UTF-8 that another program read as Windows-1252, such as Ã© for é; ${exportAgain}`,
  QUESTION_MARK: `with a question mark where a letter is lost; ${exportAgain}`,
  REPLACEMENT_CHARACTER: `with the mark of a letter that could not be read; ${exportAgain}`,
};

/**
 * Asks about damaged texts with how many there are, and reads words for an empty cell as empty.
 * @param parts the columns of a name in parts
 */
export function askForTexts(
  chosen: Chosen,
  parts: readonly ColumnProfile[],
  questions: Question[],
): Mapping["values"] {
  const values: Mapping["values"] = {};
  const columns = [...chosen, ...parts.map((column) => ["name", column] as const)];
  for (const [field, column] of columns) {
    if (isWordField(field) || field === "regNo") continue;
    const about = columnOfField[field];
    const nulls = column.suspects.get("NULL_WORD") ?? 0;
    if (nulls > 0) {
      const empty = Object.fromEntries([...column.nulls.keys()].map((text) => [text, ""]));
      values[about] = { ...values[about], ...empty };
      questions.push({
        about,
        question: `${labelOf(column)} has ${count(nulls)} that may stand for an empty cell: ${listValues(column.nulls.values())}. \`values\` reads them as empty; delete there what is meant`,
      });
    }
    if (!textFields.includes(field)) continue;
    for (const [kind, said] of Object.entries(damages) as [keyof typeof damages, string][]) {
      const found = column.suspects.get(kind) ?? 0;
      if (found > 0) questions.push({ about, question: `${labelOf(column)} has ${count(found)} ${said}` });
    }
  }
  return values;
}

function count(texts: number): string {
  return texts === 1 ? "1 text" : `${texts} texts`;
}

/** Asks whether names are right in the character set that was guessed, and shows one with a letter that decides. */
export function askForEncoding(chosen: Chosen, parts: readonly ColumnProfile[], questions: Question[]): void {
  const columns = [chosen.get("name"), ...parts, chosen.get("state"), chosen.get("category")];
  const name = columns.map((column) => column?.accented).find((text) => text != null);
  const shown = name == null ? "" : `: a name reads ${valueLabel(name)}`;
  questions.push({
    about: "encoding",
    question: `the file is not UTF-8 and is read as windows-1252${shown}; if that is wrong, give --encoding`,
  });
}
