import { stringify } from "csv-stringify/sync";
import { guardedCell } from "../import/csv.ts";
import { columnOfField, exportFields, type ImportFormat } from "../import/fields.ts";
import { eachTeacher, type ListDependencies, type TeacherFilter, type TeacherRow } from "./list.ts";

/**
 * An extract of the register, as an import reads it. What only keyed hashes are kept of is left out, and so it stays as
 * it is when the extract is imported: into the same register it changes nothing (decision D7.7).
 */

/**
 * Writes the teachers who pass a filter, each as they are when their piece is read.
 * @returns the next lines, how many teachers they are about, and how many profiles are not among them: only NDJSON has
 *   room for one
 */
export async function* exportTeachers(
  dependencies: ListDependencies,
  { format, filter = {} }: { format: ImportFormat; filter?: TeacherFilter },
) {
  const header = [exportFields.map((field) => columnOfField[field])];
  if (format === "csv") yield { text: byteOrderMark + csvOf(header), ...none };
  for await (const teachers of eachTeacher(dependencies, filter)) {
    const text = format === "csv" ? csvOf(teachers.map(cellsOf)) : teachers.map(lineOf).join("");
    const profiles = format === "csv" ? teachers.filter(({ profile }) => profile !== null).length : 0;
    yield { text, teachers: teachers.length, profilesLeftOut: profiles };
  }
}

/** Excel takes CSV without this mark for another character set. */
const byteOrderMark = "\ufeff";

const none = { teachers: 0, profilesLeftOut: 0 };

function csvOf(rows: readonly string[][]): string {
  return stringify(rows as string[][]);
}

function cellsOf(teacher: TeacherRow): string[] {
  return exportFields.map((field) => {
    const value = teacher[field];
    return value === null ? "" : typeof value === "string" ? guardedCell(value) : String(value);
  });
}

function lineOf(teacher: TeacherRow): string {
  const members = Object.fromEntries(exportFields.map((field) => [field, teacher[field]]));
  return `${JSON.stringify({ ...members, profile: teacher.profile })}\n`;
}
