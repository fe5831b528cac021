import type { BlindIndex } from "../blind-index.ts";
import { columnOfField, type ImportField, importFields } from "./fields.ts";
import type { RejectionCode } from "./report.ts";
import {
  type Read,
  readBoolean,
  readCertificateStatus,
  readDate,
  readEmail,
  readLicenseStatus,
  readNin,
  readPhone,
  readPhotoUrl,
  readRegNo,
  readSource,
  readText,
  readTId,
} from "./values.ts";

/** What a column of an extract is to an import. */
type Column = {
  /** How the text of a cell is read. What is undefined leaves the field of the record as it is. */
  readonly read: (cell: string, blindIndex: BlindIndex) => Read<unknown>;
  /** What stands in it, for those who prepare an extract. */
  readonly explanation: string;
  /**
   * Why a row without it is refused; left out where it may be absent. In CSV the header is looked at once, for the whole
   * file.
   */
  readonly absent?: RejectionCode;
  /** Whether the row is applied although it cannot be read: the record has none afterwards. */
  readonly isConvenience?: boolean;
};

/** The columns of an extract, by field. */
// biome-ignore format: a table reads better in rows
export const columns: Readonly<Record<ImportField, Column>> = {
  regNo: { read: readRegNo, absent: "REG_NO_INVALID", explanation: "registration number of four segments, A/B/C/D; it names the teacher for ever" },
  tId: { read: readTId, explanation: "teacher id: a whole number, nobody else's" },
  name: { read: (cell) => (cell === "" ? { code: "NAME_MISSING" } : readText(cell, 200)), absent: "NAME_MISSING", explanation: "the whole name, up to 200 characters" },
  nin: { read: (cell, blindIndex) => indexed(readNin(cell), blindIndex.nin), explanation: "NIN: exactly 11 digits, as text; only a keyed hash is kept" },
  ninVerified: { read: (cell) => (cell === "" ? { value: false } : readBoolean(cell)), explanation: "whether the NIN was verified: true or false; empty is false" },
  email: { read: (cell, blindIndex) => indexed(readEmail(cell), blindIndex.email), isConvenience: true, explanation: "e-mail address; only a keyed hash is kept" },
  phone: { read: (cell, blindIndex) => indexed(readPhone(cell), blindIndex.phone), isConvenience: true, explanation: "phone number, 0803... or +234...; only a keyed hash is kept" },
  state: { read: (cell) => readText(cell, 100), explanation: "state, up to 100 characters" },
  category: { read: (cell) => readText(cell, 100), explanation: "category, up to 100 characters; the policy may ask for it" },
  source: { read: readSource, absent: "SOURCE_INVALID", explanation: "new_system or legacy: the system that the record comes from" },
  // Nobody is deactivated or reactivated by an empty cell: a known teacher stays as they are.
  active: { read: (cell) => (cell === "" ? { value: undefined } : readBoolean(cell)), explanation: "true or false; a teacher who is not active is found, but has no licence" },
  hidden: { read: (cell) => (cell === "" ? { value: undefined } : readBoolean(cell)), explanation: "true hides the teacher from everybody but the operator; false and empty change nothing" },
  certificateStatus: { read: readCertificateStatus, absent: "CERTIFICATE_STATUS_INVALID", explanation: "VERIFIED, CLAIMED, LEGACY_RECORD or NOT_FOUND" },
  certificateIssueDate: { read: readDate, explanation: "date, YYYY-MM-DD" },
  licenseIssueDate: { read: readDate, explanation: "first day of the licence, YYYY-MM-DD" },
  licenseExpiryDate: { read: readDate, explanation: "last day of the licence, YYYY-MM-DD; without it there is no licence" },
  // An empty word says nothing: the dates of the row, or those of the record, count alone.
  licenseStatus: { read: (cell) => (cell === "" ? { value: undefined } : readLicenseStatus(cell)), explanation: "REVOKED, EXPIRED, NONE or VALID; REVOKED without license_revoked_on revokes as of the day of the import, the others are compared with the dates" },
  licenseRevokedOn: { read: readDate, explanation: "day of a revocation, YYYY-MM-DD; empty lifts one that an extract brought" },
  licenseRevokedReason: { read: (cell) => readText(cell, 500), explanation: "why it was revoked, up to 500 characters, without personal data" },
  photoUrl: { read: readPhotoUrl, isConvenience: true, explanation: "https address of a photo" },
};

function indexed(read: Read<string | null>, index: (value: string) => Uint8Array): Read<string | null> {
  return "code" in read || read.value === null ? read : { value: index(read.value).toHex() };
}

/** The fields without which there is no record; a file without one of their columns is not an extract. */
export const requiredFields = importFields.filter((field) => columns[field].absent !== undefined);

/** All columns of an extract as they are explained, in the usual order; `member` is the same in NDJSON. */
export const templateColumns = importFields.map((member) => ({
  column: columnOfField[member],
  member,
  required: requiredFields.includes(member),
  explanation: columns[member].explanation,
}));

/** An extract without teachers: the header with every column. */
export const emptyExtract = `${templateColumns.map(({ column }) => column).join(",")}\n`;
