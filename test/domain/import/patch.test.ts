import { expect, test } from "bun:test";
import {
  changesNothing,
  computeRowEffect,
  findContentIssues,
  liftsRevocation,
  type TeacherPatch,
} from "../../../src/domain/import/patch.ts";
import type { StoredTeacher } from "../../../src/domain/teachers/teachers.ts";
import { aStoredTeacher } from "../../harness/samples.ts";

const keeping = { liftRevocations: false, today: "2026-03-10" };
const bytes = (...values: number[]) => new Uint8Array(values);
const known = aStoredTeacher();
const { regNo } = known;
const effect = (before: Partial<StoredTeacher>, patch: Partial<TeacherPatch>, options = keeping) =>
  computeRowEffect(aStoredTeacher(before), { regNo, ...patch }, options);

test("a new teacher is active and has only the row's values", () => {
  const patch = { regNo, name: "Ada", source: "legacy", certificateStatus: "CLAIMED" } as const;
  const { content, changed } = computeRowEffect(null, { ...patch, emailIndex: "0aff" }, keeping);
  const nothing = {
    ...{ tId: null, ninIndex: null, ninVerified: false, phoneIndex: null, state: null, category: null },
    ...{
      active: true,
      hidden: false,
      certificateIssueDate: null,
      licenseIssueDate: null,
      licenseExpiryDate: null,
    },
    ...{ licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null },
    ...{ photoUrl: null, profile: null },
  };
  expect({ content, changed }).toEqual({
    content: { ...nothing, ...patch, emailIndex: bytes(10, 255) },
    changed: null,
  });
  expect(changesNothing({ changed })).toBe(false);
  expect(
    computeRowEffect(null, { ...patch, ninVerified: true, ninIndex: "01" }, keeping).content.ninVerified,
  ).toBe(true);
});

const profile = { qualifications: [], employment: [] };
// biome-ignore format: a table reads better in rows
test.each<[Partial<StoredTeacher>, Partial<TeacherPatch>, string[]]>([
  [{}, {}, []],
  [{}, { name: known.name, active: true, ninIndex: null, profile: null }, []],
  [{}, { name: "Other", category: null }, ["name", "category"]],
  [{ emailIndex: bytes(1, 2) }, { emailIndex: "0102" }, []],
  [{ emailIndex: bytes(1, 2) }, { emailIndex: "0103" }, ["emailIndex"]],
  [{ emailIndex: bytes(1, 2) }, { emailIndex: "01" }, ["emailIndex"]],
  [{ emailIndex: bytes(1) }, { emailIndex: "0102" }, ["emailIndex"]],
  [{ emailIndex: bytes(1) }, { emailIndex: null }, ["emailIndex"]],
  [{}, { phoneIndex: "01" }, ["phoneIndex"]],
  [{ profile }, { profile: { ...profile } }, []],
  [{ profile }, { profile: null }, ["profile"]],
])("the teacher %j and the row %j differ in the fields %j", (before, patch, changed) => {
  const made = effect(before, patch);
  expect(made.changed as string[]).toEqual(changed);
  expect(changesNothing(made)).toBe(changed.length === 0);
});

test("a known teacher keeps the values of fields that the row lacks", () => {
  expect(effect({}, { name: "Other" }).content).toEqual({ ...known, name: "Other" });
});

test("a hidden teacher stays hidden, and a row may hide a teacher", () => {
  expect(effect({ hidden: true }, { hidden: false }).content.hidden).toBe(true);
  expect(effect({}, { hidden: true }).content.hidden).toBe(true);
});

const verified = { ninIndex: bytes(1), ninVerified: true };
test.each<[Partial<TeacherPatch>, boolean]>([
  [{}, true],
  [{ ninIndex: "01" }, true],
  [{ ninIndex: "02" }, false],
  [{ ninIndex: null }, false],
  [{ ninIndex: "02", ninVerified: true }, true],
  [{ ninVerified: false }, false],
])("whether a verified NIN is still verified after the row %j: %p", (patch, ninVerified) => {
  expect(effect(verified, patch).content.ninVerified).toBe(ninVerified);
});

/** A revocation's day and reason, and who made the revocation. */
type Revocation = [on: string | null, reason: string | null, by: StoredTeacher["licenseRevokedBy"]];
const revocation = ([licenseRevokedOn, licenseRevokedReason, licenseRevokedBy]: Revocation) => ({
  licenseRevokedOn,
  licenseRevokedReason,
  licenseRevokedBy,
});
const none: Revocation = [null, null, null];
const operators: Revocation = ["2026-01-02", "forged", "operator"];
const extracts: Revocation = ["2026-01-02", "forged", "extract"];

// biome-ignore format: a table reads better in rows
test.each<[Revocation, Partial<TeacherPatch>, lift: boolean, after: Revocation, code: string[]]>([
  [none, { licenseRevokedOn: "2026-01-02", licenseRevokedReason: "forged" }, false, extracts, []],
  [none, { licenseRevokedReason: "left over" }, false, [null, "left over", null], []],
  [extracts, {}, false, extracts, []],
  [extracts, { licenseRevokedOn: "2026-03-02" }, false, ["2026-03-02", "forged", "extract"], []],
  [extracts, { licenseRevokedOn: null, licenseRevokedReason: null }, false, none, ["REVOCATION_CLEARED"]],
  [operators, {}, false, operators, []],
  [operators, { licenseRevokedOn: "2026-01-02", licenseRevokedReason: "forged" }, false, operators, []],
  [operators, { licenseRevokedOn: null }, false, operators, ["REVOCATION_KEPT license_revoked_on"]],
  [operators, { licenseRevokedOn: "2026-01-02", licenseRevokedReason: "other" }, false, operators, ["REVOCATION_KEPT license_revoked_reason"]],
  [operators, {}, true, operators, []],
  [operators, { licenseRevokedOn: "2026-01-02" }, true, operators, []],
  [operators, { licenseRevokedOn: "2026-03-02" }, true, ["2026-03-02", "forged", "extract"], []],
  [operators, { licenseRevokedOn: null, licenseRevokedReason: null }, true, none, ["REVOCATION_CLEARED"]],
  [none, { licenseStatus: "REVOKED" }, false, ["2026-03-10", "extract", "extract"], []],
  [none, { licenseStatus: "REVOKED", licenseRevokedOn: null, licenseRevokedReason: null }, false, ["2026-03-10", "extract", "extract"], []],
  [none, { licenseStatus: "REVOKED", licenseRevokedOn: null, licenseRevokedReason: "theft" }, false, ["2026-03-10", "theft", "extract"], []],
  [none, { licenseStatus: "REVOKED", licenseRevokedOn: "2026-01-02", licenseRevokedReason: "forged" }, false, extracts, []],
  [none, { licenseStatus: "VALID" }, false, none, []],
  [[null, "left over", null], { licenseStatus: "VALID" }, false, [null, "left over", null], []],
  [extracts, { licenseStatus: "REVOKED" }, false, extracts, []],
  [extracts, { licenseStatus: "REVOKED", licenseRevokedOn: null, licenseRevokedReason: null }, false, extracts, []],
  [extracts, { licenseStatus: "VALID" }, false, none, ["REVOCATION_CLEARED"]],
  [extracts, { licenseStatus: "VALID", licenseRevokedReason: "appeal" }, false, [null, "appeal", null], ["REVOCATION_CLEARED"]],
  [extracts, { licenseStatus: "VALID", licenseRevokedOn: "2026-01-02" }, false, extracts, ["STATUS_DIFFERS license_status"]],
  [operators, { licenseStatus: "VALID" }, false, operators, ["REVOCATION_KEPT license_revoked_on"]],
  [operators, { licenseStatus: "REVOKED" }, false, operators, []],
])("the revocation %j and the row %j with --lift-revocations %p give the revocation %j", (before, patch, liftRevocations, after, codes) => {
  const made = effect(revocation(before), patch, { ...keeping, liftRevocations });
  expect(made.content).toMatchObject(revocation(after));
  expect(liftsRevocation(made)).toBe(codes.includes("REVOCATION_CLEARED"));
  const issues = findContentIssues({ line: 7, format: "csv" }, made, "2026-03-10");
  const fields = { REVOCATION_CLEARED: "license_revoked_on" } as Record<string, string>;
  const expected = codes.map((one) => one.split(" ")).map(([code = "", field = fields[code]]) => ({ line: 7, field, code }));
  expect(issues).toEqual(expected as never);
});

// biome-ignore format: a table reads better in rows
test.each<[Partial<StoredTeacher>, Partial<TeacherPatch>, [field: string, code: string][]]>([
  [{}, { licenseIssueDate: "2026-03-02", licenseExpiryDate: "2026-03-01" }, [["licenseExpiryDate", "EXPIRY_BEFORE_ISSUE"]]],
  [{}, { licenseIssueDate: "2026-03-02", licenseExpiryDate: "2026-03-02" }, []],
  [{}, { licenseIssueDate: null, licenseExpiryDate: "1999-03-02" }, []],
  [{}, { licenseExpiryDate: null }, [["licenseExpiryDate", "LICENSE_WITHOUT_EXPIRY"]]],
  [{}, { licenseIssueDate: null, licenseExpiryDate: null }, []],
  [{}, { licenseRevokedOn: "2026-03-11" }, [["licenseRevokedOn", "REVOKED_IN_FUTURE"]]],
  [{}, { licenseRevokedOn: "2026-03-10" }, []],
  [{ active: false }, { active: true }, [["active", "REACTIVATED"]]],
  [{ active: false }, { active: false }, []],
  [{ active: false }, {}, []],
  [{}, { active: true }, []],
  [{}, { active: false }, []],
  [{}, { licenseRevokedOn: "1949-12-31", licenseIssueDate: null }, [["licenseRevokedOn", "REVOCATION_TOO_OLD"]]],
  [{}, { licenseRevokedOn: "1950-01-01", licenseIssueDate: null }, []],
  [{}, { licenseRevokedOn: "2019-02-28", licenseIssueDate: "2019-03-01" }, [["licenseRevokedOn", "REVOKED_BEFORE_ISSUE"]]],
  [{}, { licenseRevokedOn: "2019-03-01", licenseIssueDate: "2019-03-01" }, []],
  [{}, { licenseStatus: "EXPIRED" }, [["licenseStatus", "STATUS_DIFFERS"]]],
  [{}, { licenseStatus: "NONE" }, [["licenseStatus", "STATUS_DIFFERS"]]],
  [{ active: false }, { licenseStatus: "VALID" }, []],
  [{}, { licenseStatus: "EXPIRED", licenseExpiryDate: "2025-12-31" }, []],
  [{}, { licenseStatus: "VALID", licenseExpiryDate: "2025-12-31" }, [["licenseStatus", "STATUS_DIFFERS"]]],
  [{}, { licenseStatus: "NONE", licenseIssueDate: null, licenseExpiryDate: null }, []],
  [{}, { licenseStatus: "VALID", licenseIssueDate: null, licenseExpiryDate: null }, [["licenseStatus", "STATUS_DIFFERS"]]],
])("the record %j and the row %j give the issues %j", (before, patch, expected) => {
  const issues = findContentIssues({ line: 7, format: "ndjson" }, effect(before, patch), "2026-03-10");
  expect(issues).toEqual(expected.map(([field, code]) => ({ line: 7, field, code })) as never);
});

test("the row of a new teacher neither lifts a revocation nor counts as a reactivation", () => {
  const made = computeRowEffect(
    null,
    { ...known, ninIndex: null, emailIndex: null, phoneIndex: null },
    keeping,
  );
  expect(findContentIssues({ line: 7, format: "csv" }, made, "2026-03-10")).toEqual([]);
  expect(liftsRevocation(made)).toBe(false);
  const revoked = computeRowEffect(null, { regNo, licenseRevokedOn: "2026-01-02" }, keeping);
  expect(revoked.content).toMatchObject({ licenseRevokedOn: "2026-01-02", licenseRevokedBy: "extract" });
});
