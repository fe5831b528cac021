import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { createCalendar, systemClock } from "../../src/domain/clock.ts";
import { importRegister } from "../../src/domain/import/import.ts";
import type { ImportStore, StagedRow } from "../../src/domain/import/store.ts";
import type { TeacherStore } from "../../src/domain/teachers/store.ts";
import { type Driver, statement } from "../../src/store/driver/driver.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { makeSchema } from "../../src/store/driver/schema.ts";
import { createImportHistory, createImportStore } from "../../src/store/imports.ts";
import { openStaging } from "../../src/store/staging.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { driverKinds } from "../harness/drivers.ts";
import { makeFolder } from "../harness/folder.ts";
import { type Cells, csv, row } from "../harness/imports.ts";
import { aTeacher, aTeacherWrite } from "../harness/samples.ts";

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`imports: ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.create>>;
    let driver: Driver;
    let imports: ImportStore;
    let teachers: TeacherStore;
    let folder: string;
    let remove: () => Promise<void>;

    // A database for each test: which import is the last one is the database's business.
    beforeEach(async () => {
      database = await kind.create();
      driver = await database.open();
      await makeSchema(driver);
      ({ path: folder, remove } = await makeFolder());
      imports = createImportStore(driver, folder);
      teachers = createTeacherStore(driver);
    });
    afterEach(async () => {
      await driver.close();
      await database.destroy();
      await remove();
    });

    const begin = (file: string) =>
      imports.begin({ file, sha256: file, options: "{}", losses: "allowed", at: 1 });
    const newTeacher = (regNo: string, tId: number | null = null) => ({
      ...aTeacherWrite(regNo, { tId }),
      changed: null,
    });
    const add = (rows: readonly Cells[]) =>
      importRegister(
        { name: "extract.csv", bytes: bytesOf(csv(rows)) },
        {
          teachers,
          imports,
          blindIndex: createBlindIndex(new Uint8Array(32)),
          calendar: createCalendar("Africa/Lagos"),
          clock: systemClock,
          actor: "test",
        },
        { maxChunkRows: 50, allowChange: true },
      );

    test("imports, changes and leaves alone", async () => {
      const rows = Array.from({ length: 120 }, (_, n) =>
        row(`all/${n}`.replace("/", "-"), { nin: String(99_900_000_000 + n) }),
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

    test("keeps of each import how many rows met which code, and where, but never a value", async () => {
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
      // The numbers of rejected rows stand in the report alone.
      const places = codes.map((one) => ({
        ...one,
        first: one.first.map(({ line, field }) => ({ line, field })),
      }));
      expect(kept?.codes).toEqual(places);
      expect(JSON.stringify(await driver.query("SELECT * FROM import_codes"))).not.toContain("WRONG");
      expect(JSON.stringify(await driver.query("SELECT * FROM import_codes"))).not.toContain("secret");
      expect(await history.find(4711)).toBeNull();
    });

    test("moves the progress with the rows, or neither", async () => {
      const run = await begin("progress");
      const clash = [newTeacher("A/1/1/1", 5), newTeacher("A/1/1/2", 5)];
      const next = { ...run, applied: 2, inserted: 2 };
      expect(await imports.commit(run, clash, next)).toMatchObject({ outcome: "conflict" });
      expect(await imports.unfinished()).toMatchObject({ applied: 0, inserted: 0 });
      expect(await teachers.findStored({ by: "regNo", value: "A/1/1/1" })).toBeNull();
      expect(await imports.commit(run, [newTeacher("A/1/1/1", 5)], next)).toMatchObject({
        outcome: "applied",
      });
      expect(await imports.unfinished()).toMatchObject({ applied: 2, inserted: 2 });
    });

    test("does not change a record that has moved on", async () => {
      const run = await begin("moved on");
      await imports.commit(run, [newTeacher("B/1/1/1")], { ...run, applied: 1 });
      const stored = await teachers.findStored({ by: "regNo", value: "B/1/1/1" });
      const change = (version: number) => ({
        ...aTeacherWrite("B/1/1/1", { name: "Changed" }),
        replaces: { id: stored?.id ?? 0, version },
        changed: ["name"] as const,
      });
      const [now, next] = [
        { ...run, applied: 1 },
        { ...run, applied: 2 },
      ];
      expect(await imports.commit(now, [change(7)], next)).toMatchObject({ outcome: "conflict" });
      expect(await imports.commit(now, [change(1)], next)).toMatchObject({ outcome: "applied" });
      expect(await teachers.findStored({ by: "regNo", value: "B/1/1/1" })).toMatchObject({
        name: "Changed",
        version: 2,
      });
    });

    // Only the holder of a file can say how long it held the lock, and empty the log.
    const testOfFile = kind.kind === "embedded" ? test : undefined;

    testOfFile?.("says of a commit how long it kept others waiting, and whether others write", async () => {
      // A store of its own: what other tests wrote is others' writing too.
      const fresh = createImportStore(driver, folder);
      const run = await fresh.begin({
        file: "held",
        sha256: "held",
        options: "{}",
        losses: "allowed",
        at: 1,
      });
      await fresh.tune("low");
      const other = await database.open();
      try {
        const first = await fresh.commit(run, [newTeacher("P/1/1/1")], { ...run, applied: 1 });
        expect(first).toMatchObject({ outcome: "applied", othersWrote: false });
        await makeSchema(other);
        await other.batch([statement("UPDATE revision SET value = value + 1")]);
        const second = await fresh.commit({ ...run, applied: 1 }, [], { ...run, applied: 2 });
        expect(second).toMatchObject({ outcome: "applied", othersWrote: true });
        expect(second.outcome === "applied" && second.heldMs).toBeGreaterThan(0);
      } finally {
        await other.close();
        await fresh.tune(null);
      }
    });

    testOfFile?.("sees in the first commit already who has written since the import began", async () => {
      const fresh = createImportStore(driver, folder);
      const run = await fresh.begin({
        file: "first",
        sha256: "first",
        options: "{}",
        losses: "allowed",
        at: 1,
      });
      await fresh.tune("low");
      const other = await database.open();
      await other.batch([statement("UPDATE revision SET value = value + 1")]);
      await other.close();
      expect(await fresh.commit(run, [], { ...run, applied: 1 })).toMatchObject({ othersWrote: true });
      await fresh.tune(null);
    });

    testOfFile?.("the log of a database that others write to is emptied between commits", async () => {
      const run = await begin("log");
      await imports.tune("high");
      const many = Array.from({ length: 200 }, (_, n) => newTeacher(`L/1/1/${n}`));
      await imports.commit(run, many, { ...run, applied: 200, inserted: 200 });
      // The file alone, without its log.
      const [main] = await driver.query("PRAGMA database_list");
      await copyFile(String(main?.file), join(folder, "copy.db"));
      const copy = await openEmbedded({ file: join(folder, "copy.db") });
      const found = await copy.query("SELECT count(*) AS n FROM teachers WHERE reg_no GLOB 'L/*'");
      await copy.close();
      await imports.tune(null);
      expect(found).toEqual([{ n: 200 }]);
    });

    test("stops an import that another one has overtaken, or that is done already", async () => {
      const run = await begin("overtaken");
      const other = await begin("other");
      expect(await imports.commit(run, [], { ...run, applied: 1 })).toMatchObject({ outcome: "superseded" });
      await imports.commit(other, [], { ...other, applied: 1 });
      expect(await imports.commit(other, [], { ...other, applied: 1 })).toMatchObject({
        outcome: "superseded",
      });
      await imports.finish(
        { ...other, applied: 1 },
        { codes: [], fields: [], rejections: null, rejected: 0, warnings: 0, at: 2 },
      );
      expect(await imports.unfinished()).toBeNull();
    });
  });
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

describe("rows that wait", () => {
  test("are taken out in parts as they are at once, from any row on", async () => {
    const folder = await makeFolder();
    const staging = await openStaging(folder.path);
    try {
      for (let first = 1; first < 60; first += 20) {
        const rows = Array.from({ length: 20 }, (_, n) => waitingRow(first + n));
        expect(await staging.add(rows)).toEqual([]);
      }
      const all = await staging.pending(0, 100);
      expect(all.map(({ seq }) => seq)).toEqual([1, 2, 4, 5].flatMap(everySixth).sort((a, b) => a - b));
      const inParts: typeof all = [];
      for (;;) {
        const part = await staging.pending(inParts.at(-1)?.seq ?? 0, 7);
        if (part.length === 0) break;
        inParts.push(...part);
      }
      expect(inParts).toEqual(all);
      // Back again, as after commits that did not hold.
      expect(await staging.pending(5, 7)).toEqual(all.filter(({ seq }) => seq > 5).slice(0, 7));
      expect(await staging.pending(2, 100)).toEqual(all.filter(({ seq }) => seq > 2));
    } finally {
      await staging.close();
      await folder.remove();
    }
  });
});

const everySixth = (first: number) => Array.from({ length: 10 }, (_, n) => first + 6 * n);

/** Every third row changes nothing. */
function waitingRow(seq: number): StagedRow {
  const ninIndex = new Uint8Array(16).fill(seq);
  const content = aTeacher(`W/1/1/${seq}`, { tId: seq, ninIndex });
  const patch = { regNo: content.regNo, tId: seq, ninIndex: ninIndex.toHex() };
  return { seq, line: seq + 1, patch, set: patch, before: null, content, changed: seq % 3 === 0 ? [] : null };
}
