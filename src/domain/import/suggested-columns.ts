/** What the columns of a table are taken for, by their names and by what stands in them, and why. */

import { nameLabel } from "./arrival.ts";
import { isPartOfName, readName } from "./column-names.ts";
import { type ColumnProfile, dateCount, looks } from "./column-profile.ts";
import { columnOfField, type ImportField, squeezed } from "./fields.ts";
import { isDateField } from "./mapping.ts";
import { isWordField } from "./words.ts";

/** What a column of the file was taken for. `taken` is the register's column; null when it is left out. */
export type ColumnReading = {
  readonly name: string;
  readonly taken: string | null;
  readonly why: string;
  readonly sure: boolean;
};

/** What the file does not say. `about` is a column of the register's, `dates` or `encoding`: it stands in `open`. */
export type Question = { readonly about: string; readonly question: string };

/** How many of a column's cells must be what it is taken for. */
const enough = 0.8;
type Candidate = {
  readonly field: ImportField;
  readonly why: string;
  readonly sure: boolean;
  readonly rank: number;
};
/** The column that was taken for a field. */
export type Chosen = ReadonlyMap<ImportField, ColumnProfile>;

export function chooseColumns(profiles: readonly ColumnProfile[]) {
  const chosen = new Map<ImportField, ColumnProfile>();
  const readings = new Map<ColumnProfile, ColumnReading>();
  const questions: Question[] = [];
  const candidates = profiles.flatMap((column) => candidatesFor(column).map((one) => ({ column, ...one })));
  for (const { column, field, why, sure } of candidates.sort((one, other) => one.rank - other.rank)) {
    if (readings.has(column) || chosen.has(field)) continue;
    const isRepeated = profiles.some(
      (other) => other !== column && squeezed(other.name) === squeezed(column.name),
    );
    chosen.set(field, column);
    const name = columnOfField[field];
    readings.set(column, { name: labelOf(column, profiles), taken: name, why, sure: sure && !isRepeated });
    if (isRepeated)
      questions.push({
        about: name,
        question: `two columns are called ${column.name}; rename the one that is not meant`,
      });
    else if (!sure)
      questions.push({ about: name, question: `is ${labelOf(column, profiles)} meant? ${why}` });
  }
  const columns = profiles.map(
    (column) =>
      readings.get(column) ?? { name: labelOf(column, profiles), taken: null, ...whyLeftOut(column, chosen) },
  );
  return { chosen, columns, questions };
}

/** A name as it may be shown: what stands in a header may be anything. */
function labelOf(column: ColumnProfile, profiles: readonly ColumnProfile[]): string {
  return column.name === "" ? "" : nameLabel(column.name, `column ${profiles.indexOf(column) + 1}`);
}

/** What a column may be, the likeliest with the lowest rank. */
function candidatesFor(column: ColumnProfile): Candidate[] {
  // What is no name is not shown, and stands in no mapping.
  if (nameLabel(column.name, "") === "") return [];
  const reading = readName(column.name);
  if (reading.kind === "own" || reading.kind === "known") {
    const { field } = reading;
    const share = shareOf(column, field);
    const said = reading.kind === "own" ? "its name is the register's own" : "by its name";
    if (share === null || share >= enough)
      return [{ field, why: describe(said, column, field), sure: true, rank: 0 }];
    const few = `${said}, but only ${percent(share)} of its values are ${kindOf(field)}`;
    return [{ field, why: few, sure: share > 0.5 && reading.kind === "own", rank: 2 }];
  }
  if (reading.kind === "perhaps") {
    return reading.fields
      .filter((field) => (shareOf(column, field) ?? 0) >= enough)
      .map((field) => ({
        field,
        why: describe("its name may mean it, and its values are such", column, field),
        sure: false,
        rank: 3,
      }));
  }
  return valueFields
    .filter((field) => column.filled > 0 && (shareOf(column, field) ?? 0) >= 0.95)
    .map((field) => ({ field, why: describe("by its values alone", column, field), sure: false, rank: 4 }));
}

/** What is known by its values alone. */
const valueFields: readonly ImportField[] = ["regNo", "nin", "email", "certificateStatus", "source"];

function describe(said: string, column: ColumnProfile, field: ImportField): string {
  const { shortened } = column;
  if (column.filled === 0) return `${said}; it is empty`;
  const damage =
    shortened === 0
      ? ""
      : `; ${shortened} of its numbers were shortened by a spreadsheet, and rows with them will be refused: export the column as text`;
  return `${said}; ${percent(shareOf(column, field) ?? 1)} of its ${column.filled} values are ${kindOf(field)}${damage}`;
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}

/** The share of a column's values that a field may have; null when it has none. */
function shareOf(column: ColumnProfile, field: ImportField): number | null {
  const { filled, fitting, words } = column;
  if (filled === 0) return null;
  if (isDateField(field)) return dateCount(column) / filled;
  // So many words are none of those of which there are a few.
  return isWordField(field) && words === null ? 0 : (fitting.get(field) ?? filled) / filled;
}

function kindOf(field: ImportField): string {
  return isDateField(field) ? "dates" : (looks[field]?.called ?? "texts");
}

function whyLeftOut(column: ColumnProfile, chosen: Chosen): { why: string; sure: boolean } {
  if (column.name === "")
    return { why: column.filled === 0 ? "it is blank" : "it has no name", sure: column.filled === 0 };
  const reading = readName(column.name);
  const fields = reading.kind === "perhaps" ? reading.fields : "field" in reading ? [reading.field] : [];
  const other = fields.map((field) => chosen.get(field)).find((one) => one !== undefined);
  if (other !== undefined) return { why: `${other.name} is taken for the same`, sure: false };
  if (isPartOfName(column.name))
    return { why: "a part of a name, which tvs cannot join to a whole", sure: false };
  return {
    why: "the register has no such column, by its name and its values",
    sure: reading.kind === "unknown",
  };
}
