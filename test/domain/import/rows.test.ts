import { expect, test } from "bun:test";
import { csv, row, withImports, withoutRegNo } from "../../harness/imports.ts";

test("the message about an unknown column does not repeat a name that may be personal data", () =>
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

test("an NDJSON row may have a number as teacher id, and booleans and null as values", () =>
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

test("an issue of an NDJSON row names the JSON member instead of the column", () =>
  withImports(async ({ add }) => {
    const { report } = await add(lines(...rejected.map(([changes]) => ({ ...member, ...changes }))), ndjson);
    expect(report.rejected.map(withoutRegNo)).toEqual(
      rejected.map(([, issue], n) => ({ line: 1 + n, ...issue })),
    );
  }));

test("an unknown member in several NDJSON rows gets one warning", () =>
  withImports(async ({ add }) => {
    const two = lines({ ...member, lga: 1 }, { ...member, regNo: "TR/2019/LA/2", lga: 1 });
    const { report } = await add(two, { name: "extract.txt" });
    expect(report.warnings).toEqual([{ line: 1, field: "lga", code: "UNKNOWN_COLUMN" }]);
  }));
