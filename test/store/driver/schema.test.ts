import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { bind, type Driver } from "../../../src/store/driver/driver.ts";
import { applySchema, countSteps, isRegisterSetUp, schemaVersion } from "../../../src/store/driver/schema.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { driverKinds, withDatabase } from "../../harness/drivers.ts";
import { catchError } from "../../harness/rejection.ts";
import { aSigningKey } from "../../harness/samples.ts";

const first = readFileSync(new URL("../../../src/store/driver/schema.sql", import.meta.url), "utf8");
/** A made-up later step: it makes a table and a column, and inserts a row. */
const second = `-- What a later release adds.
CREATE TABLE rooms (room TEXT PRIMARY KEY) STRICT;
ALTER TABLE partners ADD COLUMN room TEXT REFERENCES rooms (room);
INSERT INTO settings (name, value) VALUES ('rooms', 'yes');
`;
const steps = [first, second];
const objects = (driver: Driver) => driver.query("SELECT name, sql FROM sqlite_master ORDER BY name");
const numbers = async (driver: Driver) =>
  (await driver.query("SELECT number FROM schema_steps ORDER BY number")).map(({ number }) => Number(number));

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`the schema over ${kind.name}`, () => {
    test("applySchema makes the schema in an empty database, but no register", () =>
      withDatabase(kind, async (driver) => {
        expect(await isRegisterSetUp(driver)).toBe(false);
        expect(await countSteps(driver)).toBe(0);
        expect(await objects(driver)).toEqual([]);
        await applySchema(driver);
        expect(await countSteps(driver)).toBe(schemaVersion);
        expect(await isRegisterSetUp(driver)).toBe(false);
        const keys = createKeyStore(driver);
        expect(await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"))).toBe(true);
        expect(await keys.create(aSigningKey("X", "active"), aSigningKey("Y", "pending"))).toBe(false);
        expect(await isRegisterSetUp(driver)).toBe(true);
      }));

    test("the schema is made once when two programs start together", () =>
      withDatabase(kind, async (driver) => {
        await Promise.all([applySchema(driver, steps), applySchema(driver, steps)]);
        expect(await numbers(driver)).toEqual([1, 2]);
        expect(await driver.query("SELECT value FROM revision")).toEqual([{ value: 2 }]);
      }));

    test("a later schema step keeps the stored rows", () =>
      withDatabase(kind, async (driver) => {
        await applySchema(driver, [first]);
        await driver.batch([bind("INSERT INTO settings (name, value) VALUES ('kept', 'yes')")]);
        await applySchema(driver, steps);
        await applySchema(driver, steps);
        expect(await numbers(driver)).toEqual([1, 2]);
        const settings = await driver.query("SELECT name FROM settings ORDER BY name");
        expect(settings.map(({ name }) => name)).toEqual(["kept", "rooms"]);
        expect(await countSteps(driver, steps)).toBe(2);
      }));

    test("if a process is killed while it makes the schema, the next process completes the schema", () =>
      withDatabase(kind, async (driver) => {
        const cutOff = (number: number): Driver => ({
          ...driver,
          batch: (all) => {
            const record = all.at(-1);
            const isThere = record !== undefined && "args" in record && record.args[0] === number;
            return driver.batch(isThere ? [...all, bind("nonsense")] : all);
          },
        });
        expect(await catchError(applySchema(cutOff(1), steps))).toMatchObject({ name: "TvsError" });
        expect(await objects(driver)).toEqual([]);
        expect(await catchError(applySchema(cutOff(2), steps))).toMatchObject({ name: "TvsError" });
        expect(await numbers(driver)).toEqual([1]);
        expect(await countSteps(driver, steps)).toBe(1);
        await applySchema(driver, steps);
        expect(await countSteps(driver, steps)).toBe(2);
      }));

    test("no schema step is made while an older service runs", () =>
      withDatabase(kind, async (driver) => {
        await applySchema(driver, [first]);
        const served = { ...driver, serviceRunning: async () => true };
        expect(await catchError(applySchema(served, steps))).toMatchObject({ code: "DATABASE_IN_USE" });
        expect(await numbers(driver)).toEqual([1]);
      }));

    test("a newer schema is refused in one line that says what to do", () =>
      withDatabase(kind, async (driver) => {
        await applySchema(driver, steps);
        const before = await objects(driver);
        const message = expect.stringMatching(
          /^the register has schema 2, this program knows 1; .*restore a backup.*$/,
        );
        expect(await catchError(applySchema(driver))).toMatchObject({ code: "DATABASE_TOO_NEW", message });
        expect(await objects(driver)).toEqual(before);
      }));

    test("the schema is not made in another program's database", () =>
      withDatabase(kind, async (driver) => {
        await driver.batch([bind("CREATE TABLE customers (id INTEGER)")]);
        expect(await catchError(applySchema(driver))).toMatchObject({ code: "STORE_CORRUPT" });
        expect((await objects(driver)).map(({ name }) => name)).toEqual(["customers"]);
      }));
  });
}
