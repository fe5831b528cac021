import { afterEach, beforeEach, expect, test } from "bun:test";
import { setWebhook, testWebhook } from "../../src/domain/webhooks.ts";
import { aClock } from "../harness/clock.ts";
import { openTestService, type PartnerName, type TestService } from "../harness/service.ts";

const me = "/v1/inter-agency/me";
let clock: ReturnType<typeof aClock>;
let world: TestService;
/** Each test has a service of its own: it changes the deliveries and terms that others see. */
beforeEach(async () => {
  clock = aClock("2026-03-01T09:30:00.250Z");
  world = await openTestService({ clock });
  for (const partnerId of ["full", "unscoped"])
    await world.operator.stores.partners.update({
      partnerId,
      perMinute: 5_000,
      perDay: 5_000,
    });
  // Nothing is sent, so that each delivery is where the test puts it.
  await world.operator.stores.settings.write({ hold_webhooks: "true" });
});
afterEach(() => world.close());

type Sent = { as?: PartnerName };

async function ask(method: string, path: string, { as = "full" }: Sent = {}) {
  const response = await world.call(`${me}${path}`, { method, as });
  const text = await response.text();
  const answer = text === "" ? null : JSON.parse(text);
  return {
    status: response.status,
    code: response.headers.get("X-Error-Code"),
    answer,
    headers: response.headers,
  };
}

const refused = async (call: ReturnType<typeof ask>) => {
  const { status, code } = await call;
  return [status, code];
};

const hooks = () => {
  const { webhooks, partners } = world.operator.stores;
  return { webhooks, partners, secrets: world.operator.secrets, clock };
};

test("GET /me shows the partner's terms, event filter and quota use, and no key or secret", async () => {
  const { status, answer: seen, headers } = await ask("GET", "");
  expect([status, headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  expect(seen).toMatchObject({ partnerId: "full", webhook: null });
  expect(seen).toMatchObject({
    eventFilter: { events: "all", teachers: "all" },
    credentials: [seen.credential],
  });
  const quota = { perMinute: 5000, perDay: 5000, usedToday: 0, dayEndsAt: "2026-03-02T00:00:00.000Z" };
  expect(seen.quota).toEqual(quota);
  expect(JSON.stringify(seen)).not.toMatch(/tvs_|whsec_|mac/);
});

test("a partner lists only its own deliveries, page by page, and can send one of them again", async () => {
  const as = "unscoped";
  const url = "https://203.0.114.7/hook";
  await setWebhook(hooks(), { partnerId: as, url, check: async () => {} });
  const made: string[] = [];
  for (let count = 0; count < 3; count++) made.unshift((await testWebhook(hooks(), as)).deliveryId);
  expect((await ask("GET", "", { as })).answer.webhook).toEqual({ url, state: "enabled" });
  const page = async (query: string) => (await ask("GET", `/deliveries?${query}`, { as })).answer;
  const ids = ({ data }: { data: { deliveryId: string }[] }) => data.map(({ deliveryId }) => deliveryId);
  const first = await page("limit=2");
  await testWebhook(hooks(), as);
  const second = await page(`limit=2&after=${first.iterator}`);
  expect([ids(first), ids(second), second.done]).toEqual([made.slice(0, 2), made.slice(2), true]);
  expect(ids(await page("state=dead"))).toEqual([]);
  expect(await refused(ask("GET", "/deliveries?state=x", { as }))).toEqual([400, "REQUEST_INVALID"]);
  for (const after of ["", "x", "0", "-1", "1.5", "1e9"])
    expect(await refused(ask("GET", `/deliveries?after=${after}`, { as }))).toEqual([400, "REQUEST_INVALID"]);
  // A cursor of another partner opens nothing of that partner's.
  expect(ids((await ask("GET", `/deliveries?after=${first.iterator}`)).answer)).toEqual([]);

  const [newest = ""] = made;
  const { outbox } = world.operator.stores;
  const lease = {
    token: "00000000-0000-7000-8000-000000000001 x",
    now: clock.now(),
    until: clock.now() + 30_000,
  };
  const leased = await outbox.lease([{ partnerId: as, limit: 9, except: [] }], lease);
  const one = leased.find(({ deliveryId }) => deliveryId === newest);
  expect(await refused(ask("POST", `/deliveries/${newest}/retry`, { as }))).toEqual([
    409,
    "DELIVERY_UNDER_WAY",
  ]);
  const attempt = {
    url,
    at: clock.now(),
    finishedAt: clock.now(),
    status: 503,
    durationMs: 3,
    isGone: false,
  };
  if (one === undefined) throw new Error("not leased");
  await outbox.finish({ delivery: one, ...attempt, error: "BAD_STATUS", next: "delivered" });
  const shown = await ask("POST", `/deliveries/${newest}/retry`, { as });
  expect(shown.answer).toMatchObject({
    deliveryId: newest,
    state: "pending",
    attempts: 1,
    lastOutcome: "BAD_STATUS",
  });
  // What is due already is so: a loop of such calls leaves nothing behind.
  expect((await ask("POST", `/deliveries/${newest}/retry`, { as })).answer).toEqual(shown.answer);
  // What a partner sends again is its own affair, and no operator's change.
  const recorded = await world.operator.stores.changes.list({ limit: 999 });
  expect(recorded.filter(({ action }) => action === "retried")).toEqual([]);
  expect(shown.answer).toMatchObject({ attemptList: [{ number: 1, status: 503, outcome: "BAD_STATUS" }] });
  expect(shown.answer).not.toHaveProperty("body");
  const other = { as: "spent" } as const;
  await world.operator.stores.partners.update({ partnerId: "spent", perMinute: 100 });
  await world.service.configuration.refresh();
  for (const id of ["x", "%00", "00000000-0000-7000-8000-000000000001", newest]) {
    expect(await refused(ask("GET", `/deliveries/${id}`, other))).toEqual([404, "DELIVERY_UNKNOWN"]);
    expect(await refused(ask("POST", `/deliveries/${id}/retry`, other))).toEqual([404, "DELIVERY_UNKNOWN"]);
  }
  await world.operator.stores.webhooks.remove(as);
  expect(await refused(ask("POST", `/deliveries/${newest}/retry`, { as }))).toEqual([404, "NO_WEBHOOK"]);
});
