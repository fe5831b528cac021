import { expect, test } from "bun:test";
import { changeTeacher, type TeacherAction } from "../../src/domain/teachers/changes.ts";
import { lagos } from "../harness/clock.ts";
import type { Cells, TestImports } from "../harness/imports.ts";
import { csv, failingAt, row, rows, today, withImports } from "../harness/imports.ts";
import { seededNumbers } from "../harness/random.ts";
import { catchError } from "../harness/rejection.ts";
import { readSeed, readTryCount, reportTries } from "../harness/trial.ts";

/** The number of random extracts, each of which is imported twice. */
const rounds = readTryCount("TVS_EXTRACTS", 40);
const regNo = "TR/2019/LA/1";
const byBoard = {
  licenseRevokedOn: today,
  licenseRevokedReason: "decision 14",
  licenseRevokedBy: "operator",
};
const empty = { license_revoked_on: "", license_revoked_reason: "" };
const kept = [{ line: 2, field: "license_revoked_on", code: "REVOCATION_KEPT" }];

function change({ teachers, clock }: TestImports, action: TeacherAction, number: number | string = 1) {
  const key = { by: "regNo", value: `TR/2019/LA/${number}` } as const;
  const dependencies = { teachers, clock, calendar: lagos, actor: "cli:ada" };
  return changeTeacher(dependencies, key, { action, reason: "decision 14" });
}

/** A register of a hundred teachers. The operator has revoked the licence of the first teacher. */
function withRevoked(check: (world: TestImports) => Promise<void>): Promise<void> {
  return withImports(async (world) => {
    await world.add(csv(rows(100, empty)), { baseline: true });
    await change(world, "revoke");
    await check(world);
  });
}

test("a revocation that the operator has taken over from an extract is not lifted by the next extract", () =>
  withImports(async (world) => {
    const theirs = row(1, { license_revoked_on: "2026-01-05", license_revoked_reason: "x" });
    await world.add(csv([theirs]), { baseline: true });
    expect(await world.find(regNo)).toMatchObject({ licenseRevokedBy: "extract" });
    expect((await change(world, "revoke")).events).toEqual([]);
    const mine = { ...byBoard, licenseRevokedOn: "2026-01-05" };
    expect(await world.find(regNo)).toMatchObject(mine);
    expect((await world.add(csv([row(1, empty)]), { allowChange: true })).report.warnings).toEqual(kept);
    expect(await world.find(regNo)).toMatchObject(mine);
    expect(await catchError(change(world, "revoke"))).toMatchObject({ code: "REFUSED" });
  }));

test("an import without --lift-revocations lifts no revocation, even if a killed import had that option", () =>
  withRevoked(async ({ add, imports, find }) => {
    const killed = failingAt(imports, 1, new Error("killed"));
    const extract = csv([...rows(20, { state: "Oyo" }).slice(1), row(1, { ...empty, state: "Oyo" })]);
    const lifting = { liftRevocations: true, allowChange: true, maxChunkRows: 5 };
    expect(await catchError(add(extract, { ...lifting, through: killed }))).toEqual(new Error("killed"));
    await add(extract, { allowChange: true, maxChunkRows: 5 });
    expect(await find(regNo)).toMatchObject(byBoard);
  }));

test(
  "importing the same file twice changes nothing the second time, whatever the operator and extracts did before",
  () =>
    withImports(async (world) => {
      const { add, count } = world;
      const below = seededNumbers(readSeed(3));
      const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
      const someRow = (_: unknown, n: number) =>
        row(n + 1, {
          active: pick(["", "yes", "no"]),
          certificate_status: pick(["VERIFIED", "CLAIMED"]),
          license_revoked_on: pick(["", "", "2026-01-05", today, "2090-01-01"]),
          license_revoked_reason: pick(["", "x", "decision 14"]),
          state: pick(["", "Oyo"]),
        });
      const byOperator = () => count("SELECT count(*) FROM teachers WHERE license_revoked_by = 'operator'");
      const written = () => count("SELECT sum(version) + (SELECT count(*) FROM events) FROM teachers");
      await add(csv(Array.from({ length: 8 }, someRow)));
      reportTries({ extracts: 2 * rounds, commands: 4 * rounds });
      for (let round = 0; round < rounds; round++) {
        for (let n = 0; n < 4; n++) {
          const action = pick(["revoke", "reinstate", "deactivate", "reactivate"] as const);
          const refusal = await catchError(change(world, action, 1 + below(8)));
          if (refusal !== undefined) expect(refusal).toMatchObject({ code: "REFUSED" });
        }
        const extract = csv(Array.from({ length: 8 }, someRow));
        const options = { allowChange: true, liftRevocations: pick([true, false, false]) };
        const revoked = await byOperator();
        const first = await add(extract, options);
        if (!options.liftRevocations) expect(await byOperator()).toBe(revoked);
        const before = await written();
        const again = await add(extract, options);
        expect(again).toMatchObject({ inserted: 0, updated: 0, unchanged: 8, rejected: 0, events: 0 });
        expect(await written()).toBe(before);
        expect(again.warnings).toBeLessThanOrEqual(first.warnings);
      }
      expect(await count("SELECT count(*) FROM history WHERE action = 'revoke'")).toBeGreaterThan(10);
    }),
  3_600_000,
);

const revoked = { license_revoked_on: "2026-01-05", license_revoked_reason: "x" };
test("the import's brake counts the lost revocation of a deactivated teacher, but no revocation that is kept", () =>
  withRevoked(async (world) => {
    const { add } = world;
    const others = rows(100, { ...empty, active: "yes" });
    const with2 = (cells: Cells) => csv(others.map((one, n) => (n === 1 ? { ...one, ...cells } : one)));
    expect(await add(with2({}))).not.toHaveProperty("stopped");
    await add(with2({ ...revoked, active: "no" }));
    const lost = await add(with2({ ...empty, active: "no" }));
    expect(lost).toMatchObject({ stopped: { losses: [{ kind: "revocations", lost: 1, of: 2 }] } });
  }));

const undone: [TeacherAction, TeacherAction | null, string][] = [
  ["revoke", null, "AFTER UPDATE OF license_revoked_on ON teachers WHEN NEW.license_revoked_on IS NOT NULL BEGIN UPDATE teachers SET license_revoked_on = NULL WHERE id = NEW.id; END"],
  ["reinstate", "revoke", "AFTER UPDATE OF license_revoked_on ON teachers WHEN NEW.license_revoked_on IS NULL BEGIN UPDATE teachers SET license_revoked_on = '2026-01-01' WHERE id = NEW.id; END"],
  ["deactivate", null, "AFTER UPDATE OF active ON teachers WHEN NEW.active = 0 BEGIN UPDATE teachers SET active = 1 WHERE id = NEW.id; END"],
  ["reactivate", "deactivate", "AFTER UPDATE OF active ON teachers WHEN NEW.active = 1 BEGIN UPDATE teachers SET active = 0 WHERE id = NEW.id; END"],
]; // biome-ignore format: a trigger in one line

test.each(undone)("a command to %s fails if a trigger undoes its change", async (action, first, trigger) => {
  await withImports(async (world) => {
    await world.add(csv([row(1)]), { baseline: true });
    if (first !== null) await change(world, first);
    await world.driver.batch([{ sql: `CREATE TRIGGER undo ${trigger}`, args: [] }]);
    const error = await catchError(change(world, action));
    expect(error).toMatchObject({ code: "STORE_CORRUPT" });
    expect((error as Error).message).toContain("does not show it");
  });
});
