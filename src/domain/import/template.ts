import { columnOfField, type ImportField, importFields, requiredFields } from "./fields.ts";

/** What stands in each column of an extract, for those who prepare one. */
const explanations: Readonly<Record<ImportField, string>> = {
  regNo: "registration number of four segments, A/B/C/D; it names the teacher for ever",
  tId: "teacher id: a whole number, nobody else's",
  name: "the whole name, up to 200 characters",
  nin: "NIN: exactly 11 digits, as text; only a keyed hash is kept",
  ninVerified: "whether the NIN was verified: true or false; empty is false",
  email: "e-mail address; only a keyed hash is kept",
  phone: "phone number, 0803... or +234...; only a keyed hash is kept",
  state: "state, up to 100 characters",
  category: "category, up to 100 characters; the policy may ask for it",
  source: "new_system or legacy: the system that the record comes from",
  active: "true or false; a teacher who is not active is found, but has no licence",
  certificateStatus: "VERIFIED, CLAIMED, LEGACY_RECORD or NOT_FOUND",
  certificateIssueDate: "date, YYYY-MM-DD",
  licenseIssueDate: "first day of the licence, YYYY-MM-DD",
  licenseExpiryDate: "last day of the licence, YYYY-MM-DD; without it there is no licence",
  licenseRevokedOn: "day of a revocation, YYYY-MM-DD; empty lifts one that an extract brought",
  licenseRevokedReason: "why it was revoked, up to 500 characters, without personal data",
  photoUrl: "https address of a photo",
};

/** A column of an extract, as it is explained. */
type TemplateColumn = {
  readonly column: string;
  /** The same in NDJSON. */
  readonly member: ImportField;
  readonly required: boolean;
  readonly explanation: string;
};

const required: readonly ImportField[] = requiredFields;

/** All columns of an extract, in the usual order. */
export const templateColumns: readonly TemplateColumn[] = importFields.map((member) => ({
  column: columnOfField[member],
  member,
  required: required.includes(member),
  explanation: explanations[member],
}));

/** An extract without teachers: the header with every column. */
export const emptyExtract = `${templateColumns.map(({ column }) => column).join(",")}\n`;
