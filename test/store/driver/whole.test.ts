import { describe, expect, test } from "bun:test";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { holdsRegister } from "../../../src/store/driver/whole.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { rejection } from "../../rejection.ts";
import { driverKinds } from "../drivers.ts";
import { aSigningKey } from "../samples.ts";

/** Runs over a database without tables, which is gone afterwards. */
async function withEmpty(
  kind: (typeof driverKinds)[number],
  act: (driver: Driver) => Promise<void>,
): Promise<void> {
  const database = await kind.create();
  const driver = await database.open();
  try {
    await act(driver);
  } finally {
    await driver.close();
    await database.destroy();
  }
}

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`a register over ${kind.name}`, () => {
    test("is there once its keys are, and looking for one makes nothing", () =>
      withEmpty(kind, async (driver) => {
        const tables = () => driver.query("SELECT name FROM sqlite_master");
        expect(await holdsRegister(driver)).toBe(false);
        expect(await tables()).toEqual([]);
        await migrate(driver, 1);
        expect(await holdsRegister(driver)).toBe(false);
        const keys = createKeyStore(driver);
        expect(await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"))).toBe(true);
        expect(await keys.create(aSigningKey("X", "active"), aSigningKey("Y", "pending"))).toBe(false);
        expect(await holdsRegister(driver)).toBe(true);
      }));

    test("is never one of another program", () =>
      withEmpty(kind, async (driver) => {
        await driver.batch([{ sql: "CREATE TABLE songs (title TEXT)", args: [] }]);
        expect(await rejection(holdsRegister(driver))).toMatchObject({ code: "STORE_CORRUPT" });
      }));
  });
}
