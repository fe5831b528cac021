import { expect, test } from "bun:test";
import { parseMapping } from "../../../src/domain/import/mapping.ts";
import { type Cells, csv, placeOf, row, rows, type TestImports, withImports } from "../../harness/imports.ts";
import { rejection } from "../../harness/rejection.ts";

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
const warned = ({ report }: Awaited<ReturnType<TestImports["add"]>>) =>
  report.warnings.map(({ line, field, code }) => [line, field, code]);
const none = [null, null, null];

test("license_status REVOKED revokes from the day of the import, and the same file later changes nothing", () =>
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

test("license_status REVOKED revokes from the day in the service's time zone", () =>
  withImports(async (world) => {
    world.clock.add(11.5 * 3_600_000);
    await world.add(csv([row(1, { license_status: "revoked" })]));
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
    world.clock.add(3_600_000);
    await world.add(csv([row(2, { license_status: " Revoked " })]), allowed);
    expect(await revocation(world, 2)).toEqual(["2026-03-11", "extract", "extract"]);
  }));

test("license_status REVOKED keeps the row's own day and reason", () =>
  withImports(async (world) => {
    const revoked = { license_status: "REVOKED", license_revoked_on: "2025-02-03" };
    const cells: Cells[] = [
      row(1, { ...revoked, license_revoked_reason: "forged" }),
      row(2, { ...revoked, license_revoked_on: "", license_revoked_reason: "" }),
      row(3, { ...revoked, license_revoked_on: "", license_revoked_reason: "theft" }),
    ];
    await world.add(csv(cells));
    expect(await revocation(world, 1)).toEqual(["2025-02-03", "forged", "extract"]);
    expect(await revocation(world, 2)).toEqual(["2026-03-10", "extract", "extract"]);
    expect(await revocation(world, 3)).toEqual(["2026-03-10", "theft", "extract"]);
    world.clock.add(86_400_000);
    expect(await world.add(csv(cells))).toMatchObject({ unchanged: 3, updated: 0 });
  }));

test("the dates count, and license_status only gets a warning when it differs", () =>
  withImports(async (world) => {
    const past = { license_expiry_date: "2025-12-31" };
    const never = { license_issue_date: "", license_expiry_date: "" };
    const result = await world.add(
      csv([
        row(1, { license_status: "VALID" }),
        row(2, { license_status: "EXPIRED", ...past }),
        row(3, { license_status: "none", ...never }),
        row(4, { license_status: "", ...past }),
        row(5, { license_status: "VALID", ...past }),
        row(6, { license_status: "EXPIRED" }),
        row(7, { license_status: "NONE" }),
        row(8, { license_status: "VALID", ...never }),
        row(9, { license_status: "VALID", license_revoked_on: "2025-02-03" }),
      ]),
    );
    expect(warned(result)).toEqual(
      [6, 7, 8, 9, 10].map((line) => [line, "license_status", "STATUS_DIFFERS"]),
    );
    expect(await revocation(world, 9)).toEqual(["2025-02-03", null, "extract"]);
  }));

test("another license_status takes back an extract's revocation with a warning, and an empty one does not", () =>
  withImports(async (world) => {
    await world.add(csv([row(1, { license_status: "REVOKED" })]));
    await world.add(csv([row(1, { license_status: "" })]));
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
    const back = await world.add(csv([row(1, { license_status: "VALID" })]), allowed);
    expect(warned(back)).toEqual([[2, "license_revoked_on", "REVOCATION_CLEARED"]]);
    expect(await revocation(world, 1)).toEqual(none);
  }));

test("no license_status takes back the operator's revocation", () =>
  withImports(async (world) => {
    await world.add(csv([row(1)]));
    await world.driver.query(
      "UPDATE teachers SET license_revoked_on = '2026-01-02', license_revoked_reason = 'theft', license_revoked_by = 'operator'",
    );
    const result = await world.add(csv([row(1, { license_status: "VALID" })]));
    expect(warned(result)).toEqual([[2, "license_revoked_on", "REVOCATION_KEPT"]]);
    expect(await world.add(csv([row(1, { license_status: "REVOKED" })]))).toMatchObject({
      unchanged: 1,
      warnings: 0,
    });
    expect(await revocation(world, 1)).toEqual(["2026-01-02", "theft", "operator"]);
  }));

test("a mapped word revokes, and an unmapped word rejects its row", () =>
  withImports(async (world) => {
    const standing = (...given: string[]) => csv(given.map((one, n) => row(n + 1, { Standing: one })));
    const result = await world.add(standing("Struck off", "Good", "Gone", "LAPSED"), mapped());
    expect(result.report.rejected.map(placeOf)).toEqual([
      { line: 4, field: "license_status", code: "LICENSE_STATUS_INVALID" },
    ]);
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
    expect(result.report.codes.LICENSE_STATUS_INVALID).toBe(
      "license_status holds REVOKED, EXPIRED, NONE, VALID, or as the mapping says REVOKED, Struck off, Good, Lapsed",
    );
  }));

async function refusal(file: string, options = {}): Promise<string> {
  let message = "";
  await withImports(async ({ add, count }) => {
    const error = await rejection(add(file, options));
    expect(error).toMatchObject({ code: "INPUT_UNREADABLE" });
    expect(await count("SELECT count(*) FROM teachers")).toBe(0);
    expect(await count("SELECT count(*) FROM imports")).toBe(0);
    message = (error as Error).message;
  });
  return message;
}
const mixed = (name: string) =>
  csv(["ACTIVE", "ACTIVE", "STRUCK OFF"].map((word, n) => row(n, { [name]: word })));

test.each(["Licence Status", "Remarks"])("an unread status column %s refuses the file", (name) =>
  withImports(async ({ add, count }) => {
    const error = (await rejection(add(mixed(name)))) as Error;
    expect(error).toMatchObject({ code: "INPUT_UNREADABLE" });
    expect(error.message).toContain(`the column ${name} looks like the status of a licence`);
    expect(error.message).toContain("ACTIVE (2 rows), STRUCK OFF (1 row)");
    expect(error.message).toContain("tvs teachers map FILE");
    expect(await count("SELECT count(*) FROM teachers")).toBe(0);
    expect(await count("SELECT count(*) FROM imports")).toBe(0);
  }),
);

test("an unread status column is refused with every option, but not when a mapping ignores it", () =>
  withImports(async ({ add }) => {
    for (const options of [{ dryRun: true }, { baseline: true }, allowed])
      expect(await rejection(add(mixed("Remarks"), options))).toMatchObject({ code: "INPUT_UNREADABLE" });
    const mapping = parseMapping(JSON.stringify({ ignore: ["Remarks"] }), "m");
    expect(await add(mixed("Remarks"), { reading: { mapping } })).toMatchObject({ inserted: 3 });
    const other = parseMapping(JSON.stringify({ ignore: ["Other"], columns: { name: "name" } }), "m");
    expect(await rejection(add(mixed("Remarks"), { reading: { mapping: other } }))).toMatchObject({
      code: "INPUT_UNREADABLE",
    });
  }));

test("an unknown word in license_status refuses the file", async () => {
  const message = await refusal(
    csv([row(1, { license_status: "STRUCK OFF" }), row(2, { license_status: "VALID" })]),
  );
  expect(message).toContain("license_status holds words that are none of REVOKED, EXPIRED, NONE, VALID");
  expect(message).toContain("STRUCK OFF (1 row)");
});

test("the refusal of a status column shows no personal data", async () => {
  const cells = ["Revoked", "12345678901", "ada@example.org", "08031234567"];
  const message = await refusal(csv(cells.map((one, n) => row(n, { Remarks: one }))));
  expect(message).toContain("Revoked (1 row), other values (3 rows)");
  for (const secret of cells.slice(1)) expect(message).not.toContain(secret);
});

const member = {
  ...{ regNo: "TR/2019/LA/1", name: "Ada Obi", source: "legacy", certificateStatus: "VERIFIED" },
  licenseExpiryDate: "2090-02-28",
};
test.each<[string, object]>([
  ["remarks", { remarks: "Cancelled" }],
  ["state", { licence: { state: "Barred" } }],
  ["history", { history: ["issued", "withdrawn"] }],
])("an unread status member %s of NDJSON refuses the file", async (name, members) => {
  const message = await refusal(`${JSON.stringify({ ...member, ...members })}\n`, { name: "e.ndjson" });
  expect(message).toContain(`the member ${name} `);
  expect(message).toContain("name it licenseStatus");
});

test("the member licenceStatus of NDJSON is read", () =>
  withImports(async (world) => {
    await world.add(`${JSON.stringify({ ...member, licenceStatus: "revoked" })}\n`, { name: "e.ndjson" });
    expect(await revocation(world, 1)).toEqual(["2026-03-10", "extract", "extract"]);
  }));

test.each([
  ["1949-12-31", "REVOCATION_TOO_OLD"],
  ["2019-02-28", "REVOKED_BEFORE_ISSUE"],
])("a revocation on %s rejects its row with %s", (day, code) =>
  withImports(async ({ add, find }) => {
    const { report } = await add(csv([row(1, { license_revoked_on: day }), row(2)]));
    expect(report.rejected.map(placeOf)).toEqual([{ line: 2, field: "license_revoked_on", code }]);
    expect(await find("TR/2019/LA/1")).toBeNull();
  }),
);

test("a revocation on the first day of the licence, or without an issue date, is read", () =>
  withImports(async ({ add }) => {
    const result = await add(
      csv([
        row(1, { license_revoked_on: "2019-03-01" }),
        row(2, { license_revoked_on: "1950-01-01", license_issue_date: "" }),
      ]),
    );
    expect(result).toMatchObject({ inserted: 2, rejected: 0 });
  }));

test("a first extract says when it revokes nobody or everybody", () =>
  withImports(async ({ add }) => {
    expect(await add(csv(rows(2)), { dryRun: true })).toMatchObject({ firstRevokes: "nobody" });
    const revoked = { license_revoked_on: "2025-01-02" };
    expect(await add(csv(rows(2, revoked)), { dryRun: true })).toMatchObject({ firstRevokes: "everybody" });
    const some = csv([row(1, revoked), row(2)]);
    expect((await add(some, { dryRun: true })).firstRevokes).toBeUndefined();
    expect(await add(csv(rows(2)))).toMatchObject({ firstRevokes: "nobody" });
    expect((await add(csv(rows(2)))).firstRevokes).toBeUndefined();
  }));
