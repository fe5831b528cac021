import { beforeAll, expect, test } from "bun:test";
import { blockRows, type Driver, insertRows } from "../../../src/store/driver/driver.ts";
import { describeDrivers } from "../../harness/drivers.ts";

const columns = ["k", "n", "b", "t"] as const;

describeDrivers("an insert of many rows", (_kind, database) => {
  let driver: Driver;

  beforeAll(async () => {
    driver = database.driver();
    const table = "CREATE TABLE bulk (k INTEGER PRIMARY KEY, n INTEGER, b BLOB, t TEXT) STRICT";
    await driver.batch([{ sql: table, args: [] }]);
  });

  const stored = async (from: number) => {
    const sql = "SELECT k, n, hex(b) AS b, t FROM bulk WHERE k > ? ORDER BY k";
    const rows = await driver.query(sql, [from]);
    return rows.map(({ k, n, b, t }) => [Number(k), n === null ? null : Number(n), b, t]);
  };

  test.each([0, 1, blockRows - 1, blockRows, 2 * blockRows + 3])(
    "insertRows stores %d rows of every type",
    async (count) => {
      const first = 1000 * (count + 1);
      const rows = Array.from({ length: count }, (_, n) => [
        first + n + 1,
        n % 3 === 0 ? null : Number.MAX_SAFE_INTEGER - n,
        n % 2 === 0 ? null : new Uint8Array([0, 255, 26]),
        `it's "é" \u{1F600} ${n}`,
      ]);
      await driver.batch(insertRows("bulk", columns, rows));
      const expected = rows.map(([k, n, b, t]) => [k, n, b === null ? "" : "00FF1A", t]);
      expect((await stored(first)).slice(0, count)).toEqual(expected);
    },
  );

  test("insertRows stores rows of many columns", async () => {
    const names = Array.from({ length: 24 }, (_, n) => `c${n}`);
    await driver.batch([{ sql: `CREATE TABLE wide (${names.join(", ")})`, args: [] }]);
    const rows = Array.from({ length: blockRows + 2 }, (_, n) => names.map((name) => `${name} of ${n}`));
    await driver.batch(insertRows("wide", names, rows));
    const found = await driver.query("SELECT * FROM wide ORDER BY rowid");
    expect(found.map((row) => names.map((name) => row[name]))).toEqual(rows);
  });
});
