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
    const { rows, inserted, rejected, warnings } = await add(committed, {
      pieceBytes: 65_536,
      baseline: true,
    });
    expect({ rejected, warnings }).toEqual({ rejected: 0, warnings: 0 });
    expect(inserted).toBe(rows);
    const regNos = (await driver.query("SELECT reg_no FROM teachers")).map((one) => String(one.reg_no));
    const teachers = await store.findMany(regNos);
    const seen = (of: (teacher: (typeof teachers)[number]) => string | boolean) => new Set(teachers.map(of));
    expect(seen((one) => licenseStatusOn(one, "2026-03-10"))).toEqual(
      new Set(["VALID", "EXPIRED", "REVOKED", "NOT_FOUND"]),
    );
    expect(seen((one) => one.certificateStatus)).toEqual(
      new Set(["VERIFIED", "CLAIMED", "NOT_FOUND", "LEGACY_RECORD"]),
    );
    expect(seen((one) => one.source)).toEqual(new Set(["new_system", "legacy"]));
    expect(seen((one) => one.active)).toEqual(new Set([true, false]));
  }));
