import { expect, test } from "bun:test";
import type { StoredTeacher } from "../../../src/domain/teachers/teachers.ts";
import type { ImportStore } from "../../../src/store/imports.ts";
import type { AddOptions, TestImports } from "../../harness/imports.ts";
import { csv, failingAt, row, rows, withImports, withoutRegNo } from "../../harness/imports.ts";
import { catchError } from "../../harness/rejection.ts";

/** Changes a record in the store directly, by default long before the import. */
async function write(
  { teachers, find }: TestImports,
  regNo: string,
  { updatedAt: at = 1, ...changes }: Partial<StoredTeacher>,
) {
  const teacher = await find(regNo);
  if (teacher === null) throw new Error("not there");
  const { id, version, announcedStatus } = teacher;
  const content = { ...teacher, ...changes };
  const write = { replaces: { id, version }, content, announcedStatus, history: null, events: [], at };
  await teachers.apply([write]);
}

/** Reads the register and its events, without ids and times. */
async function contents({ driver }: TestImports): Promise<unknown> {
  const teachers = "SELECT reg_no, name, state, version, announced_status FROM teachers ORDER BY reg_no";
  const events = `SELECT reg_no, event_type, count(*) AS n FROM events JOIN teachers ON teachers.id = teacher_id
    GROUP BY reg_no, event_type ORDER BY reg_no, event_type`;
  return [await driver.query(teachers), await driver.query(events)];
}

const extract = csv([...rows(10), row(11, { nin: "x" }), ...rows(40).slice(11)]);
const small = { maxChunkRows: 4 };

async function kill({ add, imports }: TestImports, content = extract, options: AddOptions = small) {
  const through = failingAt(imports, 3, new Error("killed"));
  expect(await catchError(add(content, { ...options, through }))).toMatchObject({ message: "killed" });
}

test("an import that is killed between any two chunks and run again stores the same data as an uninterrupted import", async () => {
  const before = csv(rows(20, { state: "Lagos" }));
  const file = csv([
    ...rows(20, { state: "Oyo", certificate_status: "CLAIMED" }),
    ...rows(24).slice(20),
    row(21),
  ]);
  const options = { maxChunkRows: 4, allowChange: true };
  let whole: unknown;
  await withImports(async (world) => {
    await world.add(before);
    await world.add(file, options);
    whole = await contents(world);
  });
  const finish = () => Promise.reject(new Error("killed"));
  for (let commits = 0; commits <= 6; commits++)
    await withImports(async (world) => {
      await world.add(before);
      // There are six chunks; the last kill is before the import is recorded as finished.
      const { imports } = world;
      const through = commits < 6 ? failingAt(imports, commits, new Error("killed")) : { ...imports, finish };
      await catchError(world.add(file, { ...options, through }));
      const again = await world.add(file, options);
      expect(again).toMatchObject({ updated: 20 - Math.min(20, 4 * commits), rejected: 1 });
      expect(await contents(world)).toEqual(whole);
    });
});

test("a killed import is listed as unfinished, and as abandoned after the same command has applied its remaining rows", () =>
  withImports(async (world) => {
    const { add, driver, teachers, count } = world;
    await kill(world);
    const record = "SELECT applied, inserted, finished_at IS NULL AND abandoned_at IS NULL AS n FROM imports";
    expect(await driver.query(record)).toEqual([{ applied: 13, inserted: 12, n: 1 }]);
    expect(await teachers.isLoaded()).toBe(false);
    const result = await add(extract, small);
    expect(result).toMatchObject({ rows: 40, inserted: 27, unchanged: 12, rejected: 1, events: 54 });
    expect(result.abandoned).toBeUndefined();
    expect(await teachers.isLoaded()).toBe(true);
    expect(await count("SELECT count(*) FROM imports WHERE abandoned_at IS NOT NULL")).toBe(1);
    expect(await count("SELECT count(*) FROM imports WHERE finished_at IS NOT NULL")).toBe(1);
  }));

test("the brake counts the losses of the rows that a killed import applied", () =>
  withImports(async (world) => {
    const { add, imports } = world;
    const without = (count: number) =>
      csv(rows(200).map((one, n) => (n < count ? { ...one, license_expiry_date: "2025-12-31" } : one)));
    const earlier = async () => (await imports.losses(0)).lost.validLicenses;
    await add(without(0), { baseline: true });
    const through = failingAt(imports, 2, new Error("killed"));
    await catchError(add(without(4), { maxChunkRows: 1, through }));
    expect(await earlier()).toBe(2);
    const stopped = await add(csv([...rows(196), ...rows(200, { active: "no" }).slice(196)]));
    expect(stopped.stopped).toMatchObject({ losses: [{ lost: 4, of: 200, earlier: 2 }] });
    expect((await add(without(4))).stopped).toBeUndefined();
    expect(await earlier()).toBe(4);
    expect(await add(without(5))).toMatchObject({ stopped: { losses: [{ lost: 1, earlier: 4 }] } });
  }));

test("an interrupted import reports its progress, and the same command applies the remaining rows", () =>
  withImports(async ({ add, count }) => {
    const controller = new AbortController();
    const onProgress = ({ phase, done }: { phase: string; done: number }) => {
      if (phase === "apply" && done >= 8) controller.abort();
    };
    const stopped = await catchError(add(extract, { ...small, onProgress, stop: controller.signal }));
    expect(stopped).toMatchObject({ code: "REFUSED" });
    const applied = await count("SELECT applied FROM imports");
    expect(String(stopped)).toContain(
      `stopped after ${applied} of 40 rows; the same command applies the rest`,
    );
    expect(applied).toBeLessThan(20);
    expect(await add(extract, small)).toMatchObject({ inserted: 39 - applied, unchanged: applied });
  }));

test("an import that is interrupted during its check changes nothing", () =>
  withImports(async ({ add, count }) => {
    const stop = AbortSignal.abort();
    expect(String(await catchError(add(extract, { stop })))).toContain("before anything was changed");
    expect(await count("SELECT (SELECT count(*) FROM teachers) + (SELECT count(*) FROM imports)")).toBe(0);
  }));

test("an import of another file marks a killed import as abandoned, and reports this", () =>
  withImports(async (world) => {
    const { add, count } = world;
    await kill(world);
    const other = await add(csv([row(99)]), { name: "other.csv" });
    expect(other).toMatchObject({ inserted: 1, abandoned: { file: "extract.csv", row: 13 } });
    expect(await count("SELECT count(*) FROM imports WHERE abandoned_at IS NOT NULL")).toBe(1);
  }));

/** Makes an import store that calls a function before its first commit. */
function beforeCommit(imports: ImportStore, run: () => Promise<unknown>): ImportStore {
  let done: Promise<unknown> | undefined;
  return {
    ...imports,
    async commit(...args) {
      done ??= run();
      await done;
      return imports.commit(...args);
    },
  };
}

test("a row is rejected if the operator has revoked or deactivated its teacher since the check began", () =>
  withImports(async (world) => {
    const { add, imports, find, clock } = world;
    await add(csv(rows(5)), { baseline: true });
    const change = async () => {
      const updatedAt = clock.now();
      await write(world, "TR/2019/LA/1", { licenseRevokedOn: "2026-03-10", updatedAt });
      await write(world, "TR/2019/LA/2", { active: false, updatedAt });
      await write(world, "TR/2019/LA/3", { active: false, updatedAt: updatedAt - 1 });
      await write(world, "TR/2019/LA/4", { name: "Other", updatedAt });
    };
    const extract = csv(rows(5, { license_revoked_on: "", active: "yes", state: "Oyo" }));
    const { report, updated, rejected } = await add(extract, { through: beforeCommit(imports, change) });
    expect({ updated, rejected }).toEqual({ updated: 3, rejected: 2 });
    const code = "CHANGED_MEANWHILE";
    expect(report.rejected.map(withoutRegNo)).toEqual([2, 3].map((line) => ({ line, field: null, code })));
    expect(await find("TR/2019/LA/1")).toMatchObject({ licenseRevokedOn: "2026-03-10", state: null });
    expect(await find("TR/2019/LA/2")).toMatchObject({ active: false, state: null });
    for (const n of [3, 4, 5])
      expect(await find(`TR/2019/LA/${n}`)).toMatchObject({
        active: true,
        name: "Adaeze Okafor",
        state: "Oyo",
      });
  }));

test("a row is rejected if another teacher got its identifier after the check, and the other rows are applied", () =>
  withImports(async ({ add, imports, count, putMany }) => {
    const taken = () => putMany(["TR/2019/LA/X"], { tId: 3 });
    const extract = csv(rows(5).map((one, n) => ({ ...one, t_id: String(n + 1) })));
    const { report, inserted } = await add(extract, { through: beforeCommit(imports, taken) });
    expect(inserted).toBe(4);
    expect(report.rejected.map(withoutRegNo)).toEqual([{ line: 4, field: "t_id", code: "DUPLICATE_T_ID" }]);
    expect(await count("SELECT count(*) FROM teachers")).toBe(5);
  }));
