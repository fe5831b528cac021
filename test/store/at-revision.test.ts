import { expect, test } from "bun:test";
import { Superseded } from "../../src/domain/configuration.ts";
import { atRevision } from "../../src/store/driver/fenced.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { rejection } from "../harness/rejection.ts";

describeDrivers("a driver at a revision", (_kind, database) => {
  test("a driver at a revision writes only while that revision is the newest", async () => {
    const settings = createSettingsStore(database.driver());
    const before = await settings.revision();
    await createSettingsStore(atRevision(database.driver(), before)).write({ time_zone: "Africa/Lagos" });
    expect(await settings.revision()).toBe(before + 1);
    const late = createSettingsStore(atRevision(database.driver(), before)).write({ time_zone: "UTC" });
    expect(await rejection(late)).toBeInstanceOf(Superseded);
    expect((await settings.read()).get("time_zone")).toBe("Africa/Lagos");
  });
});
