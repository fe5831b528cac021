import { expect, test } from "bun:test";
import type { WebhookEvent } from "../../src/partner/contract.ts";
import { bind } from "../../src/store/driver/driver.ts";
import { aTeacherWrite } from "../harness/samples.ts";
import { type PartnerName, sharedTestService } from "../harness/service.ts";

const events = "/v1/inter-agency/events";
type Page = { data: WebhookEvent[]; iterator: string | null; done: boolean };

const world = sharedTestService();

/** Adds teachers. Each teacher causes two events, first of the licence, then of the certificate. */
const register = (...regNos: string[]) =>
  world.operator.stores.teachers.apply(regNos.map((regNo) => aTeacherWrite(regNo)));

async function fetchPage(query = "", as: PartnerName = "full"): Promise<Page> {
  const response = await world.call(`${events}?${query}`, { as });
  expect([response.status, response.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  return response.json();
}

const told = (page: Page) => page.data.map(({ eventType, data }) => `${eventType} ${data.regNo}`);
const both = (...regNos: string[]) =>
  regNos.flatMap((regNo) => [`license.verified ${regNo}`, `certificate.verified ${regNo}`]);

async function refusal(query: string, headers: HeadersInit = {}) {
  const response = await world.call(`${events}?${query}`, { as: "full", headers });
  return { status: response.status, code: response.headers.get("X-Error-Code"), body: await response.json() };
}

test("every partner fetches each event once, in order, page by page, while other events are added", async () => {
  expect(await fetchPage()).toEqual({ data: [], iterator: null, done: true });
  await register("A/1/B/1", "A/1/B/2");
  const first = await fetchPage("limit=3");
  expect([told(first), first.done]).toEqual([both("A/1/B/1", "A/1/B/2").slice(0, 3), false]);
  await register("A/1/B/3");
  const last = await fetchPage(`limit=3&after=${first.iterator}`);
  expect([told(last), last.done]).toEqual([both("A/1/B/2", "A/1/B/3").slice(1), true]);
  expect(await fetchPage(`after=${last.iterator}`)).toEqual({
    data: [],
    iterator: last.iterator,
    done: true,
  });
  expect(told(await fetchPage("limit=3"))).toEqual(told(first));

  const ids = (page: Page) => page.data.map(({ eventId }) => eventId);
  for (const audience of ["full", "unscoped"] as const)
    expect(ids(await fetchPage("limit=500", audience))).toEqual([...ids(first), ...ids(last)]);
  expect([first.iterator, last.iterator]).toEqual([ids(first).at(-1), ids(last).at(-1)] as string[]);
  // Each fetched event has the members of a webhook's body.
  expect(Object.keys(first.data[0] ?? {})).toEqual(["eventId", "eventType", "occurredAt", "data"]);
});

test("a request for events with a wrong limit or cursor gets 400, and each page costs one call of the minute quota", async () => {
  const bad = [
    ...["0", "501", "-1", "1.5", "1e999", "x", ""].map((limit) => `limit=${limit}`),
    ...["x", "", "%00", "7"].map((after) => `after=${after}`),
  ];
  for (const query of bad)
    expect(await refusal(query)).toMatchObject({ status: 400, code: "REQUEST_INVALID" });
  const left = async () =>
    Number((await world.call(events, { as: "full" })).headers.get("X-RateLimit-Remaining"));
  expect((await left()) - (await left())).toBe(1);
  expect((await world.call(events, { as: "spent" })).status).toBe(429);
  expect((await world.call(events)).status).toBe(401);
});

test("a changed event filter applies to later events only", async () => {
  const { iterator } = await fetchPage("limit=500");
  const told_ = { events: ["license.verified"], teachers: "all" } as const;
  await world.operator.stores.partners.update({ partnerId: "full", eventFilter: told_ });
  await register("A/1/B/4");
  expect(told(await fetchPage(`after=${iterator}`))).toEqual(["license.verified A/1/B/4"]);
  expect((await fetchPage("limit=500")).data).toHaveLength(7);
});

test("a cursor gets 410 EVENTS_GONE if its event was deleted or belongs to another partner", async () => {
  const [first, second] = [await fetchPage("limit=1"), await fetchPage("limit=2")];
  const { driver } = world.operator;
  await driver.batch([
    bind(
      "DELETE FROM partner_events WHERE event = (SELECT min(event) FROM partner_events WHERE partner_id = 'full')",
    ),
  ]);
  expect(await refusal(`after=${first.iterator}`)).toMatchObject({ status: 410, code: "EVENTS_GONE" });
  const left = await fetchPage();
  expect(left.data).toHaveLength(6);
  // If the event of its cursor still exists, a partner misses no later event.
  expect((await fetchPage(`after=${second.iterator?.toUpperCase()}`)).data).toEqual(left.data.slice(1));

  // After a restore, a new event may have the number of a lost event, but never its id.
  const other = "019ca8c4-7b60-7b14-bd0e-55f0c1a2e9d3";
  const [next = ""] = left.data.map(({ eventId }) => eventId);
  await driver.batch([bind("UPDATE events SET event_id = ? WHERE event_id = ?", [other, next])]);
  expect(await refusal(`after=${second.iterator}`)).toMatchObject({ status: 410, code: "EVENTS_GONE" });

  const [others = ""] = (await fetchPage("limit=500", "unscoped")).data.map(({ eventId }) => eventId);
  await driver.batch([bind("DELETE FROM partner_events WHERE partner_id = 'full'")]);
  expect(await refusal(`after=${others}`)).toMatchObject({ status: 410, code: "EVENTS_GONE" });
  expect(await fetchPage()).toEqual({ data: [], iterator: null, done: true });
});
