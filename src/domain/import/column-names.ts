/** Recognises the column names of other systems, such as `Reg. No` for `reg_no`. */

import { columnOfField, fieldOfColumnName, type ImportField, importFields, normalizeName } from "./fields.ts";

/** Each line has the spellings of one word. `otherNames` uses the first spelling. */
const spellings = [
  "license lic licence licences licenses licensing licensure",
  "certificate cert certs certification",
  "registration reg regd regn registered trcn",
  "number no nos num numbers nr",
  "expiry exp expire expires expiration expiring",
  "issue issued issuance",
  "date dates dated dt on",
  "revocation revoked revoke withdrawn withdrawal cancelled canceled cancellation struck deregistered deregistration",
  "phone phones telephone tel mobile cell cellphone gsm handset",
  "email emails mail",
  "category cat categories",
  "name names",
  "full complete whole",
  "teacher teachers educator",
  "until till to upto",
  "from since start starts begin begins beginning commencement effective",
  "valid validity",
  "end ends ending",
  "reason reasons ground grounds",
  "verification verified verify",
  "photo photograph picture image passport",
  "link url address",
  "nin nationalid",
  "id identity identification",
].map((line) => line.split(" "));
/** Words that do not change the meaning of a column's name. */
const stopWords = "of off the for in is and a an s".split(" ");

type OtherNames = { readonly means: string; readonly mayMean?: string };

/** Names of each field in other systems. Words match in any order. A name in `mayMean` may also mean another field. */
const otherNames: Readonly<Partial<Record<ImportField, OtherNames>>> = {
  regNo: {
    means: "registration number, registration id, registration code",
    mayMean: "license number, certificate number, number, registration, license registration number",
  },
  tId: {
    means: "teacher id, teacher id number",
    mayMean: "id, id number, staff id, staff number, employee id, serial id",
  },
  name: {
    means: "full name, teacher name, name surname other, surname other",
    mayMean: "teacher, registrant, holder, holder name, registrant name, applicant name",
  },
  nin: { means: "nin number, nin id, national id, national id number", mayMean: "id number" },
  ninVerified: { means: "nin checked, nin confirmed, nin verification", mayMean: "nin status" },
  email: { means: "email link, email id, email contact", mayMean: "contact" },
  phone: {
    means: "phone number, phone contact",
    mayMean: "contact, contact number, whatsapp, whatsapp number",
  },
  state: {
    means: "state name",
    mayMean:
      "region, province, state origin, state residence, state registration, state practice, state post, county, district",
  },
  category: {
    means: "teacher category, school level, registration category",
    mayMean: "level, cadre, sector, class, type, section",
  },
  source: { means: "record source, data source, source system", mayMean: "system, origin" },
  active: { means: "is active, active status, active yn", mayMean: "status, employed, inservice" },
  certificateStatus: {
    means:
      "certificate status, certificate standing, certificate verification, certificate verification status",
    mayMean: "status, verification, verification status, qualification status",
  },
  licenseIssueDate: {
    means:
      "license issue, license issue date, license from, license from date, license date, license valid from, license valid from date",
    mayMean: "issue, issue date, valid from, valid from date, from, from date",
  },
  certificateIssueDate: {
    means: "certificate issue, certificate issue date, certificate date",
    mayMean: "issue, issue date, registration date",
  },
  licenseExpiryDate: {
    means:
      "license expiry, license expiry date, license end, license end date, license until, license until date, license valid until, license valid until date",
    mayMean:
      "expiry, expiry date, valid until, valid until date, until, until date, end, end date, renewal date, renewal due date, next renewal date, valid date, registration expiry, registration expiry date, registration valid until, certificate expiry, certificate expiry date",
  },
  licenseRevokedOn: {
    means: "revocation date, license revocation, license revocation date",
    mayMean: "revocation, registration revocation date",
  },
  licenseRevokedReason: {
    means: "revocation reason, license revocation reason",
    mayMean: "reason",
  },
  photoUrl: { means: "photo link, photo address", mayMean: "photo" },
};

const canonical = new Map(
  spellings.flatMap(([word = "", ...others]) => [word, ...others].map((one) => [one, word] as const)),
);
for (const word of stopWords) canonical.set(word, "");
const phrases = Object.entries(otherNames) as [ImportField, OtherNames][];
const phrasesOf = (list = "") => (list === "" ? [] : list.split(", "));
for (const [, { means, mayMean }] of phrases)
  for (const word of [...phrasesOf(means), ...phrasesOf(mayMean)].flatMap((one) => one.split(" ")))
    if (!canonical.has(word)) canonical.set(word, word);
for (const word of importFields.flatMap((field) => columnOfField[field].split("_")))
  if (!canonical.has(word)) canonical.set(word, word);
/** Known words, the longest first, so that `issueddate` is split after `issued` and not after `issue`. */
const vocabulary = [...canonical.keys()]
  .filter((word) => word.length > 1)
  .sort((a, b) => b.length - a.length);

const maxLength = 48;

/** Splits words that are written together. @returns the first spelling of each word, or null if a word is unknown */
function wordsOf(token: string): readonly string[] | null {
  const known = canonical.get(token);
  if (known !== undefined) return [known];
  for (const word of vocabulary) {
    if (!token.startsWith(word)) continue;
    const rest = wordsOf(token.slice(word.length));
    if (rest !== null) return [canonical.get(word) ?? "", ...rest];
  }
  return null;
}

/** Converts a name to its words in alphabetical order. @returns null if a word is unknown, or the name is long */
function keyOf(name: string): string | null {
  if (name.length > maxLength) return null;
  const tokens = name
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .toLowerCase()
    .replace(/\be[\s-]?mail/g, "email")
    .replace(/[#№]/g, " no ")
    .split(/[^\p{L}]+/u)
    .filter((token) => token !== "");
  const words = tokens.map(wordsOf);
  if (words.includes(null)) return null;
  return [...new Set(words.flat())]
    .filter((word) => word !== "")
    .sort()
    .join(" ");
}

const meaning = new Map<string, ImportField>();
const possible = new Map<string, ImportField[]>();
for (const [field, { means, mayMean }] of phrases) {
  for (const phrase of [columnOfField[field].replaceAll("_", " "), ...phrasesOf(means)])
    meaning.set(keyOf(phrase) ?? phrase, field);
  for (const phrase of phrasesOf(mayMean)) {
    const key = keyOf(phrase) ?? phrase;
    possible.set(key, [...(possible.get(key) ?? []), field]);
  }
}

/** The fields that a column's name may mean: "own" is the register's name, "known" another system's. */
type NameReading =
  | { readonly kind: "own" | "known"; readonly field: ImportField }
  | { readonly kind: "perhaps"; readonly fields: readonly ImportField[] }
  | { readonly kind: "unknown" };

export function classifyColumnName(name: string): NameReading {
  const own = fieldOfColumnName(name);
  if (own !== undefined) return { kind: "own", field: own };
  const key = keyOf(name);
  if (key === null || key === "") return { kind: "unknown" };
  const shorter = key.replace(/ ?\bteacher\b/, "").trim();
  const field = meaning.get(key) ?? (possible.has(key) ? undefined : meaning.get(shorter));
  if (field !== undefined) return { kind: "known", field };
  const fields = possible.get(key) ?? possible.get(shorter);
  return fields === undefined ? { kind: "unknown" } : { kind: "perhaps", fields };
}

const given = /^(?:teachers?)?(?:first|fore|given|christian)names?$/;
const between = /^(?:teachers?)?(?:middle|other|second|third)(?:names?|initials?)$/;
const last = /^(?:teachers?)?(?:sur|last|family)names?$/;

/** The result of {@link findPersonNamePart} for a column of surnames. */
export const surnamePosition = 2;

/** Finds which part of a person's name a column holds: 0 first name, 1 middle name, 2 surname. @returns null if none */
export function findPersonNamePart(name: string): number | null {
  const letters = normalizeName(name).replace(/[^\p{L}]/gu, "");
  const position = [given, between, last].findIndex((pattern) => pattern.test(letters));
  return position < 0 ? null : position;
}

/** Whether a column's name suggests private data, or data that the register does not store, such as birthdays. */
export function isPrivateOrUnstoredColumn(name: string): boolean {
  return /birth|\bd\.?o\.?b\b|appoint|employ|retire|promot|graduat|resum|posting|payment|paid|enrol|\bkin\b|address|bvn|\bbank|account|salary|password|religion|health|disab|marital|gender|\bsex\b|tribe/i.test(
    name.replaceAll("_", " "),
  );
}
