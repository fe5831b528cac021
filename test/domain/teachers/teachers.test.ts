import { expect, test } from "bun:test";
import {
  canonicalizeRegNo,
  describeLicenseOn,
  licenseStartsLater,
  licenseStatusOn,
} from "../../../src/domain/teachers/teachers.ts";
import { aStoredTeacher } from "../../harness/samples.ts";

const today = "2026-03-01";
const on = (changes: Parameters<typeof aStoredTeacher>[0], date = today) =>
  describeLicenseOn(aStoredTeacher(changes), date);

const dates = { licenseIssueDate: "2024-03-01", licenseExpiryDate: "2026-03-01" };
const shown = { issueDate: "2024-03-01", expiryDate: "2026-03-01" };

test.each([
  ["2024-02-29", { status: "NOT_FOUND", daysRemaining: null }],
  ["2024-03-01", { status: "VALID", daysRemaining: 730 }],
  ["2026-02-28", { status: "VALID", daysRemaining: 1 }],
  ["2026-03-01", { status: "VALID", daysRemaining: 0 }],
  ["2026-03-02", { status: "EXPIRED", daysRemaining: 0 }],
  ["2036-03-02", { status: "EXPIRED", daysRemaining: 0 }],
] as const)("a licence from 2024-03-01 to 2026-03-01 has the right status on %s", (date, expected) => {
  expect(on(dates, date)).toEqual({ ...shown, ...expected });
  expect(licenseStatusOn(aStoredTeacher(dates), date)).toBe(expected.status);
});

test("a licence without an issue date is valid", () => {
  const held = { status: "VALID", issueDate: null, expiryDate: today, daysRemaining: 0 } as const;
  expect(on({ licenseIssueDate: null, licenseExpiryDate: today })).toEqual(held);
});

const none = { status: "NOT_FOUND", issueDate: null, expiryDate: null, daysRemaining: null } as const;

test.each([
  ["was never given", { licenseIssueDate: null, licenseExpiryDate: null }],
  ["has no dates", { licenseIssueDate: "2020-01-01", licenseExpiryDate: null }],
  ["belongs to a deactivated teacher", { active: false }],
  ["belongs to a deactivated teacher and was revoked", { active: false, licenseRevokedOn: "2026-01-01" }],
  ["belongs to a deactivated teacher and has expired", { active: false, licenseExpiryDate: "2020-01-01" }],
  [
    "belongs to a deactivated teacher and begins in the future",
    { active: false, licenseIssueDate: "2030-01-01" },
  ],
])("the description of a licence that %s has no dates and the status NOT_FOUND", (_why, changes) => {
  expect(on(changes)).toEqual(none);
});

test.each([["2099-12-31"], ["2020-12-31"], [null]] as const)(
  "a revoked licence stays revoked, even when it expires %s",
  (licenseExpiryDate) => {
    const license = on({ licenseRevokedOn: "2026-02-01", licenseExpiryDate });
    expect(license).toEqual({
      status: "REVOKED",
      issueDate: "2020-01-01",
      expiryDate: licenseExpiryDate,
      daysRemaining: null,
    });
  },
);

const later = { licenseIssueDate: "2026-03-02", licenseExpiryDate: "2028-03-01" };

test("a licence that starts in the future shows its dates and no remaining days", () => {
  const dates = { issueDate: "2026-03-02", expiryDate: "2028-03-01" };
  expect(on(later)).toEqual({ status: "NOT_FOUND", ...dates, daysRemaining: null });
});

test("licenseStartsLater finds licences that start in the future", () => {
  const startsLater = (changes: object, date = today) => licenseStartsLater(aStoredTeacher(changes), date);
  expect(startsLater(later)).toBe(true);
  expect(startsLater(later, "2026-03-02")).toBe(false);
  expect(startsLater({ ...later, active: false })).toBe(false);
  expect(startsLater({ ...later, licenseExpiryDate: null })).toBe(false);
  expect(startsLater({ ...later, licenseIssueDate: null })).toBe(false);
});

test.each([
  ["la/2019/pri/04417", "LA/2019/PRI/04417"],
  ["  LA / 2019 / PRI / 04417\n", "LA/2019/PRI/04417"],
  ["LA/2019/P R I/04417", "LA/2019/PRI/04417"],
  ["LA\u00a0/\u20032019/PRI/04417", "LA/2019/PRI/04417"],
  ["ＬＡ／２０１９／ＰＲＩ／０４４１７", "LA/2019/PRI/04417"],
  ["a/b/c/straße", "A/B/C/STRASSE"],
  ["a/b/c/e\u0301", "A/B/C/É"],
  ["a/b/c/é", "A/B/C/É"],
  ["x/y-1/z.2/(3)", "X/Y-1/Z.2/(3)"],
])("the registration number %j has the canonical form %j", (given, canonical) => {
  expect(canonicalizeRegNo(given)).toBe(canonical);
});

test.each([
  ["nothing", ""],
  ["no segments", "LA2019"],
  ["three segments", "LA/2019/PRI"],
  ["five segments", "LA/2019/PRI/04417/1"],
  ["an empty last segment", "LA/2019/PRI/"],
  ["a segment of white space", "LA/ /PRI/04417"],
  ["a NUL", "LA/2019/PRI/044\u000017"],
  ["a control character", "LA/2019/PRI/04417\u001b[2J"],
  ["a zero-width space", "LA/2019/PRI/044\u200b17"],
  ["a right-to-left override", "LA/2019/PRI/\u202e71440"],
  ["a lone surrogate", "LA/2019/PRI/\ud83d"],
  ["a private-use character", "LA/2019/PRI/\ue000"],
  ["an unassigned character", "LA/2019/PRI/\u{e0080}"],
  ["more than a hundred characters", `LA/2019/PRI/${"0".repeat(89)}`],
])("a text with %s is not a registration number", (_what, given) => {
  expect(canonicalizeRegNo(given)).toBeNull();
});

/** A partner may look up the registration number from an answer, and must find the same teacher. */
test("converting a canonical registration number again does not change it, for every character", () => {
  const unstable: string[] = [];
  for (let code = 0; code < 0x30000; code++) {
    const canonical = canonicalizeRegNo(`A/${String.fromCodePoint(code)}B/C/D`);
    if (canonical !== null && canonicalizeRegNo(canonical) !== canonical) unstable.push(code.toString(16));
  }
  expect(unstable).toEqual([]);
});
