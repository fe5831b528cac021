import { beforeAll, expect, test } from "bun:test";
import { bind, type Driver, makeInserts, rowsPerInsert } from "../../../src/store/driver/driver.ts";
import { applySchema } from "../../../src/store/driver/schema.ts";
import { describeDrivers, withDatabase } from "../../harness/drivers.ts";
import { catchError } from "../../harness/rejection.ts";

/** Tests every driver. */
describeDrivers("driver", (kind, opened) => {
  let driver: Driver;

  beforeAll(async () => {
    driver = opened.driver();
    await driver.batch([
      bind("CREATE TABLE probe (k TEXT PRIMARY KEY, n INTEGER, b BLOB, t TEXT)"),
      bind("CREATE TABLE bulk (k INTEGER PRIMARY KEY, n INTEGER, b BLOB, t TEXT) STRICT"),
    ]);
  });

  /** Runs over a database of its own, because the tables of the other tests are foreign to this program. */
  const withOwn = (act: (own: Driver) => Promise<void>) =>
    withDatabase(kind, (own) => applySchema(own).then(() => act(own)));

  test("a driver stores and returns values of every type, and stores the integer 6 as 6, not as 6.0", async () => {
    const whole = new Uint8Array([9, 0, 1, 255, 9]);
    const args = ["types", Number.MAX_SAFE_INTEGER, whole.subarray(1, 4), "é/\u{1F600}"];
    await driver.batch([{ sql: "INSERT INTO probe VALUES (?, ?, ?, ?)", args }]);
    const [row] = await driver.query("SELECT * FROM probe WHERE k = ?", ["types"]);
    expect([Number(row?.n), row?.t]).toEqual([Number.MAX_SAFE_INTEGER, "é/\u{1F600}"]);
    expect(new Uint8Array(row?.b as ArrayBuffer)).toEqual(new Uint8Array([0, 1, 255]));
    const bound = "SELECT json_array(?) AS j, typeof(?) AS t, ? AS yes, ? AS no";
    const [values] = await driver.query(bound, [6, 6, true, false]);
    expect(values).toMatchObject({ j: "[6]", t: "integer" });
    expect([values?.yes, values?.no].map(Number)).toEqual([1, 0]);
  });

  test("a driver binds every text except one with a NUL character", async () => {
    for (const text of ["", "a\nb", "'; DROP TABLE person --"])
      expect(await driver.query("SELECT ? AS t", [text])).toMatchObject([{ t: text }]);
    for (const text of ["\0", "a\0b", "ab\0"])
      expect(await catchError(driver.query("SELECT ? AS t", [text]))).toBeInstanceOf(Error);
  });

  test("a query never uses the parameters of an earlier call", async () => {
    const insert = "INSERT INTO probe (k, n) VALUES (?, ?)";
    await driver.batch([bind(insert, ["one", 1]), bind(insert, ["two", 2])]);
    const found: (number | undefined)[] = [];
    for (const key of ["one", "none", "two", "none", "none", "one"]) {
      const [row] = await driver.query("SELECT n FROM probe WHERE k = ?", [key]);
      found.push(row && Number(row.n));
    }
    expect(found).toEqual([1, undefined, 2, undefined, undefined, 1]);
  });

  test("a transaction stores all of its batches or none, and refuses a batch after finish()", async () => {
    const insert = (key: string) => ({ sql: "INSERT INTO probe (k) VALUES (?) RETURNING k", args: [key] });
    const insertBoth = (first: string, ...last: string[]) =>
      driver.write(async (tx) => {
        await tx.batch([insert(first)]);
        return tx.finish(last.map(insert));
      });
    const inserted = await insertBoth("first", "last", "very last");
    expect(inserted).toMatchObject([[{ k: "last" }], [{ k: "very last" }]]);
    const twice = () => driver.batch(["twice", "twice"].map(insert));
    for (const run of [() => insertBoth("undone", "undone too", "first"), twice])
      expect(await catchError(run())).toMatchObject({ code: "STORE_CONSTRAINT" });
    const late = driver.write(async (tx) => {
      await tx.finish([]);
      await tx.batch([insert("late")]);
    });
    expect(await catchError(late)).toBeInstanceOf(Error);
    const sql = "SELECT k FROM probe WHERE k LIKE '%last' OR k LIKE 'undone%' OR k IN ('twice', 'late')";
    const rows = await driver.query(sql);
    expect(rows.map((row) => row.k)).toEqual(["last", "very last"]);
  });

  test("a schema with an added, altered or missing object is refused", () =>
    withOwn(async (own) => {
      const verdictAfter = async (sql: string, undo: string) => {
        await own.batch([{ sql, args: [] }]);
        const refusal = (await catchError(applySchema(own))) as { code: string; message: string } | undefined;
        await own.batch([{ sql: undo, args: [] }]);
        return `${refusal?.code} ${/: the (.*?);/.exec(refusal?.message ?? "")?.[1]}`;
      };
      const undoing = `CREATE TRIGGER undo AFTER UPDATE ON teachers BEGIN
      UPDATE teachers SET license_revoked_on = NULL WHERE id = NEW.id; END`;
      const [escaped, alter] = ['"a\u001b[2J\'"', "ALTER TABLE partners"];
      const foreign: [string, string, string][] = [
        [undoing, "DROP TRIGGER undo", "trigger undo is not one that tvs makes"],
        ["CREATE VIEW eyes AS SELECT 1", "DROP VIEW eyes", "view eyes is not one that tvs makes"],
        ["CREATE TABLE more (a)", "DROP TABLE more", "table more is not one that tvs makes"],
        ["CREATE INDEX fast ON teachers (name)", "DROP INDEX fast", "index fast is not one that tvs makes"],
        [`CREATE TABLE ${escaped} (a)`, `DROP TABLE ${escaped}`, "table a??2J? is not one that tvs makes"],
        [`${alter} ADD COLUMN x TEXT`, `${alter} DROP COLUMN x`, "table partners was altered"],
      ];
      for (const [sql, undo, found] of foreign)
        expect(await verdictAfter(sql, undo)).toBe(`STORE_CORRUPT ${found}`);
      const [stored] = await own.query("SELECT sql FROM sqlite_master WHERE name = 'one_active_key'");
      const gone = await verdictAfter("DROP INDEX one_active_key", String(stored?.sql));
      expect(gone).toBe("STORE_CORRUPT index one_active_key is missing");
      // Statistics do not count as a changed schema. A libSQL server refuses ANALYZE.
      if (own.kind === "embedded") await own.batch([{ sql: "ANALYZE", args: [] }]);
      await applySchema(own);
    }));

  const bulkRows = async (from: number) => {
    const sql = "SELECT k, n, hex(b) AS b, t FROM bulk WHERE k > ? ORDER BY k";
    const rows = await driver.query(sql, [from]);
    return rows.map(({ k, n, b, t }) => [Number(k), n === null ? null : Number(n), b, t]);
  };

  test.each([0, 1, rowsPerInsert - 1, rowsPerInsert, 2 * rowsPerInsert + 3])(
    "makeInserts makes INSERTs that store %d rows of every type",
    async (count) => {
      const first = 1000 * (count + 1);
      const rows = Array.from({ length: count }, (_, n) => [
        first + n + 1,
        n % 3 === 0 ? null : Number.MAX_SAFE_INTEGER - n,
        n % 2 === 0 ? null : new Uint8Array([0, 255, 26]),
        `it's "é" \u{1F600} ${n}`,
      ]);
      await driver.batch(makeInserts("bulk", ["k", "n", "b", "t"], rows));
      const expected = rows.map(([k, n, b, t]) => [k, n, b === null ? "" : "00FF1A", t]);
      expect((await bulkRows(first)).slice(0, count)).toEqual(expected);
    },
  );

  test("makeInserts makes INSERTs that store rows of many columns", async () => {
    const names = Array.from({ length: 24 }, (_, n) => `c${n}`);
    await driver.batch([{ sql: `CREATE TABLE wide (${names.join(", ")})`, args: [] }]);
    const rows = Array.from({ length: rowsPerInsert + 2 }, (_, n) => names.map((name) => `${name} of ${n}`));
    await driver.batch(makeInserts("wide", names, rows));
    const found = await driver.query("SELECT * FROM wide ORDER BY rowid");
    expect(found.map((row) => names.map((name) => row[name]))).toEqual(rows);
  });
});
