import { expect, test } from "bun:test";
import { parseMapping } from "../../../src/domain/import/mapping.ts";
import { csv, row, withImports } from "../../harness/imports.ts";

const mapping = (members: object) => parseMapping(JSON.stringify(members), "m.json");
const header = "Surname,Other Names,Middle,reg_no,source,certificate_status,license_expiry_date\n";
const rest = ",TR/2019/LA/1,legacy,VERIFIED,2090-01-01\n";

const parts = { Surname: "name.2", "Other Names": "name.1", Middle: "Name.3" };

test("the parts of a name are joined in the mapping's order, and a row with only empty parts of the name is rejected", () =>
  withImports(async ({ add, find }) => {
    const reading = { mapping: mapping({ columns: parts, values: { name: { NULL: "" } } }) };
    await add(`${header}Okafor, Ada  Obi ,${rest}`, { reading });
    expect((await find("TR/2019/LA/1"))?.name).toBe("Ada Obi Okafor");
    await add(`${header}Okafor,NULL,Ngozi${rest}`, { reading, allowChange: true });
    expect((await find("TR/2019/LA/1"))?.name).toBe("Okafor Ngozi");
    const { report } = await add(`${header},,${rest}`, { reading });
    expect(report.rejected).toMatchObject([{ line: 2, field: "name", code: "NAME_MISSING" }]);
  }));

test.each<[object, string]>([
  [{ columns: { A: "name.1", B: "name.1" } }, "columns takes two columns of the file for name.1"],
  [
    { columns: { A: "name", B: "name.1" } },
    "columns takes a column of the file for name, and others for its parts",
  ],
  [{ columns: { A: "state.1" } }, "columns names the column state.1"],
  [{ columns: { A: "name.0" } }, "columns names the column name.0"],
  [{ columns: { A: "name.1" }, constants: { name: "x" } }, "constants gives name"],
])("the mapping %j of the parts of a name is refused", (members, message) => {
  expect(() => mapping(members)).toThrow(message);
});

test.each<[object, string]>([
  [{ values: { certificate_status: { Ok: "VERIFED" } } }, "did you mean VERIFIED?"],
  [{ values: { source: { Old: "" } } }, 'values.source has "Old": ""'],
  [{ values: { active: { Gone: "maybe" } } }, "none of true, false"],
  [{ values: { license_status: { Ok: "GOOD" } } }, "none of REVOKED, EXPIRED, NONE, VALID"],
  [{ constants: { source: "portal" } }, 'constants has "source": "portal"'],
  [{ values: { license_expiry_date: { never: "for ever" } } }, "which is no date"],
  [{ constants: { license_expiry_date: "31/12/2090" }, dates: "D/M/YYYY" }, "which is no date"],
])("the refusal of the mapping %j names the wrong entry", (members, message) => {
  expect(() => mapping(members)).toThrow(message);
});

test.each<object>([
  { values: { certificate_status: { Ok: "verified" }, active: { "": "yes", Gone: "" } } },
  {
    values: { license_status: { Active: "Valid", "": "NONE", "?": "" } },
    constants: { source: "New System" },
  },
  {
    values: { license_expiry_date: { never: "", open: "31/12/2090", iso: "2090-01-01" } },
    dates: "D/M/YYYY",
  },
  { values: { name: { NULL: "" }, state: { "?": "Anything" } } },
])("the mapping %j is accepted", (members) => {
  expect(() => mapping(members)).not.toThrow();
});

test("the translations in a mapping's `values` are applied to a date before the date format", () =>
  withImports(async ({ add, find }) => {
    const dates = { license_issue_date: "1/7/2024", license_expiry_date: "30/6/2094" };
    const values = { license_revoked_on: { "00/00/0000": "", today: "9/3/2026" } };
    const reading = { mapping: mapping({ dates: "D/M/YYYY", values }) };
    const days = ["00/00/0000", "2/1/2025", "today"];
    const file = csv(days.map((day, n) => row(n, { ...dates, license_revoked_on: day })));
    expect(await add(file, { reading })).toMatchObject({ inserted: 3, rejected: 0 });
    const revoked = await Promise.all(
      days.map(async (_, n) => (await find(`TR/2019/LA/${n}`))?.licenseRevokedOn),
    );
    expect(revoked).toEqual([null, "2025-01-02", "2026-03-09"]);
  }));

test("the explanation of a wrong date names the mapping's date format", () =>
  withImports(async ({ add }) => {
    const reading = { mapping: mapping({ dates: "DD/MM/YYYY" }) };
    const { report, codes } = await add(csv([row(1, { license_expiry_date: "31/02/2024" })]), { reading });
    const words = "a date is written DD/MM/YYYY, as the mapping says, and must exist";
    expect(report.codes).toEqual({ DATE_INVALID: words });
    expect(codes).toMatchObject([{ code: "DATE_INVALID", meaning: words }]);
  }));
