import { beforeEach, expect, test } from "bun:test";
import { bind, type Driver } from "../../src/store/driver/driver.ts";
import {
  createLeaderDriver,
  createLeaderStore,
  leaderLeaseMs,
  readDatabaseClock,
} from "../../src/store/leader.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { catchError } from "../harness/rejection.ts";

describeDrivers("the leader's lease", (kind, database) => {
  let driver: Driver;
  let lease: ReturnType<typeof createLeaderStore>;
  beforeEach(async () => {
    driver = database.driver();
    lease = createLeaderStore(driver);
    await driver.batch([bind("DELETE FROM leader")]);
  });
  /** Ages the lease by so many milliseconds. */
  const age = (ms: number) => driver.batch([bind("UPDATE leader SET expires_at = expires_at - ?", [ms])]);

  test("a service that has the leader's lease can renew it; others get it only after it ends or is released", async () => {
    expect(await lease.isHeld()).toBe(false);
    expect([await lease.take("one"), await lease.take("other")]).toEqual([true, false]);
    await age(leaderLeaseMs - 2_000);
    expect([await lease.isHeld(), await lease.take("other")]).toEqual([true, false]);
    expect(await lease.take("one")).toBe(true);
    await age(leaderLeaseMs + 1_000);
    expect(await lease.isHeld()).toBe(false);
    expect([await lease.take("other"), await lease.take("one")]).toEqual([true, false]);
    await lease.giveBack("one");
    expect(await lease.take("one")).toBe(false);
    await lease.giveBack("other");
    expect(await lease.take("one")).toBe(true);
  });

  test("one of several services that ask at the same time gets the leader's lease, and no other does", async () => {
    const services = await Promise.all([database.another(), database.another(), database.another()]);
    const taken = await Promise.all(services.map((one, at) => createLeaderStore(one).take(`service ${at}`)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    for (const one of services) await one.close();
  });

  test("the leader's lease can be acquired after the database's clock was set back", async () => {
    await lease.take("one");
    await age(-3_600_000);
    expect([await lease.isHeld(), await lease.take("other")]).toEqual([false, true]);
  });

  test("each transaction of the leader checks its lease, so that a service that lost it writes nothing", async () => {
    await lease.take("one");
    const leading = createLeaderDriver(driver, "one");
    const write = (name: string) =>
      bind("INSERT INTO settings (name, value) VALUES (?, 'x') RETURNING name", [name]);
    expect(await leading.batch([write("first")])).toEqual([[{ name: "first" }]]);
    await age(leaderLeaseMs + 1_000);
    // The lease has ended, but no other service has taken it.
    await leading.write((tx) => tx.batch([write("second")]));
    await lease.take("other");
    const third = [write("third")];
    for (const run of [() => leading.batch(third), () => leading.write((tx) => tx.batch(third))])
      expect(await catchError(run())).toMatchObject({ code: "REFUSED" });
    const names = await driver.query("SELECT name FROM settings WHERE value = 'x' ORDER BY name");
    expect(names.map(({ name }) => name)).toEqual(["first", "second"]);
    await driver.batch([bind("DELETE FROM settings WHERE value = 'x'")]);
  });

  test("the leader's lease ends by the database's clock", async () => {
    const now = await readDatabaseClock(driver);
    if (kind.kind === "embedded") expect(now).toBeNull();
    else expect(Math.abs((now ?? 0) - Date.now())).toBeLessThan(60_000);
  });
});
