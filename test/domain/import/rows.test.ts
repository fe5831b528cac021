import { describe, expect, test } from "bun:test";
import { type Cells, csv, placeOf, row, withImports } from "../../harness/imports.ts";

/** A fault in one cell: the column, what stands there, and the code. */
// biome-ignore format: a table reads better in rows
const rejections: [string, string, string][] = [
  ["reg_no", "TR/2019/LA", "REG_NO_INVALID"],
  ["reg_no", "#REF!", "SPREADSHEET_DAMAGE"],
  ["t_id", "12a", "T_ID_INVALID"],
  ["t_id", "1.2E+05", "SPREADSHEET_DAMAGE"],
  ["name", "", "NAME_MISSING"],
  ["name", "Ada \u202eibO", "TEXT_INVALID"],
  ["name", "A".repeat(201), "TEXT_TOO_LONG"],
  ["name", "ada@example.org", "PERSONAL_DATA"],
  ["license_revoked_reason", "see file of 08031234567", "PERSONAL_DATA"],
  ["nin", "1234567890A", "NIN_INVALID"],
  ["nin_verified", "maybe", "BOOLEAN_INVALID"],
  ["active", "2", "BOOLEAN_INVALID"],
  ["source", "old", "SOURCE_INVALID"],
  ["certificate_status", "checked", "CERTIFICATE_STATUS_INVALID"],
  ["license_issue_date", "31/12/2025", "DATE_INVALID"],
  ["license_expiry_date", "########", "SPREADSHEET_DAMAGE"],
  ["license_expiry_date", "2019-02-28", "EXPIRY_BEFORE_ISSUE"],
  ["license_revoked_on", "2025-1-1", "DATE_INVALID"],
];

test("a cell that rejects its row is told by its line, column and code, and the rows beside it are taken", () =>
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

describe("a cell that is applied with a warning", () => {
  const warnings: [Cells, string, string][] = [
    [{ email: "no address" }, "email", "EMAIL_INVALID"],

    [{ phone: "2.34803E+12" }, "phone", "PHONE_INVALID"],

    [{ license_revoked_on: "2026-03-11" }, "license_revoked_on", "REVOKED_IN_FUTURE"],
    [{ lga: "Ikeja" }, "lga", "UNKNOWN_COLUMN"],
  ];

  test.each(warnings)("%j", async (changes, field, code) => {
    await withImports(async ({ add, find }) => {
      const result = await add(csv([row(1, changes)]));
      expect(result).toMatchObject({ inserted: 1, rejected: 0, warnings: 1 });
      const line = code === "UNKNOWN_COLUMN" ? 1 : 2;
      expect(result.report.warnings).toEqual([{ line, field, code }]);
      const teacher = await find("TR/2019/LA/1");
      expect(teacher).toMatchObject({ emailIndex: null, phoneIndex: null, photoUrl: null });
    });
  });

  test("unknown columns, each counted once among the warnings and under their code", () =>
    withImports(async ({ add }) => {
      const result = await add(csv([row(1, { lga: "Ikeja", ward: "1" })]));
      expect(result).toMatchObject({ warnings: 2, codes: [{ code: "UNKNOWN_COLUMN", rows: 2 }] });
    }));

  test("what heads a column that is not known is not repeated when it may be somebody's data", () =>
    withImports(async ({ add }) => {
      const { report } = await add(csv([row(1, { "99912345678": "", "Ada@example.org": "" })]));
      expect(report.warnings.map((issue) => issue.field)).toEqual(["column 7", "column 8"]);
    }));
});

test("an empty cell of a row clears, an absent column leaves", () =>
  withImports(async ({ add, find, blindIndex }) => {
    const all = {
      t_id: "7",
      nin: "99900000001",
      email: "a@example.org",
      phone: "08031234567",
      state: "Oyo",
    };
    const more = {
      category: "A",
      certificate_issue_date: "2018-01-01",
      photo_url: "https://p.example.org/1.jpg",
    };
    await add(csv([row(1, { ...all, ...more, nin_verified: "yes" })]));
    await add(csv([row(1)]), { allowChange: true });
    const kept = await find("TR/2019/LA/1");
    expect(kept).toMatchObject({ tId: 7, state: "Oyo", category: "A", ninVerified: true });
    expect(kept?.ninIndex).toEqual(blindIndex.nin("99900000001"));
    expect(kept?.emailIndex).toEqual(blindIndex.email("A@example.org "));
    expect(kept?.phoneIndex).toEqual(blindIndex.phone("+2348031234567"));
    const empty = Object.fromEntries(
      [...Object.keys(all), ...Object.keys(more), "nin_verified"].map((key) => [key, ""]),
    );
    expect(await add(csv([row(1, empty)]))).toMatchObject({ updated: 1, rejected: 0 });
    expect(await find("TR/2019/LA/1")).toMatchObject({
      ...{ tId: null, ninIndex: null, emailIndex: null, phoneIndex: null, state: null, category: null },
      ...{ certificateIssueDate: null, photoUrl: null, ninVerified: false },
    });
  }));

describe("NDJSON", () => {
  const member = {
    regNo: "TR/2019/LA/1",
    name: "Ada Obi",
    source: "new_system",
    certificateStatus: "VERIFIED",
    licenseExpiryDate: "2090-02-28",
  };
  const lines = (...objects: object[]) => objects.map((one) => `${JSON.stringify(one)}\n`).join("");
  const ndjson = { name: "extract.ndjson" };

  test("takes numbers for teacher ids, booleans and null", () =>
    withImports(async ({ add, find }) => {
      await add(lines({ ...member, tId: 12, active: false, ninVerified: true, state: "Oyo" }), ndjson);
      expect(await find(member.regNo)).toMatchObject({ tId: 12, active: false, ninVerified: true });
      await add(lines({ ...member, tId: null }), { ...ndjson, allowChange: true });
      expect(await find(member.regNo)).toMatchObject({ tId: null, state: "Oyo" });
    }));

  test("keeps, replaces and clears a profile", () =>
    withImports(async ({ add, find }) => {
      const profile = {
        qualifications: [{ title: "B.Ed.", institution: null, year: 2010 }],
        employment: [{ employer: "Model College", role: "Teacher", from: "2011-09", to: null }],
      };
      await add(lines({ ...member, profile: { ...profile, secret: 1 } }), ndjson);
      expect((await find(member.regNo))?.profile).toEqual(profile);
      expect(await add(lines({ ...member, profile }), ndjson)).toMatchObject({ unchanged: 1 });
      expect(await add(lines(member), { ...ndjson, allowChange: true })).toMatchObject({ unchanged: 1 });
      await add(lines({ ...member, profile: {} }), ndjson);
      expect((await find(member.regNo))?.profile).toEqual({ qualifications: [], employment: [] });
      await add(lines({ ...member, profile: null }), ndjson);
      expect((await find(member.regNo))?.profile).toBeNull();
    }));

  const rejected: [object, Issue][] = [
    [{ nin: 12_345_678_901 }, { field: "nin", code: "VALUE_TYPE_INVALID" }],
    [{ state: ["Oyo"] }, { field: "state", code: "VALUE_TYPE_INVALID" }],

    [{ name: "\ud800" }, { field: "name", code: "TEXT_INVALID" }],

    [{ profile: "B.Ed." }, { field: "profile", code: "PROFILE_INVALID" }],
  ];

  test("rejects a row by its member's name", () =>
    withImports(async ({ add }) => {
      const { report } = await add(
        lines(...rejected.map(([changes]) => ({ ...member, ...changes }))),
        ndjson,
      );
      expect(report.rejected.map(placeOf)).toEqual(
        rejected.map(([, issue], n) => ({ line: 1 + n, ...issue })),
      );
    }));

  test.each([
    '"name":"B"',
    '"n\\u0061me":"B"',
    '"profile":{"qualifications":[{"title":"B.Ed.","title":"M.Ed."}]}',
  ])("rejects an object with a member twice: %s", async (second) => {
    await withImports(async ({ add, find }) => {
      const first = '{"regNo":"TR/2019/LA/1","source":"legacy","certificateStatus":"CLAIMED","name":"A"';
      const { report } = await add(`${first},${second}}\n`, { name: "a.ndjson" });
      expect(report.rejected).toEqual([{ line: 1, field: null, code: "DUPLICATE_MEMBER" }]);
      expect(await find("TR/2019/LA/1")).toBeNull();
    });
  });

  test("tells of a member that it does not know, once", () =>
    withImports(async ({ add }) => {
      const two = lines({ ...member, lga: 1 }, { ...member, regNo: "TR/2019/LA/2", lga: 1 });
      const { report } = await add(two, { name: "extract.txt" });
      expect(report.warnings).toEqual([{ line: 1, field: "lga", code: "UNKNOWN_COLUMN" }]);
    }));
});

type Issue = { field: string; code: string };
