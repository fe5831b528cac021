import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { importIntoRegister } from "../../src/domain/import/import.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../src/store/driver/file.ts";
import { applySchema } from "../../src/store/driver/schema.ts";
import { createImportHistory, createImportStore, type ImportStore } from "../../src/store/imports.ts";
import { createTeacherStore, type TeacherStore } from "../../src/store/teachers.ts";
import { lagos } from "../harness/clock.ts";
import { driverKinds } from "../harness/drivers.ts";
import { sharedFolder } from "../harness/folder.ts";
import { beginImport, type Cells, commitChunk, csv, row } from "../harness/imports.ts";
import { catchError } from "../harness/rejection.ts";
import { aTeacherWrite } from "../harness/samples.ts";

const blindIndex = createBlindIndex(new Uint8Array(32));

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`imports: ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.create>>;
    let driver: Driver;
    let imports: ImportStore;
    let teachers: TeacherStore;
    const folder = sharedFolder();

    // Each test has its own database, because the last import belongs to the whole database.
    beforeEach(async () => {
      database = await kind.create();
      driver = await database.open();
      await applySchema(driver);
      imports = createImportStore(driver, folder);
      teachers = createTeacherStore(driver);
    });
    afterEach(async () => {
      await driver.close();
      await database.destroy();
    });

    const newTeacher = (regNo: string, tId: number | null = null) => {
      return { ...aTeacherWrite(regNo, { tId }), changed: null };
    };
    const add = (rows: readonly Cells[]) => {
      const input = { name: "extract.csv", bytes: bytesOf(csv(rows)) };
      const own = { teachers, imports, blindIndex, calendar: lagos, clock: systemClock, actor: "test" };
      return importIntoRegister(input, own, { maxChunkRows: 50, allowChange: true });
    };

    test("an import inserts and updates teachers, and does not write unchanged ones", async () => {
      const rows = Array.from({ length: 120 }, (_, n) =>
        row(`all-${n}`, { nin: String(99_900_000_000 + n) }),
      );
      expect(await add(rows)).toMatchObject({ inserted: 120, events: 240 });
      expect(await add(rows)).toMatchObject({ unchanged: 120, events: 0 });
      const changed = rows.map((one, n) => (n % 2 === 0 ? { ...one, certificate_status: "CLAIMED" } : one));
      expect(await add(changed)).toMatchObject({ updated: 60, unchanged: 60, events: 60 });
      const teacher = await teachers.findStored({ by: "regNo", value: "TR/2019/LA/ALL-2" });
      expect(teacher).toMatchObject({ certificateStatus: "CLAIMED", version: 2 });
      const types = (await teachers.events(teacher?.id ?? 0)).map((event) => event.eventType);
      expect(types).toEqual(["license.verified", "certificate.verified", "certificate.revoked"]);
      expect(await teachers.history(teacher?.id ?? 0)).toHaveLength(2);
    });

    test("a stored import has the count and the first rows of each rejection or warning code, but no values of the file", async () => {
      const wrong = Array.from({ length: 30 }, (_, n) =>
        row(`wrong-${n}`, { license_issue_date: "secret-1", license_expiry_date: "secret-2" }),
      );
      const { codes } = await add([row("good"), ...wrong, row("good"), row("late", { phone: "secret-3" })]);
      const history = createImportHistory(driver);
      const [last] = await history.latest(1);
      const kept = await history.find(last?.id ?? 0);
      expect(kept).toMatchObject({ rejected: 31, warnings: 1, finishedAt: expect.any(Number) });
      expect(kept?.codes.map(({ code, rows, first }) => [code, rows, first.length, first[0]])).toEqual([
        ["DATE_INVALID", 30, 20, { line: 3, field: "license_issue_date" }],
        ["DUPLICATE_REG_NO", 1, 1, { line: 33, field: "reg_no" }],
        ["PHONE_INVALID", 1, 1, { line: 34, field: "phone" }],
      ]);
      // Only the report has the registration numbers of rejected rows; the database does not.
      const placesIn = (first: (typeof codes)[number]["first"]) =>
        first.map(({ line, field }) => ({ line, field }));
      expect(kept?.codes).toEqual(codes.map((one) => ({ ...one, first: placesIn(one.first) })));
      const stored = JSON.stringify(await driver.query("SELECT * FROM import_codes"));
      for (const text of ["WRONG", "secret"]) expect(stored).not.toContain(text);
      expect(await history.find(4711)).toBeNull();
    });

    test("an import stores its progress and its rows in one transaction", async () => {
      const run = await beginImport(imports);
      const clash = [newTeacher("A/1/1/1", 5), newTeacher("A/1/1/2", 5)];
      const next = { ...run, applied: 2, inserted: 2 };
      const progress = async () => (await createImportHistory(driver).latest(1))[0];
      const refused = await catchError(commitChunk(imports, run, clash, next));
      expect(refused).toMatchObject({ code: "STORE_CONSTRAINT" });
      expect(await progress()).toMatchObject({ applied: 0, inserted: 0 });
      expect(await teachers.findStored({ by: "regNo", value: "A/1/1/1" })).toBeNull();
      await commitChunk(imports, run, [newTeacher("A/1/1/1", 5)], next);
      expect(await progress()).toMatchObject({ applied: 2, inserted: 2 });
    });

    test("an import plans each chunk from the records that the chunk's own transaction reads", async () => {
      const run = await beginImport(imports);
      const done = await imports.commit(run, async (transaction) => {
        expect(await transaction.apply([newTeacher("B/1/1/1")])).toEqual([true]);
        const [stored] = await transaction.findMany(["B/1/1/1"]);
        const replaces = { id: stored?.id ?? 0, version: stored?.version ?? 0 };
        const change = { replaces, changed: ["name"] as const };
        const write = { ...aTeacherWrite("B/1/1/1", { name: "Changed" }), ...change };
        return { writes: [write], next: { ...run, applied: 1 } };
      });
      expect(done?.planned.next.applied).toBe(1);
      const teacher = await teachers.findStored({ by: "regNo", value: "B/1/1/1" });
      expect(teacher).toMatchObject({ name: "Changed", version: 2 });
    });

    // These tests need a file: a server has its own lock and write-ahead log.
    const testOfFile = kind.kind === "embedded" ? test : undefined;

    testOfFile?.("the commit of a chunk returns how long it held the write lock", async () => {
      const run = await beginImport(imports);
      const done = await commitChunk(imports, run, [newTeacher("P/1/1/1")], { ...run, applied: 1 });
      expect(done?.heldMs).toBeGreaterThan(0);
    });

    testOfFile?.("an import knows whether a service uses the same file", async () => {
      const service = await database.open();
      try {
        expect(await createImportStore(driver, folder).isBesideService()).toBe(false);
        await service.lockService();
        expect(await createImportStore(driver, folder).isBesideService()).toBe(true);
      } finally {
        await service.close();
      }
    });

    testOfFile?.("an import writes the log into the database between commits", async () => {
      const run = await beginImport(imports);
      await imports.tune(true);
      const many = Array.from({ length: 200 }, (_, n) => newTeacher(`L/1/1/${n}`));
      await commitChunk(imports, run, many, { ...run, applied: 200, inserted: 200 });
      // Copies the database file without its write-ahead log.
      const [main] = await driver.query("PRAGMA database_list");
      await copyFile(String(main?.file), join(folder, "copy.db"));
      const copy = await openDatabaseFile({ file: join(folder, "copy.db") });
      const found = await copy.query("SELECT count(*) AS n FROM teachers WHERE reg_no GLOB 'L/*'");
      await copy.close();
      await imports.tune(false);
      expect(found).toEqual([{ n: 200 }]);
    });

    test("an import stops if another import has begun", async () => {
      const run = await beginImport(imports);
      const other = await beginImport(imports);
      expect(await commitChunk(imports, run, [], { ...run, applied: 1 })).toBeNull();
      const end = { codes: [], fields: [], rejections: null, rows: 1, rejected: 0, warnings: 0, at: 2 };
      expect(await imports.finish(run, end)).toBe(false);
      expect(await imports.finish(other, end)).toBe(true);
      const all = await createImportHistory(driver).latest(2);
      expect(all.map(({ finishedAt, abandonedAt }) => [finishedAt, abandonedAt])).toEqual([
        [2, null],
        [null, 1],
      ]);
    });
  });
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
