import { type TeacherContent, teacherFields } from "../teachers/teachers.ts";
import type { RejectionCode } from "./report.ts";

type Fields = typeof teacherFields;

/** A field of an extract that sets one of the record: as the record names it, or what a blind index is made from. */
type RecordField = {
  [F in keyof Fields]: Fields[F] extends { csv: string }
    ? Fields[F] extends { kind: "bytes" }
      ? Fields[F]["csv"]
      : F
    : never;
}[keyof Fields];

/** A field of an extract. `licenseStatus` is a word that the record has no field for: it revokes, or it is compared. */
export type ImportField = RecordField | "licenseStatus";

const listed = Object.entries(teacherFields).flatMap(([recordField, { kind, csv }]) =>
  csv === null ? [] : [{ field: kind === "bytes" ? csv : recordField, recordField, csv }],
);

/** The columns of an extract in CSV by field, which in NDJSON is the member. */
export const columnOfField = Object.fromEntries(
  listed.flatMap(({ field, csv }) => [
    ...(field === "licenseRevokedOn" ? [["licenseStatus", "license_status"]] : []),
    [field, csv],
  ]),
) as Readonly<Record<ImportField, string>>;

/** The field of the record that a field of an extract sets. */
export const recordFieldOf = Object.fromEntries(
  listed.map(({ field, recordField }) => [field, recordField]),
) as Readonly<Record<RecordField, keyof TeacherContent>>;

export const importFields = Object.keys(columnOfField) as readonly ImportField[];

type ExportField = Exclude<RecordField, "nin" | "email" | "phone">;

/** The fields that `tvs teachers export` writes, in the order of an extract's columns: all but what is kept as a hash. */
export const exportFields = importFields.filter(
  (field): field is ExportField =>
    field !== "licenseStatus" && teacherFields[recordFieldOf[field]].kind !== "bytes",
);

/** A field that a file can bring: `profile` in NDJSON alone. */
export type ArrivedField = ImportField | "profile";

/** A name as names are compared: without case, gaps, marks such as the star of a required column, and "licence". */
export function squeezed(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_.*:'’-]+/g, "")
    .replaceAll("licence", "license");
}

const fieldOfColumn = new Map(importFields.map((field) => [squeezed(columnOfField[field]), field]));
const arrivedFields: ReadonlySet<string> = new Set([...importFields, "profile"]);

/** The field of a column's name, as people write it; undefined when it is not known. */
export function fieldNamed(column: string): ImportField | undefined {
  return fieldOfColumn.get(squeezed(column));
}

/** The field of a member's name in NDJSON; undefined when it is not known. */
export function memberNamed(name: string): ArrivedField | undefined {
  const member = name.replace(/^licence/, "license");
  return arrivedFields.has(member) ? (member as ArrivedField) : undefined;
}

export type ImportFormat = "csv" | "ndjson" | "xlsx";

/** The format that a file's name says; null when it says none. */
export function formatOfName(name: string): ImportFormat | null {
  if (/\.(csv|tsv)$/i.test(name)) return "csv";
  if (/\.xlsx$/i.test(name)) return "xlsx";
  return /\.(ndjson|jsonl)$/i.test(name) ? "ndjson" : null;
}

/** A row as it was read: trimmed text by field. An absent field is left as it is, an empty one is cleared. */
export type RawRow = {
  readonly line: number;
  readonly format: ImportFormat;
  readonly cells: Readonly<Partial<Record<ImportField, string>>>;
  /** NDJSON only; undefined when absent. */
  readonly profile?: unknown;
  /** What was already wrong when the row was read. */
  readonly fault?: {
    readonly field: ImportField | null;
    /** The whole row as it stands in the file, for its digest alone. */
    readonly text?: string;
    readonly code: RejectionCode;
  };
};

export function fieldLabel(field: ArrivedField, format: ImportFormat): string {
  return format !== "ndjson" && field !== "profile" ? columnOfField[field] : field;
}

/** A row longer than this is no teacher: an unclosed quote swallows the rest of a file. */
export const maxRowLength = 1024 * 1024;

/** What is wrong with a file as a whole, at a physical line. */
export class UnreadableError extends Error {
  readonly line: number;
  /** Whether all that is wrong is the character set. */
  readonly isNotUtf8: boolean;

  constructor(line: number, message: string, options: ErrorOptions & { isNotUtf8?: true } = {}) {
    super(message, options);
    this.name = "UnreadableError";
    this.line = line;
    this.isNotUtf8 = options.isNotUtf8 === true;
  }
}
