/** Chooses a table's column for each field of the register, by the columns' names and values. */

import { holdsPersonalData } from "../personal-data.ts";
import { redactLabel } from "./arrival.ts";
import { classifyColumnName, findPersonNamePart, isPrivateOrUnstoredColumn } from "./column-names.ts";
import type { ColumnProfile } from "./column-profile.ts";
import { countDateCells, formatValueCounts, redactValue, valueTests } from "./column-profile.ts";
import { columnOfField, type ImportField, normalizeName } from "./fields.ts";
import { isDateField } from "./mapping.ts";
import { hasFixedWords, isStatusColumnName, maxStatusWords } from "./words.ts";

export type ColumnProposal = {
  readonly name: string;
  /** The register's column that the file's column is read as; null if the file's column is ignored. */
  readonly taken: string | null;
  readonly why: string;
  readonly sure: boolean;
};

/** A question to the operator. `about` (a column, `dates`, `rows` or `encoding`) is listed in the mapping's `open`. */
export type MappingQuestion = { readonly about: string; readonly question: string };

export type AskOperator = (about: string, question: string) => void;

type Chosen = ReadonlyMap<ImportField, ColumnProfile>;

type Candidate = {
  readonly field: ImportField;
  readonly why: string;
  readonly sure: boolean;
  readonly rank: number;
};

/** A column is chosen by its name only if at least this share of its values fits the field. */
const minFittingShare = 0.8;
const maxParts = 9;

export function chooseColumns(profiles: readonly ColumnProfile[], ask: AskOperator) {
  const chosen = new Map<ImportField, ColumnProfile>();
  const readings = new Map<ColumnProfile, ColumnProposal>();
  const parts = partsOfName(profiles);
  const named = Map.groupBy(profiles, ({ name }) => normalizeName(name));
  const candidates = profiles.flatMap((column) => candidatesFor(column).map((one) => ({ column, ...one })));
  for (const { column, field, why, sure } of candidates.sort((one, other) => one.rank - other.rank)) {
    if (readings.has(column) || chosen.has(field)) continue;
    if (field === "name" && !sure && parts.length > 0) continue;
    const isRepeated = (named.get(normalizeName(column.name)) ?? []).length > 1;
    chosen.set(field, column);
    const taken = columnOfField[field];
    readings.set(column, { name: labelOf(column), taken, why, sure: sure && !isRepeated });
    if (isRepeated) ask(taken, `two columns are called ${labelOf(column)}; rename the one that is not meant`);
    else if (!sure && field !== "licenseStatus") ask(taken, `is ${labelOf(column)} meant? ${why}`);
  }
  const isJoined = parts.length > 0 && !chosen.has("name");
  if (isJoined)
    for (const [index, column] of parts.entries()) {
      const why = "a part of the name";
      readings.set(column, { name: labelOf(column), taken: `name.${index + 1}`, why, sure: true });
    }
  const columns = profiles.map(
    (column) => readings.get(column) ?? { name: labelOf(column), taken: null, ...whyLeftOut(column, chosen) },
  );
  return { chosen, parts: isJoined ? parts : [], columns };
}

/** Finds the columns of a name's parts, the surname last. @returns an empty list for fewer than two kinds */
function partsOfName(profiles: readonly ColumnProfile[]): readonly ColumnProfile[] {
  const positions = new Map(profiles.map((column) => [column, findPersonNamePart(column.name) ?? -1]));
  const positionOf = (column: ColumnProfile) => positions.get(column) ?? -1;
  const parts = profiles
    .filter((column) => positionOf(column) >= 0)
    .sort((one, other) => positionOf(one) - positionOf(other));
  const different = new Set(parts.map(positionOf));
  const names = new Set(parts.map(({ name }) => normalizeName(name)));
  return different.size > 1 && names.size === parts.length && parts.length <= maxParts ? parts : [];
}

/** Returns a column's name for messages, or its number if the name may be personal data. */
export function labelOf(column: ColumnProfile): string {
  return column.name === "" ? "" : cleanColumnName(column) || `column ${column.position}`;
}

/** Returns a column's name without stars, colons and quotes; empty if the name may be a person's data. */
export function cleanColumnName({ name }: ColumnProfile): string {
  const plain = name.replace(/[*:'’"]/g, "").replace(/\s+/g, " ");
  return redactLabel(plain.trim(), "");
}

function candidatesFor(column: ColumnProfile): readonly Candidate[] {
  if (column.name === "" || holdsPersonalData(column.name)) return [];
  const reading = classifyColumnName(column.name);
  const status = statusCandidate(column, reading.kind !== "unknown");
  if ("field" in reading) {
    const { field } = reading;
    const share = shareOf(column, field);
    const said = reading.kind === "own" ? "the register's own name" : "the name fits";
    if (share === null || share >= minFittingShare)
      return [{ field, why: describeFit(said, column, field), sure: true, rank: 0 }];
    const few = `not sure: ${said}, but only ${percent(share)} of its values are ${kindOf(field)}`;
    return [{ field, why: few, sure: share > 0.5 && reading.kind === "own", rank: 2 }];
  }
  if (reading.kind === "perhaps") {
    const fields = reading.fields.filter((field) => (shareOf(column, field) ?? 0) >= minFittingShare);
    const why = "probably: the name and the values fit";
    return [...fields.map((field) => ({ field, why, sure: false, rank: 3 })), ...status];
  }
  const said = "probably: the values fit, the name does not say it";
  const byValues = valueFields
    .filter((field) => column.filled > 0 && (shareOf(column, field) ?? 0) >= 0.95)
    .map((field) => ({ field, why: describeFit(said, column, field), sure: false, rank: 4 }));
  return [...status, ...byValues];
}

/** Fields for which a column with an unknown name is proposed by its values alone. */
const valueFields: readonly ImportField[] = ["regNo", "nin", "email", "certificateStatus", "source"];

/** Whether a column seems to hold licence statuses, by its name or by a word such as REVOKED. */
export function isLikelyStatusColumn(column: ColumnProfile): boolean {
  if (column.filled === 0 || countDateCells(column) / column.filled > 0.5) return false;
  return column.withdrawn.size > 0 || isStatusColumnName(column.name);
}

function statusCandidate(column: ColumnProfile, isNameTaken: boolean): readonly Candidate[] {
  if (column.words === null || column.words.size > maxStatusWords || !isLikelyStatusColumn(column)) return [];
  const field = "licenseStatus";
  const isNamed = column.withdrawn.size === 0;
  const why = isNamed ? "probably: the name of a licence's status" : "it says whose licence was withdrawn";
  const rank = isNamed ? (isNameTaken ? 4 : 3) : isStatusColumnName(column.name) ? 1 : 2;
  return [{ field, why, sure: false, rank }];
}

function describeFit(said: string, column: ColumnProfile, field: ImportField): string {
  const { shortened } = column;
  if (column.filled === 0) return `${said}; it is empty`;
  const words = "of its numbers were shortened by a spreadsheet, and rows with them will be refused";
  const damage = shortened === 0 ? "" : `; ${shortened} ${words}: export the column as text`;
  return `${said}; ${percent(shareOf(column, field) ?? 1)} of its ${column.filled} values are ${kindOf(field)}${damage}`;
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}

/** Computes which share of the cells fits a field. Words such as NULL count only for fields with fixed words. */
function shareOf(column: ColumnProfile, field: ImportField): number | null {
  const { fitting, words, suspects } = column;
  const filled = column.filled - (hasFixedWords(field) ? 0 : (suspects.get("NULL_WORD") ?? 0));
  if (filled <= 0) return null;
  if (isDateField(field)) return Math.min(countDateCells(column) / filled, 1);
  // `words` is null for a column with many different values. Fields with fixed words have few.
  return hasFixedWords(field) && words === null ? 0 : Math.min((fitting.get(field) ?? filled) / filled, 1);
}

function kindOf(field: ImportField): string {
  return isDateField(field) ? "dates" : (valueTests[field]?.called ?? "texts");
}

function whyLeftOut(column: ColumnProfile, chosen: Chosen): { why: string; sure: boolean } {
  if (column.name === "")
    return { why: column.filled === 0 ? "it is blank" : "it has no name", sure: column.filled === 0 };
  if (holdsPersonalData(column.name))
    return { why: "its name holds personal data; rename the column", sure: false };
  const reading = classifyColumnName(column.name);
  const fields = reading.kind === "perhaps" ? reading.fields : "field" in reading ? [reading.field] : [];
  const other = fields.map((field) => chosen.get(field)).find((one) => one !== undefined);
  const held = shownValues(column);
  if (other !== undefined) return { why: `${labelOf(other)} is taken for the same${held}`, sure: false };
  if (findPersonNamePart(column.name) !== null) return { why: "a part of a name", sure: false };
  return { why: `not recognised${held}`, sure: reading.kind === "unknown" };
}

const maxShownWords = 20;

/** Describes a column's three most frequent values; empty for many values, or if one may be personal data. */
function shownValues(column: ColumnProfile): string {
  const { name, words, filled } = column;
  const isPrivate =
    isPrivateOrUnstoredColumn(name) || /name/i.test(name) || findPersonNamePart(name) !== null;
  if (words === null || filled === 0 || words.size > maxShownWords || isPrivate) return "";
  const values = [...words.values()];
  if (countDateCells(column) / filled > 0.5 || values.some(({ text }) => redactValue(text) !== text))
    return "";
  return `; values: ${formatValueCounts(values, 3).replace(/ and \d+ more$/, "")}`;
}
