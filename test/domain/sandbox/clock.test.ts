import { describe, expect, test } from "bun:test";
import { createCalendar } from "../../../src/domain/clock.ts";
import { moveClock, parseClock } from "../../../src/domain/sandbox/clock.ts";
import { readSandboxState } from "../../../src/domain/sandbox/state.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

const timeZone = "Africa/Lagos";
const regNo = "A/B/C/1";

const move = (world: TestStores, aheadDays: number, options = {}) =>
  moveClock({ ...world, timeZone, actor: "test" }, aheadDays, options);

describe("a calendar that was moved", () => {
  const real = createCalendar(timeZone);
  const moved = createCalendar(timeZone, { aheadDays: 30, movedAt: 5 });
  const noon = Date.parse("2026-05-01T11:00:00Z");

  test("shows another day, which begins and ends when the true one does", () => {
    expect(moved.dateAt(noon)).toBe("2026-05-31");
    expect(moved.startOfDay("2026-05-31")).toBe(real.startOfDay("2026-05-01"));
    expect(moved.movedAt).toBe(5);
  });

  test("moved by nothing is the true one", () => {
    const still = createCalendar(timeZone, { aheadDays: 0, movedAt: 5 });
    expect(still.dateAt(noon)).toBe(real.dateAt(noon));
  });
});

describe("where the day is to be moved", () => {
  const days = { real: "2026-05-01", present: "2026-06-01" };

  test("is so many days on from the present one, a date, or the true day", () => {
    expect(parseClock("+30d", days)).toBe(61);
    expect(parseClock("2027-05-01", days)).toBe(365);
    expect(parseClock("2026-04-30", days)).toBe(-1);
    expect(parseClock("real", days)).toBe(0);
  });

  test.each(["", "+30", "30d", "-30d", "tomorrow", "2026-02-30", "+999999d", "2200-01-01", "1949-12-31"])(
    "is not %p",
    (text) => {
      expect(() => parseClock(text, days)).toThrow(expect.objectContaining({ code: "USAGE" }));
    },
  );
});

describe("moving the day", () => {
  test("announces what ends by it, at the true time, and is remembered in a sandbox", () =>
    withStores(async (world) => {
      await world.settings.write({ environment: "sandbox" });
      await world.put(regNo, { licenseExpiryDate: "2026-05-20" });
      expect(await move(world, 30)).toEqual({
        date: "2026-05-31",
        aheadDays: 30,
        expired: 1,
        started: 0,
        takenBack: 0,
        events: 1,
      });
      expect((await world.events(regNo)).at(-1)).toMatchObject({
        eventType: "license.expired",
        occurredAt: new Date(world.clock.now()).toISOString(),
      });
      const { day } = readSandboxState(await world.settings.read());
      expect(day).toEqual({ aheadDays: 30, movedAt: world.clock.now() });
    }));

  test("back makes valid again what had ended, and says so; forward again ends it again", () =>
    withStores(async (world) => {
      await world.put(regNo, { licenseExpiryDate: "2026-05-20" });
      await world.put("A/B/C/2", { licenseIssueDate: "2026-05-10", licenseExpiryDate: "2026-12-31" });
      expect(await move(world, 30)).toMatchObject({ expired: 1, started: 1, events: 2 });
      expect(await move(world, 0)).toMatchObject({ date: "2026-05-01", takenBack: 2, events: 1 });
      expect((await world.events(regNo)).at(-1)).toMatchObject({ eventType: "license.reinstated" });
      expect((await world.find("A/B/C/2")).announcedStatus).toBe("NOT_FOUND");
      expect(await move(world, 30)).toMatchObject({ expired: 1, started: 1, events: 2 });
    }));

  test("leaves a revocation alone", () =>
    withStores(async (world) => {
      await world.put(regNo, { licenseExpiryDate: "2026-04-01", licenseRevokedOn: "2026-03-01" });
      expect(await move(world, -60)).toMatchObject({ takenBack: 0, events: 0 });
      expect((await world.find(regNo)).announcedStatus).toBe("REVOKED");
    }));

  test("of many records goes through all of them, and tells nobody when it is told so", () =>
    withStores(async (world) => {
      const regNos = Array.from({ length: 120 }, (_, index) => `A/B/C/${index}`);
      await world.putMany(regNos, { licenseExpiryDate: "2026-05-20" });
      expect(await move(world, 30, { announce: false })).toMatchObject({ expired: 120, events: 0 });
      expect(await move(world, 0, { announce: false })).toMatchObject({ takenBack: 120, events: 0 });
    }));
});

test("a live register has no day but the true one, whatever stands in its database", () => {
  const stored = new Map([
    ["sandbox_day", '{"aheadDays":30,"movedAt":1}'],
    ["sandbox_relay", '{"url":"http://127.0.0.1:1/x","pid":1,"forwards":true,"before":null}'],
  ]);
  const nothing = { day: { aheadDays: 0, movedAt: 0 }, relayUrl: null, forgeryTrial: null };
  expect(readSandboxState(stored)).toEqual(nothing);
  expect(readSandboxState(new Map([...stored, ["environment", "live"]]))).toEqual(nothing);
  const sandbox = readSandboxState(new Map([...stored, ["environment", "sandbox"]]));
  expect(sandbox).toMatchObject({ day: { aheadDays: 30 }, relayUrl: "http://127.0.0.1:1/x" });
});

test("an address elsewhere is nobody who listens on this machine", () => {
  const relay = { url: "http://10.0.0.1:80/x", pid: 1, forwards: true, before: null };
  const stored = new Map([
    ["environment", "sandbox"],
    ["sandbox_relay", JSON.stringify(relay)],
  ]);
  expect(readSandboxState(stored).relayUrl).toBeNull();
});
