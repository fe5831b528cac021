import { expect, test } from "bun:test";
import type { TvsError } from "../../../src/domain/errors.ts";
import { parseMapping } from "../../../src/domain/import/mapping.ts";
import { csv, row, rows, type TestImports, withImports, withoutRegNo } from "../../harness/imports.ts";
import { catchError } from "../../harness/rejection.ts";

const words = { REVOKED: "REVOKED", "Struck off": "REVOKED", Good: "VALID", Lapsed: "EXPIRED" };
const mapped = (more: object = {}) => ({
  reading: {
    mapping: parseMapping(
      JSON.stringify({ columns: { Standing: "license_status" }, values: { license_status: words }, ...more }),
      "m",
    ),
  },
});
const allowed = { allowChange: true };
const revocation = async ({ find }: TestImports, number: number) => {
  const { licenseRevokedOn, licenseRevokedReason, licenseRevokedBy } =
    (await find(`TR/2019/LA/${number}`)) ?? {};
  return [licenseRevokedOn, licenseRevokedReason, licenseRevokedBy];
};
const none = [null, null, null];

test("license_status REVOKED revokes the licence as of the day of the import, and importing the file again changes nothing", () =>
  withImports(async (world) => {
    const file = csv([row(1, { license_status: "REVOKED" }), row(2, { license_status: "VALID" })]);
    const first = await world.add(file);
    expect(first).toMatchObject({ inserted: 2, warnings: 0 });
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
    expect(await revocation(world, 2)).toEqual(none);
    world.clock.add(3 * 86_400_000);
    expect(await world.add(file)).toMatchObject({ unchanged: 2, updated: 0, events: 0, warnings: 0 });
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
  }));

test("license_status REVOKED revokes the licence as of the current day in the service's time zone", () =>
  withImports(async (world) => {
    world.clock.add(11.5 * 3_600_000);
    await world.add(csv([row(1, { license_status: "revoked" })]));
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
    world.clock.add(3_600_000);
    await world.add(csv([row(2, { license_status: " Revoked " })]), allowed);
    expect(await revocation(world, 2)).toEqual(["2026-03-11", "extract", "extract"]);
  }));

test("a status that the mapping translates to REVOKED revokes the licence, and a status without a translation rejects its row", () =>
  withImports(async (world) => {
    const standing = (...given: string[]) => csv(given.map((one, n) => row(n + 1, { Standing: one })));
    const result = await world.add(standing("Struck off", "Good", "Gone", "LAPSED"), mapped());
    expect(result.report.rejected.map(withoutRegNo)).toEqual([
      { line: 4, field: "license_status", code: "LICENSE_STATUS_INVALID" },
    ]);
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
    expect(result.report.codes.LICENSE_STATUS_INVALID).toBe(
      "license_status holds REVOKED, EXPIRED, NONE, VALID, or as the mapping says REVOKED, Struck off, Good, Lapsed",
    );
  }));

const mixed = (name: string) =>
  csv(["ACTIVE", "ACTIVE", "STRUCK OFF"].map((word, n) => row(n, { [name]: word })));
const personal = ["12345678901", "ada@example.org", "08031234567"];
const member = {
  ...{ regNo: "TR/2019/LA/1", name: "Ada Obi", source: "legacy", certificateStatus: "VERIFIED" },
  licenseExpiryDate: "2090-02-28",
};
const lineOf = (members: object) => `${JSON.stringify({ ...member, ...members })}\n`;
const counts =
  "looks like the status of a licence, and nothing says how it is read: ACTIVE (2 rows), STRUCK OFF (1 row)";
// biome-ignore format: a table reads better in rows
test.each<[what: string, file: string, name: string, said: string]>([
  ["the column Licence Status", mixed("Licence Status"), "a.csv", `the column Licence Status ${counts}`],
  ["the column Remarks", mixed("Remarks"), "a.csv", `the column Remarks ${counts}`],
  ["license_status with an unknown word", csv([row(1, { license_status: "STRUCK OFF" }), row(2, { license_status: "VALID" })]), "a.csv", "the column license_status holds words that are none of REVOKED, EXPIRED, NONE, VALID: STRUCK OFF (1 row)"],
  ["a column with personal data", csv(["Revoked", ...personal].map((one, n) => row(n, { Remarks: one }))), "a.csv", "Revoked (1 row), other values (3 rows)"],
  ["a member of an NDJSON row", lineOf({ remarks: "Cancelled" }), "a.ndjson", "the member remarks "],
  ["a nested member of an NDJSON row", lineOf({ licence: { state: "Barred" } }), "a.ndjson", "the member state "],
  ["an array in an NDJSON row", lineOf({ history: ["issued", "withdrawn"] }), "a.ndjson", "the member history "],
])("a file is refused if nothing reads the licence statuses of %s", (_what, file, name, said) =>
  withImports(async ({ add, count }) => {
    const { code, message } = (await catchError(add(file, { name }))) as TvsError;
    expect(code).toBe("INPUT_UNREADABLE");
    expect(message).toContain(said);
    for (const secret of personal) expect(message).not.toContain(secret);
    expect(await count("SELECT (SELECT count(*) FROM teachers) + (SELECT count(*) FROM imports)")).toBe(0);
  }),
);

test("a file with an unread column of licence statuses is refused, unless a mapping ignores the column", () =>
  withImports(async ({ add }) => {
    const reading = (mapping: object) => ({
      reading: { mapping: parseMapping(JSON.stringify(mapping), "m") },
    });
    const other = reading({ ignore: ["Other"], columns: { name: "name" } });
    for (const options of [{ dryRun: true }, { baseline: true }, allowed, other])
      expect(await catchError(add(mixed("Remarks"), options))).toMatchObject({ code: "INPUT_UNREADABLE" });
    expect(await add(mixed("Remarks"), reading({ ignore: ["Remarks"] }))).toMatchObject({ inserted: 3 });
  }));

test("the first import of a register warns if it revokes nobody or everybody", () =>
  withImports(async ({ add }) => {
    expect(await add(csv(rows(2)), { dryRun: true })).toMatchObject({ firstRevokes: "nobody" });
    const revoked = { license_revoked_on: "2025-01-02" };
    expect(await add(csv(rows(2, revoked)), { dryRun: true })).toMatchObject({ firstRevokes: "everybody" });
    const some = csv([row(1, revoked), row(2)]);
    expect((await add(some, { dryRun: true })).firstRevokes).toBeUndefined();
    expect(await add(csv(rows(2)))).toMatchObject({ firstRevokes: "nobody" });
    expect((await add(csv(rows(2)))).firstRevokes).toBeUndefined();
  }));
