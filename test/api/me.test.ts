import { beforeAll, expect, test } from "bun:test";
import { queueTestEvent, setWebhook } from "../../src/domain/webhooks.ts";
import { type PartnerName, sharedTestService } from "../harness/service.ts";

const world = sharedTestService();
beforeAll(async () => {
  const { partners, settings } = world.operator.stores;
  for (const partnerId of ["full", "unscoped", "spent"])
    await partners.update({ partnerId, perMinute: 5_000, perDay: 5_000 });
  // Webhooks are held, so that each delivery stays in the state that the test gives it.
  await settings.write({ hold_webhooks: "true" });
  await world.service.configuration.refresh();
});

async function ask(
  path: string,
  { as = "full", method = "GET" }: { as?: PartnerName; method?: string } = {},
) {
  const response = await world.call(`/v1/inter-agency/me${path}`, { method, as });
  const code = response.headers.get("X-Error-Code");
  return { status: response.status, code, headers: response.headers, answer: await response.json() };
}

async function refused(call: ReturnType<typeof ask>) {
  const { status, code } = await call;
  return [status, code];
}

test("GET /me shows the partner's terms, event filter and quota use, and no key or secret", async () => {
  const { status, answer: seen, headers } = await ask("");
  expect([status, headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  expect(seen).toMatchObject({
    partnerId: "full",
    webhook: null,
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
  const { stores, secrets, clock } = world.operator;
  const hooks = { webhooks: stores.webhooks, partners: stores.partners, secrets, clock };
  await setWebhook(hooks, { partnerId: as, url, check: async () => {} });
  const made: string[] = [];
  for (let count = 0; count < 3; count++) made.unshift((await queueTestEvent(hooks, as)).deliveryId);
  expect((await ask("", { as })).answer.webhook).toEqual({ url, state: "enabled" });
  const page = async (query: string) => (await ask(`/deliveries?${query}`, { as })).answer;
  const ids = ({ data }: { data: { deliveryId: string }[] }) => data.map(({ deliveryId }) => deliveryId);
  const first = await page("limit=2");
  await queueTestEvent(hooks, as);
  const second = await page(`limit=2&after=${first.iterator}`);
  expect([ids(first), ids(second), second.done]).toEqual([made.slice(0, 2), made.slice(2), true]);
  expect(ids(await page("state=dead"))).toEqual([]);
  for (const query of ["state=x", ...["", "x", "0", "-1", "1.5", "1e9"].map((after) => `after=${after}`)])
    expect(await refused(ask(`/deliveries?${query}`, { as }))).toEqual([400, "REQUEST_INVALID"]);
  // A cursor of another partner shows none of that partner's deliveries.
  expect(ids((await ask(`/deliveries?after=${first.iterator}`)).answer)).toEqual([]);

  const [newest = ""] = made;
  const retry = (by: PartnerName = as, id = newest) =>
    ask(`/deliveries/${id}/retry`, { as: by, method: "POST" });
  const now = clock.now();
  const lease = { token: "00000000-0000-7000-8000-000000000001 x", now, until: now + 30_000 };
  const leased = await stores.outbox.lease([{ partnerId: as, limit: 9, except: [] }], lease);
  const delivery = leased.find(({ deliveryId }) => deliveryId === newest);
  if (delivery === undefined) throw new Error("not leased");
  expect(await refused(retry())).toEqual([409, "DELIVERY_UNDER_WAY"]);
  const attempt = { url, at: now, finishedAt: now, status: 503, durationMs: 3, isGone: false };
  await stores.outbox.finish({ delivery, ...attempt, error: "BAD_STATUS", next: "delivered" });
  const { answer: shown } = await retry();
  expect(shown).toMatchObject({
    ...{ deliveryId: newest, state: "pending", attempts: 1, lastOutcome: "BAD_STATUS" },
    attemptList: [{ number: 1, status: 503, outcome: "BAD_STATUS" }],
  });
  expect(shown).not.toHaveProperty("body");
  // A retry of a delivery that is due already changes nothing.
  expect((await retry()).answer).toEqual(shown);
  // A partner's retry is not recorded among the changes, which are the operator's.
  const recorded = await stores.changes.list({ limit: 999 });
  expect(recorded.filter(({ action }) => action === "retried")).toEqual([]);
  for (const id of ["x", "%00", "00000000-0000-7000-8000-000000000001", newest]) {
    expect(await refused(ask(`/deliveries/${id}`, { as: "spent" }))).toEqual([404, "DELIVERY_UNKNOWN"]);
    expect(await refused(retry("spent", id))).toEqual([404, "DELIVERY_UNKNOWN"]);
  }
  await stores.webhooks.remove(as);
  expect(await refused(retry())).toEqual([404, "NO_WEBHOOK"]);
});
