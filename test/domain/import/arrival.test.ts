import { describe, expect, test } from "bun:test";
import { type Cells, csv, row, rows, withImports } from "../../harness/imports.ts";

const renamed = (from: string, to: string) => (text: string) => text.replace(from, to);
const without = (name: string) => (cells: Cells) => {
  const { [name]: _gone, ...rest } = cells;
  return rest;
};
const ndjson = { name: "extract.ndjson" };
const member = {
  regNo: "TR/2019/LA/1",
  name: "Adaeze Okafor",
  source: "new_system",
  certificateStatus: "VERIFIED",
  licenseExpiryDate: "2090-02-28",
};
const lines = (...objects: object[]) => objects.map((one) => `${JSON.stringify(one)}\n`).join("");

describe("a name that is nearly a known one", () => {
  test.each([
    ["license_expiry_date", "license_expiry_dat", "license_expiry_date"],
    ["license_expiry_date", "lisense_expiry_dates", "license_expiry_date"],
    ["state", "stat", "state"],
  ])("stops the import of %s written as %s", async (known, written, meant) => {
    await withImports(async ({ add, count }) => {
      const extract = renamed(known, written)(csv([row(1, { t_id: "1", state: "Lagos" })]));
      const stopped = await add(extract);
      expect(stopped).toMatchObject({
        stopped: { by: "brake", losses: [], missing: [{ kind: "misspelled", column: written, meant }] },
        unknownColumns: [written],
        inserted: 0,
      });
      expect(await count("SELECT (SELECT count(*) FROM teachers) + (SELECT count(*) FROM imports)")).toBe(0);
      expect(await add(extract, { allowChange: true })).toMatchObject({ inserted: 1 });
    });
  });

  test.each([
    ["another short word", { pin: "1" }],
    ["a second column beside the known one", { phone: "", phone2: "" }],
    ["another word beside a known one", { state: "", status: "" }],
    ["a name of its own", { lga: "Ikeja", mobile_network: "x" }],
  ])("is not %s", async (_name, more) => {
    await withImports(async ({ add }) => {
      const { stopped, inserted } = await add(csv([row(1, more)]));
      expect({ stopped, inserted }).toEqual({ stopped: undefined, inserted: 1 });
    });
  });

  test("is not the other spelling of licence, which is the same name", () =>
    withImports(async ({ add, find }) => {
      const british = csv([row(1)]).replaceAll("license_", "licence_");
      const result = await add(british);
      expect(result).toMatchObject({ inserted: 1, warnings: 0 });
      expect(result.unknownColumns).toBeUndefined();
      expect((await find("TR/2019/LA/1"))?.licenseExpiryDate).toBe("2090-02-28");
      expect(await add(csv([row(1)]))).toMatchObject({ unchanged: 1 });
    }));

  test("is found among the members of any row, and both spellings are one member", () =>
    withImports(async ({ add, find }) => {
      const { licenseExpiryDate, ...rest } = member;
      const british = lines(member, { ...rest, regNo: "TR/2019/LA/2", licenceExpiryDate: licenseExpiryDate });
      expect(await add(british, ndjson)).toMatchObject({ inserted: 2, warnings: 0 });
      expect((await find("TR/2019/LA/2"))?.licenseExpiryDate).toBe("2090-02-28");
      const twice = await add(lines(member, { ...member, licenceExpiryDate: "2090-01-01" }), ndjson);
      expect(twice.report.rejected).toMatchObject([{ line: 2, code: "DUPLICATE_MEMBER" }]);
      const late = await add(lines(member, { ...rest, ninVerifed: true }), ndjson);
      expect(late.stopped).toMatchObject({
        missing: [{ kind: "misspelled", column: "ninVerifed", meant: "ninVerified" }],
      });
    }));

  test("is found behind fifty members that are not known", () =>
    withImports(async ({ add }) => {
      const others = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`remark${n}`, n]));
      const { stopped } = await add(lines({ ...member, ...others, categry: "" }), ndjson);
      expect(stopped).toMatchObject({ missing: [{ column: "categry", meant: "category" }] });
    }));
});

describe("what the last applied import had", () => {
  test("a column that is gone stops the next, and is remembered as it was", () =>
    withImports(async ({ add, find, count }) => {
      const full = rows(2, { state: "Lagos" });
      await add(csv(full));
      const lacking = csv(full.map(without("license_expiry_date")));
      const stopped = {
        by: "brake",
        losses: [],
        missing: [{ kind: "column", column: "license_expiry_date" }],
      };
      for (const options of [{}, { dryRun: true }, { baseline: true }])
        expect(await add(lacking, options)).toMatchObject({ stopped });
      expect(await count("SELECT count(*) FROM imports")).toBe(1);
      expect(await add(csv(full))).toMatchObject({ unchanged: 2 });
      expect(await add(lacking, { allowChange: true })).toMatchObject({ unchanged: 2 });
      expect((await find("TR/2019/LA/1"))?.licenseExpiryDate).toBe("2090-02-28");
      expect(await add(lacking)).toMatchObject({ unchanged: 2 });
    }));

  test("a member that no row carries any more stops the next", () =>
    withImports(async ({ add }) => {
      const revoked = { ...member, regNo: "TR/2019/LA/2", licenseRevokedOn: "2026-01-02" };
      await add(lines(member, revoked), ndjson);
      expect(await add(lines(member, { ...member, regNo: "TR/2019/LA/2" }), ndjson)).toMatchObject({
        stopped: { missing: [{ kind: "column", column: "licenseRevokedOn" }] },
      });
      expect(await add(lines(revoked, member), ndjson)).toMatchObject({ unchanged: 2 });
    }));

  test("is asked of the one before when an import was refused, rejected whole or made of a sandbox's teachers", () =>
    withImports(async ({ add }) => {
      await add(csv(rows(4, { state: "Oyo" })));
      await add(csv([row(1)]));
      await add(csv(rows(4, { state: "Oyo", nin: "x" })));
      await add(csv([row(9)]), { isSample: true, allowChange: true });
      expect((await add(csv(rows(4)))).stopped).toMatchObject({
        missing: [{ kind: "column", column: "state" }],
      });
    }));

  test("is not known of an import of an earlier release, but for its rows", () =>
    withImports(async ({ add, driver }) => {
      await add(csv(rows(4, { state: "Oyo" })));
      await driver.query("UPDATE imports SET fields = NULL");
      expect((await add(csv([row(1)]))).stopped).toMatchObject({ missing: [{ kind: "rows" }] });
      expect(await add(csv(rows(4).map(without("license_expiry_date"))))).toMatchObject({ unchanged: 4 });
      expect((await add(csv(rows(4, { category: "x" })))).stopped).toBeUndefined();
    }));
});

describe("rows and licences that never arrived", () => {
  test("a header without rows is refused, whatever was before", () =>
    withImports(async ({ add, count }) => {
      const header = csv([row(1)]).split("\n")[0] ?? "";
      const none = { by: "brake", missing: [{ kind: "rows", rows: 0 }] };
      expect(await add(header)).toMatchObject({ rows: 0, stopped: none });
      await add(csv(rows(2)));
      expect(await add(header)).toMatchObject({ stopped: none });
      expect(await count("SELECT count(*) FROM imports")).toBe(1);
      expect(await add(header, { allowChange: true })).toMatchObject({ rows: 0, rejected: 0 });
      // It brought nothing, so the next is compared with the one before.
      expect(await add(csv([row(1)]))).toMatchObject({ unchanged: 1 });
    }));

  test("fewer than half of the last import's rows are refused, and half is not", () =>
    withImports(async ({ add }) => {
      await add(csv(rows(10)));
      expect((await add(csv(rows(4)))).stopped).toMatchObject({
        missing: [{ kind: "rows", rows: 4, before: 10 }],
      });
      expect(await add(csv(rows(5)))).toMatchObject({ unchanged: 5 });
    }));

  test("a first load without the licences' column is refused", () =>
    withImports(async ({ add }) => {
      const unlicensed = [row(1)].map(without("license_expiry_date")).map(without("license_issue_date"));
      const stopped = { missing: [{ kind: "license", column: "license_expiry_date" }] };
      expect(await add(csv(unlicensed), { baseline: true })).toMatchObject({ stopped });
      expect(await add(csv(unlicensed), { allowChange: true })).toMatchObject({ inserted: 1 });
      expect(await add(csv(unlicensed))).toMatchObject({ unchanged: 1 });
      const { licenseExpiryDate: _none, ...rest } = member;
      await withImports(async (other) => {
        expect((await other.add(lines(rest), ndjson)).stopped).toMatchObject({
          missing: [{ kind: "license", column: "licenseExpiryDate" }],
        });
      });
    }));

  test("is told together with what would be lost, because one option allows both", () =>
    withImports(async ({ add }) => {
      await add(csv(rows(10, { state: "Oyo" })));
      const { stopped } = await add(csv([row(1, { license_expiry_date: "2025-12-31" })]));
      expect(stopped).toMatchObject({
        losses: [{ kind: "validLicenses", lost: 1, of: 10 }],
        missing: [
          { kind: "column", column: "state" },
          { kind: "rows", rows: 1 },
        ],
      });
    }));
});
