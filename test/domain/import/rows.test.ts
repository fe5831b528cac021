import { expect, test } from "bun:test";
import { csv, placeOf, row, withImports } from "../../harness/imports.ts";

/** A fault in one cell: the column, what stands there, and the code. */
// biome-ignore format: a table reads better in rows
const rejections: [string, string, string][] = [
  ["reg_no", "TR/2019/LA", "REG_NO_INVALID"],
  ["t_id", "1.2E+05", "SPREADSHEET_DAMAGE"],
  ["name", "", "NAME_MISSING"],
  ["name", "Ada \u202eibO", "TEXT_INVALID"],
  ["name", "ada@example.org", "PERSONAL_DATA"],
  ["nin", "1234567890A", "NIN_INVALID"],
  ["nin_verified", "maybe", "BOOLEAN_INVALID"],
  ["source", "old", "SOURCE_INVALID"],
  ["certificate_status", "checked", "CERTIFICATE_STATUS_INVALID"],
  ["license_expiry_date", "2019-02-28", "EXPIRY_BEFORE_ISSUE"],
  ["license_revoked_on", "2025-1-1", "DATE_INVALID"],
];

test("a rejected cell is reported by line, column and code, and the other rows are taken", () =>
  withImports(async ({ add, find }) => {
    const pairs = rejections.map(([field, cell], n) => [row(n, { [field]: cell }), row(1000 + n)]);
    const { rejected, inserted, report } = await add(csv(pairs.flat()));
    expect({ rejected, inserted }).toEqual({ rejected: rejections.length, inserted: rejections.length });
    expect(report.rejected.map(placeOf)).toEqual(
      rejections.map(([field, , code], n) => ({ line: 2 + 2 * n, field, code })),
    );
    expect(Object.keys(report.codes).sort()).toEqual(
      [...new Set(rejections.map(([, , code]) => code))].sort(),
    );
    for (const [n, [, cell]] of rejections.entries()) {
      expect([cell, await find(`TR/2019/LA/${n}`)]).toEqual([cell, null]);
      expect(await find(`TR/2019/LA/${1000 + n}`)).not.toBeNull();
    }
    // "verified" is a word of the report's own sentences, and its rows are named by their numbers.
    const said = ["verified", "TR/2019/LA"];
    for (const [, cell] of rejections.filter(([, cell]) => cell.length > 3 && !said.includes(cell)))
      expect(report.text).not.toContain(JSON.stringify(cell).slice(1, -1));
  }));

test("the name of an unknown column is not repeated when it may be personal data", () =>
  withImports(async ({ add }) => {
    const { report } = await add(csv([row(1, { "99912345678": "", "Ada@example.org": "" })]));
    expect(report.warnings.map((issue) => issue.field)).toEqual(["column 7", "column 8"]);
  }));

const member = {
  regNo: "TR/2019/LA/1",
  name: "Ada Obi",
  source: "new_system",
  certificateStatus: "VERIFIED",
  licenseExpiryDate: "2090-02-28",
};
const lines = (...objects: object[]) => objects.map((one) => `${JSON.stringify(one)}\n`).join("");
const ndjson = { name: "extract.ndjson" };

test("NDJSON may have numbers for teacher ids, booleans and null", () =>
  withImports(async ({ add, find }) => {
    await add(lines({ ...member, tId: 12, active: false, ninVerified: true, state: "Oyo" }), ndjson);
    expect(await find(member.regNo)).toMatchObject({ tId: 12, active: false, ninVerified: true });
    await add(lines({ ...member, tId: null }), { ...ndjson, allowChange: true });
    expect(await find(member.regNo)).toMatchObject({ tId: null, state: "Oyo" });
  }));

const rejected: [object, { field: string; code: string }][] = [
  [{ nin: 12_345_678_901 }, { field: "nin", code: "VALUE_TYPE_INVALID" }],
  [{ state: ["Oyo"] }, { field: "state", code: "VALUE_TYPE_INVALID" }],
  [{ name: "\ud800" }, { field: "name", code: "TEXT_INVALID" }],
  [{ profile: "B.Ed." }, { field: "profile", code: "PROFILE_INVALID" }],
];

test("NDJSON rows are rejected by their members' names", () =>
  withImports(async ({ add }) => {
    const { report } = await add(lines(...rejected.map(([changes]) => ({ ...member, ...changes }))), ndjson);
    expect(report.rejected.map(placeOf)).toEqual(rejected.map(([, issue], n) => ({ line: 1 + n, ...issue })));
  }));

test("an unknown member of NDJSON gets one warning", () =>
  withImports(async ({ add }) => {
    const two = lines({ ...member, lga: 1 }, { ...member, regNo: "TR/2019/LA/2", lga: 1 });
    const { report } = await add(two, { name: "extract.txt" });
    expect(report.warnings).toEqual([{ line: 1, field: "lga", code: "UNKNOWN_COLUMN" }]);
  }));
