import { describe, expect, test } from "bun:test";
import { holdsRegister, migrate, readSchema, schemaVersion } from "../../../src/store/driver/migrations.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { createSettingsStore } from "../../../src/store/settings.ts";
import { driverKinds, withEmpty } from "../../harness/drivers.ts";
import { rejection } from "../../harness/rejection.ts";
import { aSigningKey } from "../../harness/samples.ts";
import { migrateTo } from "./old-database.ts";

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`a register over ${kind.name}`, () => {
    test("is there once its keys are, and looking for one makes nothing", () =>
      withEmpty(kind, async (driver) => {
        const tables = () => driver.query("SELECT name FROM sqlite_master");
        expect(await holdsRegister(driver)).toBe(false);
        expect(await tables()).toEqual([]);
        expect(await readSchema(driver)).toBe(0);
        expect(await tables()).toEqual([]);
        await migrate(driver, 1);
        expect(await readSchema(driver)).toBe(schemaVersion);
        expect(await holdsRegister(driver)).toBe(false);
        const keys = createKeyStore(driver);
        expect(await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"))).toBe(true);
        expect(await keys.create(aSigningKey("X", "active"), aSigningKey("Y", "pending"))).toBe(false);
        expect(await holdsRegister(driver)).toBe(true);
      }));

    test("is not moved on to a newer schema under a service that does not know it", () =>
      withEmpty(kind, async (driver) => {
        await migrateTo(driver, 7);
        const until = Date.now() + 60_000;
        const claim = "INSERT INTO service_claim (id, holder, expires_at) VALUES (1, 'one:1:x:', ?)";
        // How a service of that schema has the database: by the file's lock, or by a claim that it renews.
        await driver.lockService();
        await driver.batch([{ sql: claim, args: [until] }]);
        expect(await rejection(migrate(driver, 1))).toMatchObject({ code: "DATABASE_IN_USE" });
        expect(await readSchema(driver)).toBe(7);
      }));

    test("tells programs of before that they may not go on, and those that know the schema that they may", () =>
      withEmpty(kind, async (driver) => {
        await migrateTo(driver, 7);
        await migrate(driver, 1);
        const settings = createSettingsStore(driver);
        expect((await settings.read()).get("oldest_schema")).toBe("18");
        await settings.write({ oldest_schema: String(schemaVersion + 1) });
        expect(await rejection(settings.read())).toMatchObject({ code: "DATABASE_TOO_NEW" });
      }));
  });
}
