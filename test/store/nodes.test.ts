import { beforeEach, expect, test } from "bun:test";
import { nodeTimes } from "../../src/domain/nodes.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { fenced } from "../../src/store/driver/fenced.ts";
import { createNodeStore, housekeepingLease } from "../../src/store/nodes.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { rejection } from "../harness/rejection.ts";

const [one, other] = ["01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"];
const report = (nodeId: string) => ({
  nodeId,
  host: "one.example",
  url: "http://one.example:8080",
  version: "1.0.0",
  clockAheadMs: -3,
  pendingKid: "a-kid",
  consolePort: 9464,
});

describeDrivers("the nodes", (kind, database) => {
  let driver: Driver;
  beforeEach(async () => {
    driver = database.driver();
    await driver.batch([
      { sql: "DELETE FROM nodes", args: [] },
      { sql: "DELETE FROM leases", args: [] },
    ]);
  });
  /** Lets so much time go by, as far as the nodes and leases know. */
  const age = (ms: number) =>
    driver.batch([
      { sql: "UPDATE nodes SET seen_at = seen_at - ?", args: [ms] },
      { sql: "UPDATE leases SET expires_at = expires_at - ?", args: [ms] },
    ]);
  const states = async () => {
    const { nodes } = await createNodeStore(driver).beat(report(one));
    return nodes.map(({ nodeId, state }) => [nodeId, state]);
  };

  /** Over a file there is one, and nothing is to be known by its beats. A test that was skipped would prove nothing. */
  const ofSeveral = kind.kind === "remote" ? test : () => {};
  const ofOne = kind.kind === "remote" ? () => {} : test;

  ofSeveral("know each other, and who has not been seen for ten seconds is gone", async () => {
    const nodes = createNodeStore(driver);
    expect((await nodes.beat(report(other))).nodes).toMatchObject([{ ...report(other), state: "live" }]);
    await age(nodeTimes.goneMs - 1_000);
    expect(await states()).toEqual([
      [one, "live"],
      [other, "live"],
    ]);
    await age(2_000);
    expect(await states()).toEqual([
      [one, "live"],
      [other, "gone"],
    ]);
    await nodes.forget(nodeTimes.goneMs);
    expect(await states()).toEqual([[one, "live"]]);
  });

  ofSeveral(
    "are gone, and so is their lease, when they were last seen at a time that is yet to come",
    async () => {
      const nodes = createNodeStore(driver);
      await nodes.beat(report(other));
      // The database's clock is set back by an hour.
      await age(-3_600_000);
      expect((await nodes.list()).map(({ state }) => state)).toEqual(["gone"]);
      expect((await nodes.beat(report(one))).fence).toBe(2);
      expect(await states()).toEqual([
        [one, "live"],
        [other, "gone"],
      ]);
      expect((await nodes.beat(report(other))).nodes).toMatchObject([{ state: "live" }, { state: "live" }]);
    },
  );

  test("whose clock is wrong keep no house, and give it back", async () => {
    const nodes = createNodeStore(driver);
    expect((await nodes.beat(report(one))).fence).toBe(1);
    expect((await nodes.beat({ ...report(one), clockAheadMs: 31_000 })).fence).toBeNull();
    expect((await nodes.beat(report(other))).fence).toBe(2);
    expect((await nodes.beat({ ...report(one), clockAheadMs: -31_000 })).nodes).toMatchObject([
      { keepsHouse: false },
      { keepsHouse: true },
    ]);
  });

  test("keep their start, and the database tells the time of both", async () => {
    const nodes = createNodeStore(driver);
    const [first] = (await nodes.beat(report(one))).nodes;
    await age(5_000);
    const { nodes: found, now } = await nodes.beat({ ...report(one), pendingKid: null });
    expect(found).toMatchObject([{ startedAt: first?.startedAt, pendingKid: null }]);
    expect(found[0]?.seenAt).toBeGreaterThanOrEqual(first?.seenAt ?? Number.NaN);
    expect(now === null).toBe(kind.kind === "embedded");
  });

  ofSeveral("have one housekeeper, and the next one when it is gone, under another fence", async () => {
    const nodes = createNodeStore(driver);
    expect((await nodes.beat(report(one))).fence).toBe(1);
    expect((await nodes.beat(report(other))).fence).toBeNull();
    await age(nodeTimes.leaseMs - 2_000);
    expect((await nodes.beat(report(other))).fence).toBeNull();
    expect((await nodes.beat(report(one))).fence).toBe(1);
    await age(nodeTimes.leaseMs + 1_000);
    expect((await nodes.beat(report(other))).fence).toBe(2);
    expect((await nodes.beat(report(one))).fence).toBeNull();
    await nodes.leave(other);
    expect((await nodes.beat(report(one))).fence).toBe(3);
    const keepers = async () =>
      (await nodes.beat(report(other))).nodes.map(({ nodeId, keepsHouse }) => [nodeId, keepsHouse]);
    expect(await keepers()).toEqual([
      [one, true],
      [other, false],
    ]);
    await age(nodeTimes.leaseMs + 1_000);
    expect(await keepers()).toEqual([
      [one, false],
      [other, true],
    ]);
  });

  test("let the old housekeeper write nothing any more once there is another", async () => {
    const nodes = createNodeStore(driver);
    const { fence } = await nodes.beat(report(one));
    const keeper = fenced(driver, housekeepingLease(one, fence ?? 0));
    const write = {
      sql: "INSERT INTO settings (name, value) VALUES (?, 'x') RETURNING name",
      args: ["first"],
    };
    expect(await keeper.batch([write])).toEqual([[{ name: "first" }]] as never);
    await age(nodeTimes.leaseMs + 1_000);
    // Nobody has taken it over yet.
    await keeper.batch([{ ...write, args: ["second"] }]);
    expect((await nodes.beat(report(other))).fence).toBe(2);
    const late = rejection(keeper.batch([{ ...write, args: ["third"] }]));
    expect(await late).toMatchObject({ code: "STORE_CONSTRAINT" });
    const names = await driver.query("SELECT name FROM settings WHERE value = 'x' ORDER BY name");
    expect(names.map(({ name }) => name)).toEqual(["first", "second"]);
    await driver.batch([{ sql: "DELETE FROM settings WHERE value = 'x'", args: [] }]);
  });

  ofOne("of a file are seen by its lock, and say nothing while it is held", async () => {
    const nodes = createNodeStore(driver);
    const service = await database.another();
    await service.lockService();
    await nodes.beat(report(one));
    await age(100 * nodeTimes.forgetMs);
    await nodes.forget(nodeTimes.forgetMs);
    const [listed] = await nodes.list();
    expect(listed).toMatchObject({ nodeId: one, state: "live", keepsHouse: true });
    expect(Math.abs((listed?.seenAt ?? 0) - Date.now())).toBeLessThan(60_000);
    await service.close();
    expect(await nodes.list()).toMatchObject([{ nodeId: one, state: "gone", keepsHouse: false }]);
  });

  test("say where their console is with each beat", async () => {
    const nodes = createNodeStore(driver);
    await nodes.beat(report(one));
    await driver.batch([{ sql: "UPDATE nodes SET console_port = 1", args: [] }]);
    expect((await nodes.beat(report(one))).nodes).toMatchObject([{ consolePort: 9464 }]);
  });

  test("of a file are gone when nobody has its lock, whenever they were seen", async () => {
    const nodes = createNodeStore(driver);
    await nodes.beat(report(one));
    const listed = (await nodes.list()).map(({ state }) => state);
    expect(listed).toEqual([kind.kind === "embedded" ? "gone" : "live"]);
    expect(await driver.serviceRunning()).toBe(kind.kind === "remote");
    await nodes.removeOthers(other);
    expect(await nodes.list()).toEqual([]);
    expect(await driver.serviceRunning()).toBe(false);
  });
});
