import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { routes } from "../../src/routes.ts";
import { aClock } from "../harness/clock.ts";
import { openTestService, type PartnerName, type TestService } from "../harness/service.ts";

const me = "/v1/inter-agency/me";
let clock: ReturnType<typeof aClock>;
let world: TestService;
/** Each test has a service of its own: it changes the keys and terms that others ask with. */
beforeEach(async () => {
  clock = aClock("2026-03-01T09:30:00.250Z");
  world = await openTestService({ clock });
  for (const partnerId of ["full", "unscoped"])
    await world.operator.stores.partners.update({
      partnerId,
      selfService: true,
      perMinute: 5_000,
      perDay: 5_000,
    });
  // Nothing is sent, so that each delivery is where the test puts it.
  await world.operator.stores.settings.write({ hold_webhooks: "true" });
});
afterEach(() => world.close());

type Sent = { as?: PartnerName; key?: string; body?: unknown };

/** A call about the partner `full`, as its status, code and body. */
async function ask(method: string, path: string, { as = "full", key, body }: Sent = {}) {
  const who = key === undefined ? { as } : { headers: { Authorization: `Bearer ${key}` } };
  const response = await world.call(`${me}${path}`, {
    method,
    ...who,
    ...(body === undefined ? {} : { body }),
  });
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
const changesOf = async (partnerId = "full") =>
  (
    await world.operator.stores.changes.list({
      subject: `partner:${partnerId}`,
      actor: `partner:${partnerId}`,
      limit: 99,
    })
  ).map(({ action, detail }) => [action, detail]);

describe("what a partner sees of itself", () => {
  test("is what was agreed, told and used, and nothing that opens the service", async () => {
    const { status, answer: seen, headers } = await ask("GET", "");
    expect([status, headers.get("Cache-Control")]).toEqual([200, "no-store"]);
    expect(seen).toMatchObject({ partnerId: "full", webhook: null, selfService: true });
    expect(seen).toMatchObject({ told: { events: "all", teachers: "all" }, credentials: [seen.credential] });
    const quota = { perMinute: 5000, perDay: 5000, usedToday: 0, dayEndsAt: "2026-03-02T00:00:00.000Z" };
    expect(seen.quota).toEqual(quota);
    expect(JSON.stringify(seen)).not.toMatch(/tvs_|whsec_|mac/);
  });

  test("asks for no scope, and costs the minute alone, once", async () => {
    const calls = [await ask("GET", "", { as: "unscoped" }), await ask("GET", "", { as: "unscoped" })];
    const [first = 0, second] = calls.map(({ headers }) => Number(headers.get("X-RateLimit-Remaining")));
    expect([calls[1]?.status, second]).toEqual([200, first - 1]);
    expect(calls[1]?.answer).toMatchObject({ quota: { usedToday: 0 } });
    expect(await refused(ask("GET", "", { as: "spent" }))).toEqual([429, "MINUTE_QUOTA"]);
    expect((await world.call(me)).headers.get("X-Error-Code")).toBe("CREDENTIAL_REQUIRED");
  });
});

describe("what a partner changes", () => {
  test("is what the operator left to it, and nothing is changed or read of the body before", async () => {
    await world.operator.stores.partners.update({ partnerId: "full", selfService: false });
    const changing = routes.filter((route) => "changes" in route && route.changes === true);
    expect(
      changing
        .map(({ path }) => path.split("/")[4])
        .sort()
        .join(),
    ).toBe("keys,keys,told,webhook,webhook,webhook");
    for (const { method, path } of changing)
      expect(await refused(ask(method, path.slice(me.length), { body: "{" }))).toEqual([
        403,
        "SELF_SERVICE_OFF",
      ]);
    await world.operator.stores.partners.update({ partnerId: "full", selfService: true });
    expect(await changesOf()).toEqual([]);
  });

  test("is what it is told of: what is left out stays, and what is so already is no change", async () => {
    const events = ["license.revoked"];
    const told = (body: object) => ask("PUT", "/told", { body, as: "unscoped" });
    // As many words as there are events, and yet not all of them.
    const sevenTimes = await told({ events: Array(7).fill("license.revoked") });
    expect(sevenTimes.answer).toEqual({ events, teachers: "all" });
    expect((await told({ events })).answer).toEqual({ events, teachers: "all" });
    expect((await told({ teachers: "watched" })).answer).toEqual({ events, teachers: "watched" });
    expect((await told({})).answer).toEqual({ events, teachers: "watched" });
    const revision = await world.operator.stores.settings.revision();
    for (let again = 0; again < 25; again++) expect((await told({ teachers: "watched" })).status).toBe(200);
    expect(await world.operator.stores.settings.revision()).toBe(revision);
    expect((await told({ events: "all", teachers: "all" })).answer).toEqual({
      events: "all",
      teachers: "all",
    });
    for (const body of [{ events: ["x"] }, { events: "none" }, { teachers: "some" }, [], "[]", { events: 1 }])
      expect(await refused(ask("PUT", "/told", { body }))).toEqual([400, "REQUEST_INVALID"]);
    expect(await changesOf("unscoped")).toHaveLength(3);
  });

  test("are its keys: a second one, no third, and not the one that asks", async () => {
    for (const overlap of ["0s", "59m", "8d", "x", 24])
      expect(await refused(ask("POST", "/keys", { body: { overlap } }))).toEqual([400, "REQUEST_INVALID"]);
    const old = (await ask("GET", "")).answer.credential;
    const made = (await ask("POST", "/keys")).answer;
    expect(made.previous).toEqual({
      keyId: old.keyId,
      expiresAt: new Date(clock.now() + 86_400_000).toISOString(),
    });
    expect(await refused(ask("POST", "/keys", { body: { overlap: "1h" } }))).toEqual([409, "KEY_LIMIT"]);
    expect(await refused(ask("DELETE", `/keys/${old.keyId}`))).toEqual([409, "KEY_ASKING"]);
    const others = (await ask("GET", "", { as: "unscoped" })).answer.credential;
    for (const keyId of [others.keyId, "unknown", "%00", "a%2Fb"])
      expect(await refused(ask("DELETE", `/keys/${keyId}`, { key: made.apiKey }))).toEqual([
        404,
        "KEY_UNKNOWN",
      ]);
    const left = await ask("DELETE", `/keys/${old.keyId}`, { key: made.apiKey });
    expect(left.answer).toMatchObject({ credentials: [{ keyId: made.keyId, expiresAt: null }] });
    expect(await refused(ask("GET", ""))).toEqual([401, "CREDENTIAL_INVALID"]);
    expect(await changesOf()).toEqual([
      ["key revoked", old.keyId],
      ["key issued", `${made.keyId} with ${old.keyId}`],
    ]);
    expect((await ask("GET", "", { as: "unscoped" })).status).toBe(200);
  });

  test("is its webhook, whose secret it sees once, and whose refused addresses all look alike", async () => {
    const as = "unscoped";
    const [own, body] = [{ as } as const, { url: "https://203.0.114.7/hook" }];
    expect(await refused(ask("POST", "/webhook/test", own))).toEqual([404, "NO_WEBHOOK"]);
    expect(await refused(ask("POST", "/webhook/rotate-secret", own))).toEqual([404, "NO_WEBHOOK"]);
    const messages = new Set();
    for (const url of [
      "http://203.0.114.7/",
      "https://10.0.0.1/",
      "https://localhost/",
      "https://a.invalid/",
      "x",
      "",
    ]) {
      const { status, code, answer } = await ask("PUT", "/webhook", { as, body: { url } });
      messages.add([status, code, answer.message].join(" "));
    }
    expect([...messages]).toEqual([
      "400 WEBHOOK_ADDRESS_REFUSED url must be https and lead to public addresses only",
    ]);
    const first = (await ask("PUT", "/webhook", { as, body })).answer;
    expect(first).toEqual({ ...body, state: "enabled", secret: expect.stringMatching(/^whsec_/) });
    const before = await changesOf(as);
    expect((await ask("PUT", "/webhook", { as, body })).answer).toEqual({
      ...body,
      state: "enabled",
    });
    expect(await changesOf(as)).toEqual(before);
    const rotated = await ask("POST", "/webhook/rotate-secret", { as, body: { overlap: "0s" } });
    expect(rotated.answer).toMatchObject({ ...body, previousSecretUntil: null });
    expect(rotated.answer.secret).not.toBe(first.secret);
    await world.operator.stores.webhooks.disable(as, clock.now());
    expect(await refused(ask("POST", "/webhook/test", own))).toEqual([409, "WEBHOOK_DISABLED"]);
    expect(await refused(ask("PUT", "/webhook", { as, body }))).toEqual([409, "WEBHOOK_DISABLED"]);
    expect((await ask("GET", "", own)).answer.webhook).toEqual({ ...body, state: "disabled" });
    expect((await changesOf(as)).slice(0, 2)).toEqual([
      ["webhook secret rotated", null],
      ["webhook set", "https://203.0.114.7"],
    ]);
  });

  test("is refused beyond twenty times a minute, by the commit, and tells when the next one may come", async () => {
    const flip = (at: number) =>
      ask("PUT", "/told", { as: "unscoped", body: { teachers: at % 2 ? "all" : "verified" } });
    for (let at = 0; at < 20; at++) expect([at, (await flip(at)).status]).toEqual([at, 200]);
    clock.add(45_500);
    const { status, code, answer, headers } = await flip(20);
    expect([status, code, answer.retryAfterSeconds, headers.get("Retry-After")]).toEqual([
      429,
      "CHANGE_QUOTA",
      15,
      "15",
    ]);
    expect((await ask("GET", "", { as: "unscoped" })).answer).toMatchObject({ told: { teachers: "all" } });
    clock.add(15_000);
    expect((await flip(20)).status).toBe(200);
  });
});

describe("a partner's deliveries", () => {
  test("are its own, in pages that stand still while new ones come, and are sent again when it asks", async () => {
    const as = "unscoped";
    await ask("PUT", "/webhook", { as, body: { url: "https://203.0.114.7/hook" } });
    const made: string[] = [];
    for (let count = 0; count < 3; count++)
      made.unshift((await ask("POST", "/webhook/test", { as })).answer.deliveryId);
    const page = async (query: string) => (await ask("GET", `/deliveries?${query}`, { as })).answer;
    const ids = ({ data }: { data: { deliveryId: string }[] }) => data.map(({ deliveryId }) => deliveryId);
    const first = await page("limit=2");
    await ask("POST", "/webhook/test", { as });
    const second = await page(`limit=2&after=${first.iterator}`);
    expect([ids(first), ids(second), second.done]).toEqual([made.slice(0, 2), made.slice(2), true]);
    expect(ids(await page("state=dead"))).toEqual([]);
    expect(await refused(ask("GET", "/deliveries?state=x", { as }))).toEqual([400, "REQUEST_INVALID"]);
    expect(await refused(ask("GET", `/deliveries?state=pending&after=${first.iterator}`, { as }))).toEqual([
      400,
      "ITERATOR_INVALID",
    ]);

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
      url: "https://203.0.114.7/hook",
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
    const recorded = () => world.operator.stores.changes.list({ actor: `partner:${as}`, limit: 999 });
    const before = (await recorded()).length;
    expect((await ask("POST", `/deliveries/${newest}/retry`, { as })).answer).toEqual(shown.answer);
    expect(await recorded()).toHaveLength(before);
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
});
