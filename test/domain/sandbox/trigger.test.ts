import { expect, test } from "bun:test";
import { sandboxTeachers } from "../../../src/domain/sandbox/teachers.ts";
import { triggerEvent } from "../../../src/domain/sandbox/trigger.ts";
import { licenseStatusOn } from "../../../src/domain/teachers/teachers.ts";
import { type EventType, eventTypes } from "../../../src/partner/contract.ts";
import { lagos } from "../../harness/clock.ts";
import { catchError } from "../../harness/rejection.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

const trigger = (world: TestStores, eventType: EventType, value: string) =>
  triggerEvent({ ...world, calendar: lagos, actor: "test" }, { eventType, key: { by: "regNo", value } });

/** One teacher for each state from which an event can come. */
const inEachState = sandboxTeachers.filter(({ tId }) =>
  [1001, 1002, 1003, 1004, 1005, 1006, 1009].includes(tId ?? 0),
);

async function putAll({ put }: TestStores): Promise<void> {
  for (const { shows: _shows, nin: _nin, email: _email, phone: _phone, ...teacher } of inEachState)
    await put(teacher.regNo, teacher);
}

test("tvs trigger causes every event for a teacher in every state, as the teacher's last event", () =>
  withStores(async (world) => {
    await putAll(world);
    for (const [index, { regNo }] of inEachState.entries()) {
      // Each teacher begins with a different event, so that each event happens in each state.
      const order = [...eventTypes.slice(index), ...eventTypes.slice(0, index)];
      for (const eventType of order) await causes(world, eventType, regNo);
    }
  }));

test("the triggered events of one teacher have increasing times", () =>
  withStores(async (world) => {
    await world.put("A/B/C/1");
    for (const eventType of ["license.revoked", "license.revoked", "license.reinstated"] as const)
      await trigger(world, eventType, "A/B/C/1");
    const triggered = (await world.events("A/B/C/1")).slice(-4);
    const twice = ["license.revoked", "license.reinstated"];
    expect(triggered.map(({ eventType }) => eventType)).toEqual([...twice, ...twice]);
    const times = triggered.map(({ occurredAt }) => occurredAt);
    expect(times).toEqual([...new Set(times)].sort());
  }));

test("tvs trigger first makes the events that are due by date, such as an expiry", () =>
  withStores(async (world) => {
    await world.put("A/B/C/1", { licenseExpiryDate: "2026-05-03" });
    world.clock.set("2026-05-10T09:00:00Z");
    const done = await trigger(world, "license.reinstated", "A/B/C/1");
    expect(done.before.map(({ eventType }) => eventType)).toEqual(["license.expired"]);
  }));

test("tvs trigger for an unknown teacher is refused", () =>
  withStores(async (world) => {
    const asked = trigger(world, "license.expired", "NO/BO/DY/1");
    expect(await catchError(asked)).toMatchObject({ code: "NOT_KNOWN" });
  }));

async function causes(world: TestStores, eventType: EventType, regNo: string): Promise<void> {
  const before = (await world.events(regNo)).length;
  const done = await trigger(world, eventType, regNo);
  const events = (await world.events(regNo)).slice(before);
  const caused = [...done.before.map((one) => one.eventType), eventType];
  expect([regNo, events.map((one) => one.eventType)]).toEqual([regNo, caused]);
  // The record has the same status as the event.
  const teacher = await world.find(regNo);
  const { certificateStatus } = teacher;
  const licenseStatus = licenseStatusOn(teacher, "2026-05-01");
  expect(events.at(-1)?.data).toMatchObject({ regNo, licenseStatus, certificateStatus });
}
