import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKey, keyRing } from "../../src/domain/keys.ts";
import type { WebhookEvent } from "../../src/partner/contract.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { verifyEvent } from "../../src/partner/verify-event.ts";
import { statement } from "../../src/store/driver/driver.ts";
import { aTeacherWrite } from "../harness/samples.ts";
import { openTestService, type PartnerName, type TestService } from "../harness/service.ts";

const events = "/v1/inter-agency/events";
const issuer = "https://teachers.example";
type Page = { data: (WebhookEvent & { set: string })[]; iterator: string | null; done: boolean };

let world: TestService;
beforeAll(async () => {
  world = await openTestService();
});
afterAll(() => world.close());

/** Newcomers, of whom partners are told two events each: their licence's, then their certificate's. */
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

async function keysOf() {
  const at = (name: string) => world.call(`/v1/inter-agency/.well-known/${name}`).then((one) => one.text());
  return createKeySet({ jwks: await at("jwks.json"), keyHistory: await at("key-history"), issuer });
}

describe("events to fetch", () => {
  test("come each once, in order, page by page, while others are added, to every partner, signed", async () => {
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

    const keys = await keysOf();
    for (const audience of ["full", "unscoped"] as const) {
      const { data } = await fetchPage("limit=500", audience);
      expect(data.map(({ eventId }) => eventId)).toEqual(
        [...first.data, ...last.data].map(({ eventId }) => eventId),
      );
      for (const { set, eventId, eventType, data: said } of data) {
        const { valid, event, verifiedAt } = await verifyEvent(set, { keys, issuer, audience });
        expect({ valid, event }).toEqual({ valid: true, event: { eventId, eventType, data: said } });
        expect(verifiedAt).toBe("2023-11-14T22:13:20Z");
      }
    }
    const [header, payload] = (first.data[0]?.set ?? "")
      .split(".", 2)
      .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));
    const { eventId = "", data: said } = first.data[0] ?? {};
    expect(header).toEqual({ alg: "RS256", kid: expect.any(String), typ: "secevent+jwt" });
    expect(payload).toEqual({
      ...{ iss: issuer, aud: "full", iat: 1_700_000_000, jti: eventId },
      sub_id: { format: "opaque", id: "A/1/B/1" },
      events: { "urn:tvs:event:license.verified": said },
    });
  });

  test("are refused for a page that cannot be, and cost a call of the minute", async () => {
    const { iterator } = await fetchPage("", "unscoped");
    const bad: [string, string][] = [
      ...["0", "501", "1.5", "x", ""].map((limit): [string, string] => [`limit=${limit}`, "REQUEST_INVALID"]),
      ...["x", "", "%00", iterator].map((after): [string, string] => [`after=${after}`, "ITERATOR_INVALID"]),
    ];
    for (const [query, code] of bad) expect(await refusal(query)).toMatchObject({ status: 400, code });
    const left = async () =>
      Number((await world.call(events, { as: "full" })).headers.get("X-RateLimit-Remaining"));
    expect((await left()) - (await left())).toBe(1);
    expect((await world.call(events, { as: "spent" })).status).toBe(429);
    expect((await world.call(events)).status).toBe(401);
  });

  test("stay as they were told when the filter changes, which is of what comes", async () => {
    const { iterator } = await fetchPage("limit=500");
    const told_ = { events: ["license.verified"], teachers: "all" } as const;
    await world.operator.stores.partners.update({ partnerId: "full", told: told_ });
    await register("A/1/B/4");
    expect(told(await fetchPage(`after=${iterator}`))).toEqual(["license.verified A/1/B/4"]);
    expect((await fetchPage("limit=500")).data).toHaveLength(7);
  });

  test("go on after a rotation, by the new key", async () => {
    const kids = async () =>
      (await fetchPage()).data.map(({ set }) => JSON.parse(atob(set.split(".", 1)[0] ?? "")).kid);
    const [before] = await kids();
    const { stores, secrets } = world.operator;
    const { active, pending } = keyRing(await stores.keys.list());
    const at = Date.parse("2026-03-01T09:30:00.250Z");
    await stores.keys.rotate({
      ...{ active: active.kid, pending: pending.kid, at },
      next: await generateKey(secrets, 2048, at),
    });
    const [after, ...more] = await kids();
    expect(after).not.toBe(before);
    expect(new Set(more)).toEqual(new Set([after]));
  });

  test("that are gone are never passed over: 410 says from where to go on", async () => {
    const [first, second] = [await fetchPage("limit=1"), await fetchPage("limit=2")];
    const { driver } = world.operator;
    await driver.batch([
      statement("DELETE FROM told WHERE event = (SELECT min(event) FROM told WHERE partner_id = 'full')"),
    ]);
    const gone = await refusal(`after=${first.iterator}`);
    expect(gone).toMatchObject({ status: 410, code: "EVENTS_GONE" });
    const left = await fetchPage(`after=${gone.body.oldest}`);
    expect(left.data).toHaveLength(6);
    const details = await refusal(`after=${first.iterator}`, { Accept: "application/problem+json" });
    expect(details.body).toMatchObject({ code: "EVENTS_GONE", oldest: expect.any(String) });
    // Who stands at what is still there misses nothing.
    expect((await fetchPage(`after=${second.iterator}`)).data).toEqual(left.data.slice(1));

    // As after a restore, which gives the numbers of what it has lost again: another event stands in the same place.
    await driver.batch([
      statement("UPDATE events SET event_id = ? WHERE event_id = ?", ["other", left.data[0]?.eventId ?? ""]),
    ]);
    expect(await refusal(`after=${second.iterator}`)).toMatchObject({ status: 410, code: "EVENTS_GONE" });
  });
});
