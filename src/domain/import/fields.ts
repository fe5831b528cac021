/** The fields of an extract: as members of NDJSON, and as columns of a CSV file (decisions, Import). */
export const columnOfField = {
  regNo: "reg_no",
  tId: "t_id",
  name: "name",
  nin: "nin",
  ninVerified: "nin_verified",
  email: "email",
  phone: "phone",
  state: "state",
  category: "category",
  source: "source",
  active: "active",
  certificateStatus: "certificate_status",
  certificateIssueDate: "certificate_issue_date",
  licenseIssueDate: "license_issue_date",
  licenseExpiryDate: "license_expiry_date",
  licenseRevokedOn: "license_revoked_on",
  licenseRevokedReason: "license_revoked_reason",
  photoUrl: "photo_url",
} as const;

export type ImportField = keyof typeof columnOfField;
export const importFields = Object.keys(columnOfField) as readonly ImportField[];

/** Without these there is no record; a file without one of their columns is not an extract. */
export const requiredFields = [
  "regNo",
  "name",
  "source",
  "certificateStatus",
] as const satisfies ImportField[];

export type ImportFormat = "csv" | "ndjson";

/** A row as it was read: text by field, without white space around it. An absent field is left as it is, an empty one is cleared. */
export type RawRow = {
  readonly line: number;
  readonly format: ImportFormat;
  readonly cells: Readonly<Partial<Record<ImportField, string>>>;
  /** NDJSON only; undefined when absent. */
  readonly profile?: unknown;
  /** What was already wrong when the row was read. */
  readonly fault?: {
    readonly field: ImportField | null;
    readonly code:
      | "COLUMN_COUNT"
      | "ROWS_IN_A_CELL"
      | "JSON_INVALID"
      | "JSON_TOO_DEEP"
      | "DUPLICATE_MEMBER"
      | "VALUE_TYPE_INVALID"
      | "TEXT_INVALID";
  };
};

/** A field's name as the file's reader knows it. */
export function fieldLabel(field: ImportField | "profile", format: ImportFormat): string {
  return format === "csv" && field !== "profile" ? columnOfField[field] : field;
}
