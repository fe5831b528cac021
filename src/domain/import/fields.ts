import { type TeacherContent, teacherFields } from "../teachers/teachers.ts";
import type { RejectionCode } from "./report.ts";

type Fields = typeof teacherFields;

/** A field of an extract that the register stores: NIN, e-mail address and phone number only as blind indexes. */
type RecordField = {
  [F in keyof Fields]: Fields[F] extends { csv: string }
    ? Fields[F] extends { kind: "bytes" }
      ? Fields[F]["csv"]
      : F
    : never;
}[keyof Fields];

/** A field of an imported file. `licenseStatus` is not stored: it sets or lifts a revocation, or is checked by the dates. */
export type ImportField = RecordField | "licenseStatus";

const listed = Object.entries(teacherFields).flatMap(([recordField, { kind, csv }]) =>
  csv === null ? [] : [{ field: kind === "bytes" ? csv : recordField, recordField, csv }],
);

/** The CSV column of each field. In NDJSON the member has the field's own name. */
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

/** Fields that `tvs teachers export` writes. NIN, e-mail address and phone number are stored only as hashes. */
export const exportFields = importFields.filter(
  (field): field is ExportField =>
    field !== "licenseStatus" && teacherFields[recordFieldOf[field]].kind !== "bytes",
);

export type ExtractField = ImportField | "profile";

/** Normalises a name or word for comparison: lower case, no spaces or punctuation, "license" for "licence". */
export function normalizeName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_.*:'’-]+/g, "")
    .replaceAll("licence", "license");
}

const fieldOfColumn = new Map(importFields.map((field) => [normalizeName(columnOfField[field]), field]));
const arrivedFields: ReadonlySet<string> = new Set([...importFields, "profile"]);

export function fieldOfColumnName(column: string): ImportField | undefined {
  return fieldOfColumn.get(normalizeName(column));
}

export function fieldOfMemberName(name: string): ExtractField | undefined {
  const member = name.replace(/^licence/, "license");
  return arrivedFields.has(member) ? (member as ExtractField) : undefined;
}

export type ImportFormat = "csv" | "ndjson" | "xlsx";

/** Finds the format by the file name's extension. @returns null for an unknown extension */
export function formatOfFileName(name: string): ImportFormat | null {
  if (/\.(csv|tsv)$/i.test(name)) return "csv";
  if (/\.xlsx$/i.test(name)) return "xlsx";
  return /\.(ndjson|jsonl)$/i.test(name) ? "ndjson" : null;
}

/** A row of a file. Cells are trimmed. An absent cell leaves the teacher's field unchanged; an empty one clears it. */
export type RawRow = {
  readonly line: number;
  readonly format: ImportFormat;
  readonly cells: Readonly<Partial<Record<ImportField, string>>>;
  /** The JSON value of NDJSON's member `profile`; undefined if the row has none. */
  readonly profile?: unknown;
  /** Why the row cannot be read. `cells` is then empty. */
  readonly fault?: {
    readonly field: ImportField | null;
    /** The row's text in the file. The next import recognises the row by a keyed digest of this text. */
    readonly text?: string;
    readonly code: RejectionCode;
  };
};

export function labelOfField(field: ExtractField, format: ImportFormat): string {
  return format !== "ndjson" && field !== "profile" ? columnOfField[field] : field;
}

/** Maximum length of a row, in bytes of CSV or UTF-16 units of NDJSON. It bounds the memory for an unclosed quote. */
export const maxRowLength = 1024 * 1024;

/** An error that makes the whole file unreadable. `line` is the number of a line in the file, from 1. */
export class UnreadableError extends Error {
  readonly line: number;
  /** Whether the file is invalid UTF-8, so that another character set may be right. */
  readonly isNotUtf8: boolean;

  constructor(line: number, message: string, options: ErrorOptions & { isNotUtf8?: true } = {}) {
    super(message, options);
    this.name = "UnreadableError";
    this.line = line;
    this.isNotUtf8 = options.isNotUtf8 === true;
  }
}
