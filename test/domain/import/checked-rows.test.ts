import { expect, test } from "bun:test";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import type { RawRow } from "../../../src/domain/import/fields.ts";
import { checkRow, csvHeaderLine, requiredFields, templateColumns } from "../../../src/domain/import/rows.ts";

const index = createBlindIndex(new Uint8Array(32).fill(7));
const least = { regNo: "TR/2019/LA/1", name: "Ada Obi", source: "legacy", certificateStatus: "CLAIMED" };

/** Checks a row in line 7 with the required cells and the given cells. */
function checked(cells: RawRow["cells"], more: Partial<RawRow> = {}) {
  const { line, patch, issues } = checkRow(
    { line: 7, format: "csv", cells: { ...least, ...cells }, ...more },
    index,
  );
  expect([line, ...issues.map((issue) => issue.line)]).toEqual([7, ...issues.map(() => 7)]);
  return { patch, issues: issues.map(({ field, code }) => [field, code]) };
}

test("a checked row has the values of its cells, and only the blind indexes of NIN and contacts", () => {
  const plain = {
    state: "Oyo",
    category: "A",
    licenseRevokedReason: "forged",
    photoUrl: "https://p.example.org/",
  };
  const dates = {
    ...{ certificateIssueDate: "2018-01-01", licenseIssueDate: "2019-01-01" },
    ...{ licenseExpiryDate: "2029-01-01", licenseRevokedOn: "2026-01-02" },
  };
  const contacts = { nin: "99900000001", email: "Ada@example.org", phone: "08031234567" };
  const flags = { ninVerified: "yes", active: "no", hidden: "yes" };
  const all = { ...plain, ...dates, ...contacts, ...flags, tId: "7", licenseStatus: "Valid" };
  expect(checked(all)).toEqual({
    issues: [],
    patch: {
      ...{ ...least, ...plain, ...dates, tId: 7, licenseStatus: "VALID" },
      ...{ ninVerified: true, active: false, hidden: true },
      ninIndex: index.nin("99900000001").toHex(),
      emailIndex: index.email("ada@example.org").toHex(),
      phoneIndex: index.phone("+2348031234567").toHex(),
    } as never,
  });
});

test("an empty cell clears the stored value, except in active, hidden and license_status", () => {
  const cells = Object.fromEntries(templateColumns.map(({ member }) => [member, ""]));
  const cleared = templateColumns.filter(({ required }) => !required).map(({ member }) => member);
  const { patch, issues } = checked({ ...cells, ...least });
  expect(issues).toEqual([]);
  const named = { nin: "ninIndex", email: "emailIndex", phone: "phoneIndex" } as Record<string, string>;
  const nothing = Object.fromEntries(cleared.map((member) => [named[member] ?? member, null]));
  const { active: _active, hidden: _hidden, licenseStatus: _unsaid, ...others } = nothing;
  expect(patch).toStrictEqual({ ...others, ...least, ninVerified: false } as never);
});

const none = { regNo: undefined, name: undefined, source: undefined, certificateStatus: undefined };
const missing = ["REG_NO_INVALID", "NAME_MISSING", "SOURCE_INVALID", "CERTIFICATE_STATUS_INVALID"];
// biome-ignore format: a table reads better in rows
test.each<[RawRow["cells"], Partial<RawRow>, [string | null, string][]]>([
  [none as never, {}, ["reg_no", "name", "source", "certificate_status"].map((field, at) => [field, missing[at] ?? ""])],
  [none as never, { format: "ndjson" }, Object.keys(none).map((field, at) => [field, missing[at] ?? ""])],
  [{ name: "" }, {}, [["name", "NAME_MISSING"]]],
  [{ name: "#REF!", tId: "#REF!" }, {}, [["t_id", "SPREADSHEET_DAMAGE"], ["name", "SPREADSHEET_DAMAGE"]]],
  [{ name: "L".repeat(201), state: "L".repeat(101), category: "L".repeat(101), licenseRevokedReason: "L".repeat(501) }, {}, ["name", "state", "category", "license_revoked_reason"].map((field) => [field, "TEXT_TOO_LONG"])],
  [{ tId: "99912345678", nin: "99912345678" }, {}, [["t_id", "PERSONAL_DATA"]]],
  [{ regNo: "TR/99912345678/LA/1", nin: "99912345678" }, {}, [["reg_no", "PERSONAL_DATA"]]],
  [{ regNo: "TR/803-123-4567/LA/1", phone: "08031234567" }, {}, [["reg_no", "PERSONAL_DATA"]]],
  [{}, { profile: 7 }, [["profile", "PROFILE_INVALID"]]],
  [{ tId: "x" }, { fault: { field: "name", code: "TEXT_INVALID" } }, [["name", "TEXT_INVALID"]]],
  [{}, { fault: { field: null, code: "COLUMN_COUNT" } }, [[null, "COLUMN_COUNT"]]],
])("the row %j with %j is rejected, and every reason is reported", (cells, more, issues) => {
  expect(checked(cells, more)).toEqual({ patch: null, issues });
});

const photoOf = (path: string) => `https://p.example.org/${path}.jpg`;
const refused = ["photo_url", "PHOTO_URL_INVALID"];
// biome-ignore format: a table reads better in rows
test.each<[RawRow["cells"], string[][], object]>([
  [{ email: "#REF!", phone: "12", photoUrl: "x" }, [["email", "EMAIL_INVALID"], ["phone", "PHONE_INVALID"], refused], { emailIndex: null, phoneIndex: null, photoUrl: null }],
  [{ photoUrl: photoOf("99912345678"), nin: "99912345678" }, [refused], { photoUrl: null }],
  [{ photoUrl: photoOf("0803-123-4567"), phone: "+2348031234567" }, [refused], { photoUrl: null }],
  [{ photoUrl: photoOf("803123456"), phone: "+2348031234567" }, [], { photoUrl: photoOf("803123456") }],
  [{ photoUrl: photoOf("123456"), phone: "123456" }, [["phone", "PHONE_INVALID"], refused], { photoUrl: null }],
  [{ photoUrl: photoOf("12345"), phone: "12345" }, [["phone", "PHONE_INVALID"]], { photoUrl: photoOf("12345") }],
  [{ photoUrl: photoOf("Ada.Obi"), email: "ada.OBI" }, [["email", "EMAIL_INVALID"], refused], { photoUrl: null }],
  [{ name: "L".repeat(200), state: "L".repeat(100), category: "L".repeat(100), licenseRevokedReason: "L".repeat(500) }, [], { state: "L".repeat(100) }],
  [{ name: "Ad?bayo", state: "NULL", category: "A &amp; B", licenseRevokedReason: "N/A" }, ["name", "state", "category", "license_revoked_reason"].map((field) => [field, "TEXT_SUSPECT"]), {}],
])("the row %j is applied without its unusable values", (cells, issues, set) => {
  const { patch, issues: found } = checked(cells);
  expect({ issues: found, patch }).toMatchObject({ issues, patch: set });
  expect(found).toEqual(issues);
});

test("a rejected row is reported with its registration number, unless the number may be personal data", () => {
  const namesOf = (cells: RawRow["cells"]) => {
    const { issues } = checkRow({ line: 7, format: "csv", cells: { ...least, ...cells } }, index);
    return issues.map((issue) => ("regNo" in issue ? issue.regNo : null));
  };
  expect(namesOf({ tId: "x", name: "08031234567" })).toEqual([least.regNo, least.regNo]);
  for (const cells of [{ regNo: "" }, { regNo: "TR/99912345678/LA/1", tId: "x" }])
    expect(namesOf(cells)).toEqual([null]);
  expect(new Set(namesOf({ regNo: "TR/123456/LA/1", phone: "123456" }))).toEqual(new Set([null]));
});

test.each([[undefined], [null], [{ qualifications: [], employment: [] }]])(
  "a checked row has the profile %j of its NDJSON line",
  (profile) => {
    expect(checked({}, { profile }).patch?.profile).toEqual(profile as never);
  },
);

test("each import column has an explanation, and the required columns are marked", () => {
  expect(requiredFields).toEqual(["regNo", "name", "source", "certificateStatus"]);
  expect(templateColumns.filter(({ required }) => required).map(({ member }) => member)).toEqual([
    ...requiredFields,
  ]);
  expect(templateColumns.filter(({ explanation }) => explanation.length < 10)).toEqual([]);
  expect(templateColumns[0]).toMatchObject({ column: "reg_no", member: "regNo", required: true });
  const columns =
    "reg_no,t_id,name,nin,nin_verified,email,phone,state,category,source,active,hidden,certificate_status,";
  const dates =
    "certificate_issue_date,license_issue_date,license_expiry_date,license_status,license_revoked_on,license_revoked_reason,photo_url";
  expect(csvHeaderLine).toBe(`${columns}${dates}\n`);
});
