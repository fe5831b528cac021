import { expect, test } from "bun:test";
import { csv, row, withImports } from "../../harness/imports.ts";

const bad = row(1, { nin: "12" });
const wrongDate = row(2, { license_expiry_date: "31/12/2090" });
const good = row(3, { nin: "" });

test("rejected rows are compared with those of the last import by registration number and error code", () =>
  withImports(async ({ add }) => {
    expect((await add(csv([bad, wrongDate, good]))).sameRejections).toBe(false);
    expect((await add(csv([good, wrongDate, bad]))).sameRejections).toBe(true);
    expect((await add(csv([good, bad]))).sameRejections).toBe(true);
    expect((await add(csv([good]))).sameRejections).toBeUndefined();
    expect((await add(csv([good, bad]))).sameRejections).toBe(false);
  }));

test("rejected rows without a registration number are compared with those of the last import by their content", () =>
  withImports(async ({ add }) => {
    const unnumbered = row(1, { reg_no: "", name: "Ada" });
    await add(csv([unnumbered, good]));
    expect((await add(csv([good, unnumbered]))).sameRejections).toBe(true);
    expect((await add(csv([good, { ...unnumbered, name: "Obi" }]))).sameRejections).toBe(false);
    const cut = "TR/2019/LA/7,Cut\n";
    await add(csv([good]) + cut);
    expect((await add(csv([good]) + cut)).sameRejections).toBe(true);
    expect((await add(`${csv([good])}TR/2019/LA/8,Cut\n`)).sameRejections).toBe(false);
  }));

test("rejected rows are stored only as digests", () =>
  withImports(async ({ add, driver, everything }) => {
    await add(csv([row("SECRET", { nin: "12" }), good]));
    const [{ rejections } = {}] = await driver.query("SELECT rejections FROM imports");
    expect(JSON.parse(String(rejections))).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(everything()).not.toContain("SECRET");
  }));

test("rejected rows are listed by registration number, unless the number may be a NIN", () =>
  withImports(async ({ add }) => {
    const file = csv([
      bad,
      row(2, { reg_no: "TR/99912345678/LA/1", name: "" }),
      row(3, { reg_no: "no number" }),
      row(4, { license_expiry_date: "2019-02-28" }),
      row(5),
      row(5),
    ]);
    const { report, rejectedRows } = await add(file, { listRejected: true });
    const expected = [
      { line: 2, regNo: "TR/2019/LA/1", field: "nin", code: "NIN_INVALID" },
      { line: 3, field: "name", code: "NAME_MISSING" },
      { line: 4, field: "reg_no", code: "REG_NO_INVALID" },
      { line: 5, regNo: "TR/2019/LA/4", field: "license_expiry_date", code: "EXPIRY_BEFORE_ISSUE" },
      { line: 7, regNo: "TR/2019/LA/5", field: "reg_no", code: "DUPLICATE_REG_NO" },
    ];
    expect(report.rejected).toEqual(expected);
    expect(rejectedRows as unknown[]).toEqual(expected);
    expect(report.text).not.toContain("99912345678");
  }));
