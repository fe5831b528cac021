import { expect, test } from "bun:test";
import { csv, row, rows, withImports, withoutRegNo } from "../../harness/imports.ts";

const unreadable = { email: "x" };

test("the import report is in the order of the file, and counts a rejected row once, without the row's warnings", () =>
  withImports(async ({ add }) => {
    const extract = csv([
      row(1, { shoe_size: "9", ...unreadable }),
      row(2, { nin: "x", ...unreadable }),
      row(1),
      row(3, { nin: "x", t_id: "x" }),
      row(4, { license_expiry_date: "2001-01-01", ...unreadable }),
    ]);
    const { report, rejected, warnings, inserted } = await add(extract, { dryRun: true });
    expect([inserted, rejected, warnings]).toEqual([1, 4, 2]);
    expect(report.rejected.map(withoutRegNo)).toEqual([
      { line: 3, field: "nin", code: "NIN_INVALID" },
      { line: 4, field: "reg_no", code: "DUPLICATE_REG_NO" },
      { line: 5, field: "t_id", code: "T_ID_INVALID" },
      { line: 5, field: "nin", code: "NIN_INVALID" },
      { line: 6, field: "license_expiry_date", code: "EXPIRY_BEFORE_ISSUE" },
    ]);
    expect(report.warnings).toEqual([
      { line: 1, field: "shoe_size", code: "UNKNOWN_COLUMN" },
      { line: 2, field: "email", code: "EMAIL_INVALID" },
    ]);
  }));

test("a last line of totals gets a warning and is not imported", () =>
  withImports(async ({ add }) => {
    const { report, rejected, warnings } = await add(`${csv(rows(2))}Total,2\n`);
    expect([rejected, warnings]).toEqual([0, 1]);
    expect(report.warnings).toEqual([{ line: 4, field: null, code: "TOTALS_LINE" }]);
  }));

test("a row that gives a teacher another teacher's identifier is rejected", () =>
  withImports(async ({ add }) => {
    const [nin, other] = ["99900000001", "99900000002"];
    await add(csv([row(1, { nin, t_id: "7" }), row(2, { nin: other, t_id: "8" })]));
    const asked = csv([row(2, { nin, t_id: "7" }), row(1, { nin, t_id: "7", name: "Another" })]);
    const { report, rejected, updated } = await add(asked, { dryRun: true });
    expect([rejected, updated]).toEqual([1, 1]);
    expect(report.rejected.map(withoutRegNo)).toEqual([
      { line: 2, field: "t_id", code: "DUPLICATE_T_ID" },
      { line: 2, field: "nin", code: "DUPLICATE_NIN" },
    ]);
  }));

test("the brake counts losses of licences, certificates and revocations separately", () =>
  withImports(async ({ add }) => {
    const gone = { license_expiry_date: "2025-12-31" };
    const revoked = { license_revoked_on: "2026-01-02", license_revoked_reason: "forged" };
    const lifted = { license_revoked_on: "", license_revoked_reason: "" };
    await add(csv([...rows(2, lifted), row(3, { ...lifted, ...gone }), row(4, revoked)]));
    const notFound = { certificate_status: "NOT_FOUND" };
    const after = csv([
      row(1, { ...lifted, ...gone, ...notFound }),
      row(2, lifted),
      row(3, { ...lifted, ...gone, state: "Oyo" }),
      row(4, lifted),
    ]);
    const { stopped } = await add(after);
    expect(stopped).toMatchObject({
      by: "brake",
      losses: [
        { kind: "validLicenses", lost: 1, of: 2 },
        { kind: "verifiedCertificates", lost: 1, of: 4 },
        { kind: "revocations", lost: 1, of: 1 },
      ],
    });
  }));
