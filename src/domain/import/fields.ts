import { type TeacherContent, teacherFields } from "../teachers/teachers.ts";
import type { RejectionCode } from "./report.ts";

type Fields = typeof teacherFields;

/** A field of an extract: a field of the record, or the text that a blind index of the record is made from. */
type RecordField = {
  [F in keyof Fields]: Fields[F] extends { csv: string }
    ? Fields[F] extends { kind: "bytes" }
      ? Fields[F]["csv"]
      : F
    : never;
}[keyof Fields];

/** `licenseStatus` is a field of extracts only: its word revokes a licence, or is compared with the dates. */
export type ImportField = RecordField | "licenseStatus";

const listed = Object.entries(teacherFields).flatMap(([recordField, { kind, csv }]) =>
  csv === null ? [] : [{ field: kind === "bytes" ? csv : recordField, recordField, csv }],
);

/** The columns of CSV by field; a member of NDJSON has the name of its field. */
export const columnOfField = Object.fromEntries(
  listed.flatMap(({ field, csv }) => [
    ...(field === "licenseRevokedOn" ? [["licenseStatus", "license_status"]] : []),
    [field, csv],
  ]),
) as Readonly<Record<ImportField, string>>;

export const recordFieldOf = Object.fromEntries(
  listed.map(({ field, recordField }) => [field, recordField]),
) as Readonly<Record<RecordField, keyof TeacherContent>>;

export const importFields = Object.keys(columnOfField) as readonly ImportField[];

type ExportField = Exclude<RecordField, "nin" | "email" | "phone">;

/** The fields that `tvs teachers export` writes: all but those of which only a hash is stored. */
export const exportFields = importFields.filter(
  (field): field is ExportField =>
    field !== "licenseStatus" && teacherFields[recordFieldOf[field]].kind !== "bytes",
);

/** A field of a file; only NDJSON has `profile`. */
export type ArrivedField = ImportField | "profile";

/** Normalises a name for comparison: lower case, without spaces and punctuation, "license" for "licence". */
export function squeezed(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_.*:'’-]+/g, "")
    .replaceAll("licence", "license");
}

const fieldOfColumn = new Map(importFields.map((field) => [squeezed(columnOfField[field]), field]));
const arrivedFields: ReadonlySet<string> = new Set([...importFields, "profile"]);

export function fieldNamed(column: string): ImportField | undefined {
  return fieldOfColumn.get(squeezed(column));
}

export function memberNamed(name: string): ArrivedField | undefined {
  const member = name.replace(/^licence/, "license");
  return arrivedFields.has(member) ? (member as ArrivedField) : undefined;
}

export type ImportFormat = "csv" | "ndjson" | "xlsx";

/** Returns null for a name without a known extension. */
export function formatOfName(name: string): ImportFormat | null {
  if (/\.(csv|tsv)$/i.test(name)) return "csv";
  if (/\.xlsx$/i.test(name)) return "xlsx";
  return /\.(ndjson|jsonl)$/i.test(name) ? "ndjson" : null;
}

/** A row of a file, as trimmed texts. An absent field leaves the record's value, an empty one clears it. */
export type RawRow = {
  readonly line: number;
  readonly format: ImportFormat;
  readonly cells: Readonly<Partial<Record<ImportField, string>>>;
  /** NDJSON only; undefined when absent. */
  readonly profile?: unknown;
  /** Why the row cannot be read; it has no cells then. */
  readonly fault?: {
    readonly field: ImportField | null;
    /** The whole row as in the file; only its digest is stored. */
    readonly text?: string;
    readonly code: RejectionCode;
  };
};

export function fieldLabel(field: ArrivedField, format: ImportFormat): string {
  return format !== "ndjson" && field !== "profile" ? columnOfField[field] : field;
}

/** Bytes of a row. An unclosed quote would make one row of the rest of the file. */
export const maxRowLength = 1024 * 1024;

/** A fault that makes a file unreadable, with its physical line. */
export class UnreadableError extends Error {
  readonly line: number;
  /** Whether the file may be readable in another character set. */
  readonly isNotUtf8: boolean;

  constructor(line: number, message: string, options: ErrorOptions & { isNotUtf8?: true } = {}) {
    super(message, options);
    this.name = "UnreadableError";
    this.line = line;
    this.isNotUtf8 = options.isNotUtf8 === true;
  }
}
