import { expect, test } from "bun:test";
import * as values from "../../../src/domain/import/values.ts";
import { maxTeacherId } from "../../../src/domain/teachers/teachers.ts";

type Reader = (cell: string) => values.ParseResult<unknown>;

/** The cells that a reader accepts, with their values, and the cells that the reader refuses, by code. */
type Case = [name: string, read: Reader, taken: [string, unknown][], refused: Record<string, string[]>];

const same = (...cells: string[]): [string, unknown][] => cells.map((cell) => [cell, cell]);
const photo = (length: number) => `https://p.example.org/${"a".repeat(length - 22)}`;
/** Numbers that a spreadsheet has damaged, and similar texts. */
const damaged = "1e5 +1e5 -1.5E+05 1,25e-12 12e10 1.0 12,00 1,234 12,345 1.234.567 123,456,789 '1".split(" ");
const undamaged = "1e x1e5 1e5x x1.0 1.0x 1.01 x1,234 1,234x 1234,567 1,23 a'1 '".split(" ");

// biome-ignore format: a table reads better in rows
const cases: Case[] = [
  ["text", (cell) => values.readText(cell, 12), [["", null], ["a  b", "a b"], ["a\t\u3000 b", "a b"], ["\u212b", "\u00c5"], ["e\u0301", "\u00e9"], [`a${" ".repeat(1046)}b`, "a b"], ...same("Ada", "a b", "twelve chars")], {
    TEXT_INVALID: ["\ufeffa", "a\u202eb", "\ufffd", "a\u0007"], TEXT_TOO_LONG: ["thirteen char", "\u00e9".repeat(13), `a${" ".repeat(1047)}b`], PERSONAL_DATA: ["08031234567", "a@example.ng"] }],
  ["a registration number", values.readRegNo, [["tr/2019/la/1", "TR/2019/LA/1"]], { REG_NO_INVALID: ["", "A/B/C"], PERSONAL_DATA: ["A/B/C/x@y.ng"] }],
  ["a teacher id", values.readTeacherId, [["", null], ["1", 1], ["007", 7], [String(maxTeacherId), maxTeacherId]], {
    T_ID_INVALID: ["0", "-1", "+1", "12a", "a12", "1 2", "9007199254740992", ...undamaged], SPREADSHEET_DAMAGE: damaged }],
  ["a NIN", values.readNin, [["", null], ...same("01234567890")], { NIN_INVALID: ["1234567890", ...undamaged], SPREADSHEET_DAMAGE: damaged }],
  ["a date", values.readDate, [["", null], ...same("2024-02-29", "2024-02-29")], {
    DATE_INVALID: ["2025-02-29", "29.02.2024", "4523", "452312", "x45231", "45231x", "45231.5x"], SPREADSHEET_DAMAGE: ["45231", "45231.5", "45231,25", "1e5"] }],
  ["yes or no", values.readBoolean, [...["true", "1", "yes", "y", "Y"].map((cell): [string, unknown] => [cell, true]), ...["false", "0", "no", "n", "NO"].map((cell): [string, unknown] => [cell, false])], { BOOLEAN_INVALID: ["", "2"] }],
  ["a source", values.readSource, [["New System", "new_system"], ["LEGACY", "legacy"], ...same("new_system", "legacy")], { SOURCE_INVALID: ["", "old"] }],
  ["a certificate status", values.readCertificateStatus, [["not found", "NOT_FOUND"], ...same("VERIFIED", "CLAIMED", "LEGACY_RECORD")], { CERTIFICATE_STATUS_INVALID: ["", "none"] }],
  ["a licence status", values.readLicenseStatus, [["Revoked", "REVOKED"], ...same("EXPIRED", "NONE", "VALID")], { LICENSE_STATUS_INVALID: ["", "struck off"] }],
  ["an e-mail address", values.readEmail, [["", null], ...same("ab@b.ng", "a.b@bc.co.ng", `${"a".repeat(249)}@b.ng`)], {
    EMAIL_INVALID: [`${"a".repeat(250)}@b.ng`, "a\u200b@b.ng", "a b@c.ng", "a@b c.ng", "a@b.n g", "@a@b.ng", "a@b@c.ng", "a@b.ng@c", "a@b", "a@.ng", "a@b..ng", "a@b.ng.", "@b.ng"] }],
  ["a phone number", values.readPhone, [["", null], ["08031234567", "+2348031234567"]], { PHONE_INVALID: ["12", "'08031234567", "2.34803E+12"] }],
  ["a photo", values.readPhotoUrl, [["", null], ["https://p.example.org", "https://p.example.org/"], ...same(photo(2000))], {
    PHOTO_URL_INVALID: [photo(2001), `${photo(22)}${"./".repeat(1000)}`, photo(1999).replace("aaa", "\u00e9aa"), "photo", "http://p.example.org/", "https://u@p.example.org/", "https://:p@p.example.org/", "https://p.example.org/a@b"] }],
];

test.each(cases)(
  "a cell for %s is read, or refused with the expected code",
  (_name, read, taken, refused) => {
    for (const [cell, value] of taken) expect([cell, read(cell)]).toEqual([cell, { value }]);
    for (const [code, cells] of Object.entries(refused))
      for (const cell of cells) expect([cell, read(cell)]).toEqual([cell, { code } as never]);
  },
);

test("a spreadsheet's error values and cells full of # are recognised as failed formulas", () => {
  const failed = "#REF! #N/A #VALUE! #name? #DIV/0! #NUM! #NULL! #SPILL! #CALC! ### ######".split(" ");
  expect(failed.filter((cell) => !values.isFailedFormula(cell))).toEqual([]);
  const others = ["##", "###x", "#x###", "#REF!x", "##REF!", "x#REF!", "x###", "#1", "1"];
  expect(others.filter(values.isFailedFormula)).toEqual([]);
});

const title = "B.Ed.";
const employer = "Model College";
const many = <T>(count: number, entry: T) => Array.from({ length: count }, () => entry);
const empty = { qualifications: [], employment: [] };
const degree = { title, institution: null, year: null };
const post = { employer, role: null, from: null, to: null };

// biome-ignore format: a table reads better in rows
const taken: [unknown, object | null][] = [
  [null, null],
  [{ secret: 1 }, empty],
  [{ qualifications: [{ title: ` ${title} `, secret: 1 }] }, { ...empty, qualifications: [degree] }],
  [{ qualifications: [{ title, institution: "L".repeat(200), year: 1900 }] }, { ...empty, qualifications: [{ title, institution: "L".repeat(200), year: 1900 }] }],
  [{ qualifications: many(100, { ...degree, year: 2100 }) }, { ...empty, qualifications: many(100, { ...degree, year: 2100 }) }],
  [{ employment: [{ employer }] }, { ...empty, employment: [post] }],
  [{ employment: many(100, { ...post, role: "Head", from: "2011", to: "2011-09" }) }, { ...empty, employment: many(100, { ...post, role: "Head", from: "2011", to: "2011-09" }) }],
  [{ employment: [{ ...post, from: "2011-09-01" }] }, { ...empty, employment: [{ ...post, from: "2011-09-01" }] }],
];
test.each(taken)("the profile %j is stored without unknown members", (profile, value) => {
  expect(values.readProfile(profile)).toEqual({ value } as never);
});

const ofDegree = [
  ...[{}, { title: " " }, { title: "L".repeat(201) }, { title: "08031234567" }, { title: 1 }],
  ...[1899, 2101, 2000.5, "2000"].map((year) => ({ title, year })),
];
// biome-ignore format: a list reads better in rows
const moments = [
  "", "May", "201", "20111", "x2011", "2011x", "2011-13", "2011-9", "2011-9-01", "2011-02-30",
];
const ofPost = moments.map((from) => ({ employer, from }));
const refused = [
  ...["B.Ed.", 7, [], { qualifications: {} }, { qualifications: many(101, degree) }],
  ...[{ employment: many(101, post) }, { employment: [{}] }, { employment: [{ employer, role: 7 }] }],
  ...ofDegree.map((entry) => ({ qualifications: [entry] })),
  ...ofPost.map((entry) => ({ employment: [entry] })),
];
test("a profile with one wrong member is refused", () => {
  for (const profile of refused)
    expect([profile, values.readProfile(profile)]).toEqual([profile, { code: "PROFILE_INVALID" }]);
});
