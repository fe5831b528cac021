import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { sampleExtract } from "../../data/make-sample.ts";
import { licenseStatusOn } from "../../src/domain/teachers/teachers.ts";
import { withImports } from "../harness/imports.ts";

const committed = readFileSync(new URL("../../data/sample-registry.csv", import.meta.url), "utf8");

test("the sample extract equals the output of the script that makes it, byte for byte", () => {
  expect(sampleExtract() === committed).toBe(true);
});

test("the sample extract is imported without a warning, and has teachers in every status", () =>
  withImports(async ({ add, teachers: store, driver }) => {
    const result = await add(committed, { pieceBytes: 65_536, baseline: true });
    expect(result).toMatchObject({ rejected: 0, warnings: 0, inserted: result.rows });
    const regNos = (await driver.query("SELECT reg_no FROM teachers")).map((one) => String(one.reg_no));
    const teachers = await store.findMany(regNos);
    type Teacher = (typeof teachers)[number];
    const seen = (of: (teacher: Teacher) => unknown) =>
      [...new Set(teachers.map((one) => `${of(one)}`))].sort();
    const licenses = ["EXPIRED", "NOT_FOUND", "REVOKED", "VALID"];
    expect(seen((one) => licenseStatusOn(one, "2026-03-10"))).toEqual(licenses);
    const certificates = ["CLAIMED", "LEGACY_RECORD", "NOT_FOUND", "VERIFIED"];
    expect(seen((one) => one.certificateStatus)).toEqual(certificates);
    expect(seen(({ source }) => source)).toEqual(["legacy", "new_system"]);
    expect(seen(({ active }) => active)).toEqual(["false", "true"]);
  }));
