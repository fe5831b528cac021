import { describe, expect, test } from "bun:test";
import { createCalendar } from "../../src/domain/clock.ts";
import type { ImportStore } from "../../src/domain/import/store.ts";
import { changeTeacher, type TeacherAction } from "../../src/domain/teachers/changes.ts";
import { type Cells, csv, row, rows, type TestImports, today, withImports } from "../harness/imports.ts";
import { numbers } from "../harness/random.ts";
import { rejection } from "../harness/rejection.ts";

const regNo = "TR/2019/LA/1";
const byBoard = {
  licenseRevokedOn: today,
  licenseRevokedReason: "decision 14",
  licenseRevokedBy: "operator",
};
const empty = { license_revoked_on: "", license_revoked_reason: "" };
const kept = (field = "license_revoked_on") => [{ line: 2, field, code: "REVOCATION_KEPT" }];

function act({ teachers, clock }: TestImports, action: TeacherAction, number: number | string = 1) {
  const key = { by: "regNo", value: `TR/2019/LA/${number}` } as const;
  const dependencies = { teachers, clock, calendar: createCalendar("Africa/Lagos"), actor: "cli:ada" };
  return changeTeacher(dependencies, key, { action, reason: "decision 14" });
}

/** A register of a hundred teachers, of whom the operator has revoked the first. */
function withRevoked(check: (world: TestImports) => Promise<void>): Promise<void> {
  return withImports(async (world) => {
    await world.add(csv(rows(100, empty)), { baseline: true });
    await act(world, "revoke");
    await check(world);
  });
}

describe("a revocation that the operator made by a command", () => {
  test("outlives an extract whose cell is empty; the rest of the row is applied, and the report says so", () =>
    withRevoked(async ({ add, find, eventTypes }) => {
      const result = await add(csv([row(1, { ...empty, state: "Oyo" })]), { allowChange: true });
      expect(result).toMatchObject({ updated: 1, rejected: 0, warnings: 1, events: 0 });
      expect(result.report.warnings).toEqual(kept());
      expect(result.report.codes).toEqual({ REVOCATION_KEPT: expect.stringContaining("--lift-revocations") });
      expect(await find(regNo)).toMatchObject({ ...byBoard, state: "Oyo", announcedStatus: "REVOKED" });
      expect(await eventTypes(regNo)).toEqual(["license.revoked"]);
    }));

  test("makes no update of a row that says nothing else: the same file again changes nothing, and warns again", () =>
    withRevoked(async ({ add, find }) => {
      for (let time = 0; time < 3; time++) {
        const again = await add(csv(rows(100, empty)));
        expect(again).toMatchObject({ updated: 0, unchanged: 100, warnings: 1, events: 0 });
      }
      expect((await find(regNo))?.version).toBe(2);
    }));

  test("is not touched, nor spoken of, by an extract without the column", () =>
    withRevoked(async ({ add, find }) => {
      expect(await add(csv([row(1, { state: "Oyo" })]), { allowChange: true })).toMatchObject({
        updated: 1,
        warnings: 0,
      });
      expect(await find(regNo)).toMatchObject(byBoard);
    }));

  test.each<[string, Cells, string]>([
    ["another date", { license_revoked_on: "2026-01-05", license_revoked_reason: "x" }, "license_revoked_on"],
    [
      "a date to come",
      { license_revoked_on: "2027-01-01", license_revoked_reason: "" },
      "license_revoked_on",
    ],
    ["another reason", { license_revoked_on: today, license_revoked_reason: "x" }, "license_revoked_reason"],
  ])("keeps its date and its reason against %s in the extract", async (_name, cells, field) => {
    await withRevoked(async ({ add, find }) => {
      for (const expected of [0, 0]) {
        const result = await add(csv([row(1, cells)]), { allowChange: true });
        expect(result).toMatchObject({ updated: expected, unchanged: 1, events: 0 });
        expect(result.report.warnings).toEqual(kept(field));
      }
      expect(await find(regNo)).toMatchObject(byBoard);
    });
  });

  test("outlives a baseline as well, and one that releases the brake", () =>
    withRevoked(async ({ add, find }) => {
      const extract = csv([row(1, empty)]);
      expect(await add(extract, { baseline: true, allowChange: true })).toMatchObject({ warnings: 1 });
      expect(await find(regNo)).toMatchObject(byBoard);
    }));

  test("is lifted by --lift-revocations, which the brake counts", () =>
    withRevoked(async ({ add, find, eventTypes }) => {
      const extract = csv([row(1, empty)]);
      expect(await add(extract, { liftRevocations: true })).toMatchObject({
        stopped: { by: "brake", losses: [{ kind: "revocations", lost: 1, of: 1 }] },
      });
      const lifted = await add(extract, { liftRevocations: true, allowChange: true });
      expect(lifted.report.warnings).toEqual([
        { line: 2, field: "license_revoked_on", code: "REVOCATION_CLEARED" },
      ]);
      expect(await find(regNo)).toMatchObject({ licenseRevokedOn: null, licenseRevokedBy: null });
      expect(await eventTypes(regNo)).toEqual(["license.revoked", "license.reinstated"]);
    }));

  test("becomes the extract's with the date that the extract gives it under --lift-revocations", () =>
    withRevoked(async ({ add, find }) => {
      const extract = csv([row(1, { license_revoked_on: "2026-01-05", license_revoked_reason: "x" })]);
      expect(await add(extract, { liftRevocations: true, allowChange: true })).toMatchObject({
        updated: 1,
        warnings: 0,
        events: 0,
      });
      const theirs = {
        licenseRevokedOn: "2026-01-05",
        licenseRevokedReason: "x",
        licenseRevokedBy: "extract",
      };
      expect(await find(regNo)).toMatchObject(theirs);
      expect(await add(extract)).toMatchObject({ unchanged: 1, warnings: 0 });
    }));

  test("is over when the command takes it back", () =>
    withRevoked(async (world) => {
      await act(world, "reinstate");
      expect(await world.find(regNo)).toMatchObject({ licenseRevokedOn: null, licenseRevokedBy: null });
      expect(await world.add(csv([row(1, empty)]), { allowChange: true })).toMatchObject({
        unchanged: 1,
        warnings: 0,
      });
    }));

  test("can be made of one that an extract had made: then the next extract does not lift it", () =>
    withImports(async (world) => {
      const theirs = row(1, { license_revoked_on: "2026-01-05", license_revoked_reason: "x" });
      await world.add(csv([theirs]), { baseline: true });
      expect(await world.find(regNo)).toMatchObject({ licenseRevokedBy: "extract" });
      expect((await act(world, "revoke")).events).toEqual([]);
      const mine = { ...byBoard, licenseRevokedOn: "2026-01-05" };
      expect(await world.find(regNo)).toMatchObject(mine);
      expect((await world.add(csv([row(1, empty)]), { allowChange: true })).report.warnings).toEqual(kept());
      expect(await world.find(regNo)).toMatchObject(mine);
      expect(await rejection(act(world, "revoke"))).toMatchObject({ code: "REFUSED" });
    }));

  test("is not lifted by a run of the same file that was begun with --lift-revocations and goes on without", () =>
    withRevoked(async ({ add, imports, find }) => {
      let commits = 0;
      const killed: ImportStore = {
        ...imports,
        async commit(...args) {
          if (commits++ >= 1) throw new Error("killed");
          return imports.commit(...args);
        },
      };
      const extract = csv([...rows(20, { state: "Oyo" }).slice(1), row(1, { ...empty, state: "Oyo" })]);
      const lifting = { liftRevocations: true, allowChange: true, maxChunkRows: 5 };
      expect(await rejection(add(extract, { ...lifting, through: killed }))).toMatchObject({
        message: "killed",
      });
      const result = await add(extract, { allowChange: true, maxChunkRows: 5 });
      expect(result.resumedAfterRow).toBeUndefined();
      expect(result.abandoned).toMatchObject({ file: "extract.csv" });
      expect(await find(regNo)).toMatchObject(byBoard);
    }));
});

describe("a revocation that an extract made", () => {
  const theirs = { license_revoked_on: "2026-01-05", license_revoked_reason: "x" };

  test("is lifted by the next one's empty cell, with a warning", () =>
    withImports(async ({ add, find }) => {
      await add(csv([row(1, theirs)]), { baseline: true });
      const { report } = await add(csv([row(1, empty)]), { allowChange: true });
      expect(report.warnings).toEqual([{ line: 2, field: "license_revoked_on", code: "REVOCATION_CLEARED" }]);
      expect(await find(regNo)).toMatchObject({ licenseRevokedOn: null, licenseRevokedBy: null });
    }));

  test("stays in effect when an extract moves it into the future", () =>
    withImports(async ({ add, find, eventTypes }) => {
      await add(csv([row(1, theirs)]), { baseline: true });
      const moved = await add(csv([row(1, { ...theirs, license_revoked_on: "2090-01-01" })]));
      expect(moved.report.warnings.map(({ code }) => code)).toEqual(["REVOKED_IN_FUTURE"]);
      expect(await find(regNo)).toMatchObject({ licenseRevokedOn: "2090-01-01", announcedStatus: "REVOKED" });
      expect(await eventTypes(regNo)).toEqual([]);
    }));
});

test("an extract that puts a deactivated teacher back says so", () =>
  withImports(async (world) => {
    const extract = csv(rows(3, { active: "yes" }));
    await world.add(extract, { baseline: true });
    await act(world, "deactivate", 2);
    const { report } = await world.add(extract);
    expect(report.warnings).toEqual([{ line: 3, field: "active", code: "REACTIVATED" }]);
    expect(await world.add(extract)).toMatchObject({ unchanged: 3, warnings: 0 });
  }));

test("whatever the operator and extracts did before, the same file again changes nothing", () =>
  withImports(async (world) => {
    const { add, count } = world;
    const below = numbers(3);
    const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
    const someRow = (_: unknown, n: number) =>
      row(n + 1, {
        active: pick(["", "yes", "no"]),
        certificate_status: pick(["VERIFIED", "CLAIMED"]),
        license_revoked_on: pick(["", "", "2026-01-05", today, "2090-01-01"]),
        license_revoked_reason: pick(["", "x", "decision 14"]),
        state: pick(["", "Oyo"]),
      });
    const written = () => count("SELECT sum(version) + (SELECT count(*) FROM events) FROM teachers");
    await add(csv(Array.from({ length: 8 }, someRow)));
    for (let round = 0; round < 40; round++) {
      for (let n = 0; n < 4; n++) {
        const action = pick(["revoke", "reinstate", "deactivate", "reactivate"] as const);
        const refusal = await act(world, action, pick([1, 2, 3, 4, 5, 6, 7, 8])).catch((error) => error.code);
        if (typeof refusal === "string") expect(refusal).toBe("REFUSED");
      }
      const extract = csv(Array.from({ length: 8 }, someRow));
      const options = { allowChange: true, liftRevocations: pick([true, false, false]) };
      const first = await add(extract, options);
      const before = await written();
      const again = await add(extract, options);
      expect(again).toMatchObject({ inserted: 0, updated: 0, unchanged: 8, rejected: 0, events: 0 });
      expect(await written()).toBe(before);
      expect(again.warnings).toBeLessThanOrEqual(first.warnings);
    }
    expect(await count("SELECT count(*) FROM history WHERE action = 'revoke'")).toBeGreaterThan(10);
  }));

describe("the brake", () => {
  const revoked = { license_revoked_on: "2026-01-05", license_revoked_reason: "x" };
  const part = (count: number, other: Cells, before: Cells) =>
    csv(rows(100).map((one, n) => ({ ...one, ...(n < count ? other : before) })));

  test.each<[string, Cells, Cells]>([
    ["revocations", revoked, empty],
    ["verifiedCertificates", { certificate_status: "VERIFIED" }, { certificate_status: "NOT_FOUND" }],
    ["validLicenses", { active: "yes" }, { active: "no" }],
  ])("stops an extract that takes away more than two in a hundred of the %s", async (kind, before, after) => {
    await withImports(async ({ add, count }) => {
      await add(csv(rows(100, before)), { baseline: true });
      const stopped = await add(part(3, after, before));
      expect(stopped).toMatchObject({
        stopped: { by: "brake", losses: [{ kind, lost: 3, of: 100 }] },
        updated: 0,
        events: 0,
      });
      expect(await count("SELECT max(version) FROM teachers")).toBe(1);
      expect(await add(part(3, after, before), { dryRun: true })).toMatchObject({ stopped: { by: "brake" } });
      expect(await add(part(2, after, before))).toMatchObject({ updated: 2 });
      expect(await add(part(100, after, before), { allowChange: true })).toMatchObject({ updated: 98 });
    });
  });

  test("names each kind of which too many would be lost", () =>
    withImports(async ({ add }) => {
      await add(csv(rows(10, empty)), { baseline: true });
      const worse = { ...revoked, certificate_status: "CLAIMED" };
      expect(await add(csv(rows(2, worse)))).toMatchObject({
        stopped: {
          losses: [
            { kind: "validLicenses", lost: 2, of: 10 },
            { kind: "verifiedCertificates", lost: 2, of: 10 },
          ],
        },
      });
    }));

  test("counts the revocation of a deactivated teacher too, and not one that is kept", () =>
    withRevoked(async (world) => {
      const { add } = world;
      const others = rows(100, { ...empty, active: "yes" });
      const with2 = (cells: Cells) => csv(others.map((one, n) => (n === 1 ? { ...one, ...cells } : one)));
      expect(await add(with2({}))).not.toHaveProperty("stopped");
      await add(with2({ ...revoked, active: "no" }));
      const lost = await add(with2({ ...empty, active: "no" }));
      expect(lost).toMatchObject({ stopped: { losses: [{ kind: "revocations", lost: 1, of: 2 }] } });
    }));
});

describe("a command that the database undoes", () => {
  const undone: [TeacherAction, TeacherAction | null, string][] = [
    ["revoke", null, "AFTER UPDATE OF license_revoked_on ON teachers WHEN NEW.license_revoked_on IS NOT NULL BEGIN UPDATE teachers SET license_revoked_on = NULL WHERE id = NEW.id; END"],
    ["reinstate", "revoke", "AFTER UPDATE OF license_revoked_on ON teachers WHEN NEW.license_revoked_on IS NULL BEGIN UPDATE teachers SET license_revoked_on = '2026-01-01' WHERE id = NEW.id; END"],
    ["deactivate", null, "AFTER UPDATE OF active ON teachers WHEN NEW.active = 0 BEGIN UPDATE teachers SET active = 1 WHERE id = NEW.id; END"],
    ["reactivate", "deactivate", "AFTER UPDATE OF active ON teachers WHEN NEW.active = 1 BEGIN UPDATE teachers SET active = 0 WHERE id = NEW.id; END"],
  ]; // biome-ignore format: a trigger in one line

  test.each(undone)("fails instead of saying that it is done: %s", async (action, first, trigger) => {
    await withImports(async (world) => {
      await world.add(csv([row(1)]), { baseline: true });
      if (first !== null) await act(world, first);
      await world.driver.batch([{ sql: `CREATE TRIGGER undo ${trigger}`, args: [] }]);
      const error = await rejection(act(world, action));
      expect(error).toMatchObject({ code: "STORE_CORRUPT" });
      expect((error as Error).message).toContain("does not show it");
    });
  });
});
