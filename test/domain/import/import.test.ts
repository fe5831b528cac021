import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { type Cells, csv, row, rows, withImports, withoutRegNo } from "../../harness/imports.ts";

const noLicense = { license_issue_date: "", license_expiry_date: "" };
const expired = { license_expiry_date: "2025-12-31" };
const revoked = { license_revoked_on: "2026-01-02", license_revoked_reason: "forged" };

test("an import counts inserted, updated, unchanged and rejected rows", () =>
  withImports(async ({ add, count }) => {
    const extract = csv([...rows(3), row(4, { certificate_status: "CLAIMED" }), row(5, { nin: "x" })]);
    const first = await add(extract);
    const expected = {
      ...{ rows: 5, inserted: 4, updated: 0, unchanged: 0 },
      ...{ rejected: 1, warnings: 0, events: 7 },
    };
    expect(first).toMatchObject(expected);
    expect(first.sha256).toBe(new Bun.CryptoHasher("sha256").update(extract).digest("hex"));
    expect(await add(extract)).toMatchObject({ ...expected, inserted: 0, unchanged: 4, events: 0 });
    expect(await count("SELECT count(*) FROM events")).toBe(7);
    expect(await count("SELECT max(version) FROM teachers")).toBe(1);
    const changed = csv([row(1, { name: "Another", nin: "" }), ...rows(3).slice(1)]);
    expect(await add(changed)).toMatchObject({ updated: 1, unchanged: 2, events: 0 });
    expect(await count("SELECT count(*) FROM imports WHERE finished_at IS NOT NULL")).toBe(3);
  }));

test("an extract of 1,201 rows, which is more than one chunk, is imported without duplicates", () =>
  withImports(async ({ add, count }) => {
    const many = Array.from({ length: 1201 }, (_, n) =>
      row(n, { t_id: String(n + 1), nin: String(99_900_000_000 + n), shoe_size: "9" }),
    );
    const counts = { inserted: 1201, events: 2402, warnings: 1 };
    expect(await add(csv(many), { pieceBytes: 5000 })).toMatchObject(counts);
    expect(await add(csv(many.reverse()), { pieceBytes: 5000 })).toMatchObject({
      unchanged: 1201,
      events: 0,
    });
    expect(await count("SELECT count(DISTINCT nin_index) FROM teachers")).toBe(1201);
  }));

/** Some changes of a status and the events that they cause (decision D7.5). `events.test.ts` has all changes. */
const transitions: [string, Cells, Cells, string[]][] = [
  ["inactive to active with VALID", { active: "no" }, {}, ["license.reinstated"]],
  ["inactive to active without", { active: "no", ...noLicense }, noLicense, []],
  ["VALID to EXPIRED", {}, expired, ["license.expired"]],
  ["VALID to REVOKED", {}, revoked, ["license.revoked"]],
  ["CLAIMED to other", { certificate_status: "CLAIMED" }, { certificate_status: "NOT_FOUND" }, []],
  ["both", { ...noLicense, certificate_status: "CLAIMED" }, {}, ["license.verified", "certificate.verified"]],
  ["active to inactive", {}, { active: "no", certificate_status: "CLAIMED" }, ["teacher.deactivated"]],
  ["a name", {}, { name: "Another" }, []],
];

const blank = { active: "yes", license_revoked_on: "", license_revoked_reason: "" };

test("an import creates the events that decision D7.5 lists", () =>
  withImports(async ({ add, count, eventTypes, teachers, find }) => {
    const extract = (at: 1 | 2) =>
      csv(transitions.map((one, n) => row(n, { ...blank, t_id: String(100 * at + n), ...one[at] })));
    await add(extract(1), { baseline: true });
    const made = transitions.flatMap((one) => one[3]).length;
    const { updated, events } = await add(extract(2), { allowChange: true });
    expect({ updated, events }).toEqual({ updated: transitions.length, events: made });
    // The history has every change of a status, even without an event.
    const noted = await count("SELECT count(*) FROM history WHERE license_from IS NOT NULL");
    expect(noted).toBe(transitions.length - 1);
    for (const [n, [name, , , expected]] of transitions.entries()) {
      const regNo = `TR/2019/LA/${n}`;
      expect([name, await eventTypes(regNo)]).toEqual([name, expected]);
      for (const { eventId, eventType, body } of await teachers.events((await find(regNo))?.id ?? 0))
        expect(JSON.parse(body)).toMatchObject({ ...{ eventId, eventType, data: { regNo, tId: 200 + n } } });
    }
  }));

test("an import with --baseline creates no events, and later imports create no events for the same changes", () =>
  withImports(async ({ add, count }) => {
    expect(await add(csv(rows(3)), { baseline: true })).toMatchObject({ inserted: 3, events: 0 });
    expect(await add(csv(rows(3, { state: "Oyo" })))).toMatchObject({ updated: 3, events: 0 });
    expect(await count("SELECT count(*) FROM events")).toBe(0);
    expect(await count("SELECT count(*) FROM teachers WHERE announced_status = 'VALID'")).toBe(3);
  }));

const owner = { t_id: "7", nin: "99900000001" };

test("the first of several rows with the same identifier is accepted, and the others are rejected", () =>
  withImports(async ({ add, find }) => {
    const sharing = [row(2, { t_id: "7" }), row(3, { nin: owner.nin })];
    const all = csv([row(1, owner), row("1 ", owner), ...sharing, row(4), row(5)]);
    const { report, inserted } = await add(all);
    expect(inserted).toBe(3);
    expect(report.rejected.map(withoutRegNo)).toEqual([
      { line: 3, field: "reg_no", code: "DUPLICATE_REG_NO" },
      { line: 4, field: "t_id", code: "DUPLICATE_T_ID" },
      { line: 5, field: "nin", code: "DUPLICATE_NIN" },
    ]);
    expect(await find("TR/2019/LA/2")).toBeNull();
  }));

test("a later row may have the identifier of a rejected row", () =>
  withImports(async ({ add }) => {
    const { report, inserted } = await add(csv([row(1, { ...owner, active: "x" }), row(2, owner), row(1)]));
    expect(inserted).toBe(2);
    expect(report.rejected.map((issue) => issue.code)).toEqual(["BOOLEAN_INVALID"]);
  }));

test.each([
  [{}, 2],
  [{ baseline: true }, 0],
])("a dry run with %j returns the counts of the import, and changes nothing", (options, events) =>
  withImports(async ({ add, count }) => {
    await add(csv(rows(2)));
    const extract = csv([row(1), row(2, { state: "Oyo" }), row(3), row(4, { nin: "x" })]);
    const { dryRun, report: _dry, ...counts } = await add(extract, { ...options, dryRun: true });
    expect(await count("SELECT count(*) FROM teachers")).toBe(2);
    const { report: _real, ...real } = await add(extract, options);
    expect({ dryRun, ...counts }).toEqual({ ...real, dryRun: true });
    expect(real.events).toBe(events);
  }),
);

test("an import leaves no temporary file in the database's folder", () =>
  withImports(async ({ add, folder, imports }) => {
    const staging = await imports.openStaging();
    expect(readdirSync(folder).filter((name) => name.startsWith("import-"))).toEqual([]);
    staging.close();
    await add(csv(rows(3)));
    expect(readdirSync(folder).filter((name) => name.startsWith("import-"))).toEqual([]);
  }));
