import { expect, mock, spyOn, test } from "bun:test";
import { createTimeZoneCalendar } from "../../src/domain/clock.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { startLicenseSweeps, sweepLicenses } from "../../src/domain/sweep.ts";
import type { TeacherStore } from "../../src/store/teachers.ts";
import { lagos } from "../harness/clock.ts";
import { until } from "../harness/eventually.ts";
import { catchError } from "../harness/rejection.ts";
import { withStores, withStoresAt } from "../harness/store.ts";

const regNo = "TR/LA/2020/000001";
const options = { calendar: lagos, actor: "test" };

function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `TR/LA/2020/${index}`);
}

test("a sweep gives an expiry event the time of the local midnight after the expiry day", () =>
  withStores(async ({ teachers, clock, put, find, events }) => {
    const { id } = await put(regNo, { licenseExpiryDate: "2026-05-31" });
    clock.set("2026-05-31T22:59:59Z");
    const nothing = { date: "2026-05-31", expired: 0, started: 0, events: 0 };
    expect(await sweepLicenses(teachers, { ...options, clock })).toEqual(nothing);
    clock.set("2026-06-01T09:00:00Z");
    const one = { date: "2026-06-01", expired: 1, started: 0, events: 1 };
    expect(await sweepLicenses(teachers, { ...options, clock })).toEqual(one);
    expect((await events(regNo)).at(-1)).toMatchObject({
      eventType: "license.expired",
      occurredAt: "2026-05-31T23:00:00.000Z",
      data: { regNo, licenseStatus: "EXPIRED", previousStatus: "VALID" },
    });
    expect((await find(regNo)).announcedStatus).toBe("EXPIRED");
    const swept = { action: "sweep", actor: "test", at: clock.now() };
    expect((await teachers.history(id)).at(-1)).toMatchObject(swept);
  }));

test("a sweep after missed days makes one event for each expiry, with the time of that expiry", () =>
  withStoresAt("2026-03-01T09:00:00Z", async ({ teachers, clock, put, events }) => {
    const london = createTimeZoneCalendar("Europe/London");
    await put("A/B/C/1", { licenseExpiryDate: "2026-03-28" });
    await put("A/B/C/2", { licenseExpiryDate: "2026-03-29" });
    await put("A/B/C/3", { licenseExpiryDate: "2026-10-25" });
    clock.set("2027-01-01T12:00:00Z");
    const sweep = () => sweepLicenses(teachers, { ...options, calendar: london, clock });
    for (const count of [3, 0]) expect(await sweep()).toMatchObject({ expired: count, events: count });
    const at = async (name: string) => (await events(name)).map(({ occurredAt }) => occurredAt).at(-1);
    // The clocks of London change on 29 March and on 25 October.
    expect(await at("A/B/C/1")).toBe("2026-03-29T00:00:00.000Z");
    expect(await at("A/B/C/2")).toBe("2026-03-29T23:00:00.000Z");
    expect(await at("A/B/C/3")).toBe("2026-10-26T00:00:00.000Z");
  }));

test.each<[string, string, string, object, [string, string][]]>([
  [
    "a licence that begins at the midnight of its issue date",
    ...(["2027-06-30", "2026-07-03", { started: 1, expired: 0, events: 1 }] as const),
    [["license.verified", "2026-06-30T23:00:00.000Z"]],
  ],
  [
    "a licence that began and ended between two sweeps, in order",
    ...(["2026-07-31", "2026-12-01", { started: 1, expired: 1, events: 2 }] as const),
    [
      ["license.verified", "2026-06-30T23:00:00.000Z"],
      ["license.expired", "2026-07-31T23:00:00.000Z"],
    ],
  ],
])("a sweep causes the events of %s", (_what, licenseExpiryDate, day, swept, announced) =>
  withStores(async ({ teachers, clock, put, events }) => {
    const license = { licenseIssueDate: "2026-07-01", licenseExpiryDate };
    await put(regNo, { certificateStatus: "NOT_FOUND", ...license });
    expect(await events(regNo)).toEqual([]);
    clock.set(`${day}T09:00:00Z`);
    expect(await sweepLicenses(teachers, { ...options, clock })).toMatchObject(swept);
    const all = await events(regNo);
    expect(all.map(({ eventType, occurredAt }) => [eventType, occurredAt])).toEqual(announced);
  }),
);

test("a sweep ignores revoked, deactivated and missing licences", () =>
  withStores(async ({ teachers, clock, put }) => {
    await put("A/B/C/1", { licenseExpiryDate: "2026-05-31", licenseRevokedOn: "2026-04-01" });
    await put("A/B/C/2", { licenseExpiryDate: "2026-05-31", active: false });
    await put("A/B/C/3", { licenseExpiryDate: null });
    await put("A/B/C/4", { licenseIssueDate: "2026-05-15", active: false });
    clock.set("2026-06-20T09:00:00Z");
    const nothing = { expired: 0, started: 0, events: 0 };
    expect(await sweepLicenses(teachers, { ...options, clock })).toMatchObject(nothing);
  }));

test("a sweep can be stopped between two commits, and the next sweep continues", () =>
  withStores(async ({ teachers, clock, putMany }) => {
    await putMany(many(80), { licenseExpiryDate: "2026-05-31" });
    clock.set("2026-06-01T09:00:00Z");
    let looks = 0;
    const isStopped = () => looks++ > 0;
    expect(await sweepLicenses(teachers, { ...options, clock, isStopped })).toMatchObject({ expired: 50 });
    expect(await sweepLicenses(teachers, { ...options, clock })).toMatchObject({ expired: 30 });
  }));

test("a sweep fails if a record cannot be written", () =>
  withStores(async ({ teachers, clock, put }) => {
    await put(regNo, { licenseExpiryDate: "2026-05-31" });
    clock.set("2026-06-01T09:00:00Z");
    const stuck: TeacherStore = { ...teachers, apply: async (writes) => writes.map(() => false) };
    expect(await catchError(sweepLicenses(stuck, { ...options, clock }))).toMatchObject({ code: "INTERNAL" });
  }));

const fail = (error: unknown) => {
  throw error;
};
const configuration = { current: () => ({ calendar: lagos }) } as unknown as Configuration;

test("a service sweeps when it starts and after each local midnight", () =>
  withStores(async ({ teachers, clock, put, find }) => {
    await put("A/B/C/1", { licenseExpiryDate: "2026-05-30" });
    await put("A/B/C/2", { licenseExpiryDate: "2026-05-31" });
    clock.set("2026-05-31T22:59:59.990Z");
    const stop = startLicenseSweeps({ teachers, configuration, clock, onError: fail });
    await until(async () => (await find("A/B/C/1")).announcedStatus === "EXPIRED");
    expect((await find("A/B/C/2")).announcedStatus).toBe("VALID");
    clock.set("2026-05-31T23:00:00Z");
    await until(async () => (await find("A/B/C/2")).announcedStatus === "EXPIRED");
    await stop();
  }));

test("a service reports a failed sweep and tries again", () =>
  withStores(async ({ teachers, clock, put, find }) => {
    await put(regNo, { licenseExpiryDate: "2026-05-30" });
    clock.set("2026-05-31T22:59:59.990Z");
    spyOn(teachers, "dueByCalendar").mockRejectedValueOnce(new Error("the disk is away"));
    const onError = mock();
    const stop = startLicenseSweeps({ teachers, configuration, clock, onError });
    await until(async () => (await find(regNo)).announcedStatus === "EXPIRED");
    expect(onError).toHaveBeenCalledTimes(1);
    await stop();
  }));
