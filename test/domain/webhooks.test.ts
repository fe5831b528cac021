import { describe, expect, test } from "bun:test";
import { retryDelivery, webhookBacklog } from "../../src/domain/deliveries.ts";
import {
  describeEndpoint,
  disableWebhook,
  enableWebhook,
  removeWebhook,
  requireEndpoint,
  rotateWebhookSecret,
  setWebhook,
  signingSecrets,
  testWebhook,
} from "../../src/domain/webhooks.ts";
import { eventTypes } from "../../src/partner/contract.ts";
import { rejection } from "../harness/rejection.ts";
import { type TestWebhooks, withWebhooks } from "../harness/webhooks.ts";

const check = async () => {};
const day = 86_400_000;

function set(world: TestWebhooks, url: string, terms: object = {}) {
  return setWebhook(world, { partnerId: "board", url, check, ...terms });
}

describe("setting an endpoint", () => {
  test("gives a secret that is stored sealed, for this partner only", () =>
    withWebhooks(async (world) => {
      await world.addPartner("board");
      const { endpoint, secret } = await set(world, "https://one.example/");
      expect(secret).toMatch(/^whsec_[0-9A-Za-z]{43}$/);
      const terms = { url: "https://one.example/", events: [...eventTypes], teachers: "all" } as const;
      expect(endpoint).toMatchObject({ ...terms, disabledAt: null });
      expect(Buffer.from(endpoint.secret).includes(Buffer.from(secret))).toBe(false);
      const moved = { ...endpoint, partnerId: "another" };
      expect(() => signingSecrets(world.secrets, moved, 0)).toThrow("does not open");
      expect(JSON.stringify(describeEndpoint(endpoint))).not.toContain('secret":');
    }));

  test("is refused for an unknown partner, and for an address that the guard refuses", () =>
    withWebhooks(async (world) => {
      expect(await rejection(set(world, "https://one.example/"))).toMatchObject({ code: "NOT_KNOWN" });
      await world.addPartner("board");
      const refuse = () => Promise.reject(new Error("refused"));
      expect(await rejection(set(world, "http://10.0.0.1/", { check: refuse }))).toMatchObject({
        message: "refused",
      });
      expect(await world.webhooks.endpoints()).toEqual([]);
    }));
});

describe("rotating a secret", () => {
  test("keeps the old one for a day, or for as long as is said, up to seven days", () =>
    withWebhooks(async (world) => {
      const old = await world.subscribe("board", "http://127.0.0.1:9/");
      const now = world.clock.now();
      const { endpoint, secret } = await rotateWebhookSecret(world, "board");
      expect(signingSecrets(world.secrets, endpoint, now + day - 1)).toEqual([secret, old]);
      expect(signingSecrets(world.secrets, endpoint, now + day)).toEqual([secret]);
      expect((await rotateWebhookSecret(world, "board", { overlapMs: 7 * day })).endpoint.previousUntil).toBe(
        now + 7 * day,
      );
      expect(await rejection(rotateWebhookSecret(world, "board", { overlapMs: 7 * day + 1 }))).toMatchObject({
        code: "USAGE",
      });
    }));

  test("twice at once makes one new secret, and says so to the other", () =>
    withWebhooks(async (world) => {
      await world.subscribe("board", "http://127.0.0.1:9/");
      const rotate = () => rotateWebhookSecret(world, "board");
      const twice = await Promise.allSettled([rotate(), rotate()]);
      expect(twice.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
    }));
});

describe("the state of an endpoint", () => {
  test("a second disabling keeps the time and the reason of the first", () =>
    withWebhooks(async (world) => {
      await world.subscribe("board", "http://127.0.0.1:9/");
      const first = await disableWebhook(world, "board");
      world.clock.add(1_000);
      expect(await disableWebhook(world, "board")).toEqual(first);
      expect(describeEndpoint(first)).toMatchObject({ state: "disabled", disabledReason: "operator" });
    }));

  test("a test needs an endpoint that is enabled", () =>
    withWebhooks(async (world) => {
      await world.subscribe("board", "http://127.0.0.1:9/");
      await disableWebhook(world, "board");
      expect(await rejection(testWebhook(world, "board"))).toMatchObject({ code: "REFUSED" });
      expect(await world.rows("SELECT 1 FROM events")).toEqual([]);
      await enableWebhook(world, "board");
      await testWebhook(world, "board");
      expect(await world.deliveries()).toEqual([["board", "pending", 0]]);
    }));

  test("commands on an endpoint that is not there say how to make one", () =>
    withWebhooks(async (world) => {
      await world.addPartner("board");
      const acts = [requireEndpoint, disableWebhook, enableWebhook, removeWebhook, testWebhook];
      const refusal = { code: "NOT_KNOWN", message: expect.stringContaining("partners webhook set") };
      for (const act of [...acts, rotateWebhookSecret])
        expect(await rejection(act(world, "board"))).toMatchObject(refusal);
    }));
});

describe("deliveries", () => {
  test("are listed by state and partner, newest first", () =>
    withWebhooks(async (world) => {
      for (const name of ["one", "two"]) await world.subscribe(name, "http://127.0.0.1:9/");
      await world.putMany(["A/B/C/1", "A/B/C/2"]);
      await removeWebhook(world, "two");
      const list = async (filter: object) => {
        const found = await world.webhooks.deliveries({ limit: 10, ...filter });
        return found.map((one) => `${one.partnerId} ${one.state}`);
      };
      expect(await list({})).toEqual(["two dead", "one pending", "two dead", "one pending"]);
      expect(await list({ limit: 1 })).toEqual(["two dead"]);
      expect(await list({ state: "dead" })).toEqual(["two dead", "two dead"]);
      expect(await list({ partnerId: "one" })).toEqual(["one pending", "one pending"]);
      expect(await list({ state: "pending", partnerId: "two" })).toEqual([]);
      expect(await list({ state: "delivered" })).toEqual([]);
      const backlog = { pending: 2, held: 0, dead: 2, oldestDueAt: "2026-05-01T09:00:00.000Z" };
      expect(await webhookBacklog(world.webhooks, world.clock.now())).toEqual(backlog);
    }));

  test("that are dead are retried by partner and time, where there is an endpoint", () =>
    withWebhooks(async (world) => {
      for (const name of ["one", "two"]) await world.subscribe(name, "http://127.0.0.1:9/");
      await world.put("A/B/C/1");
      const bury = "UPDATE deliveries SET state = 'dead', finished_at = ?";
      await world.driver.batch([{ sql: bury, args: [1_000] }]);
      const retry = (filter: object) => world.webhooks.retryDead(world.clock.now(), filter);
      expect(await retry({ since: 1_001 })).toBe(0);
      expect(await retry({ partnerId: "one", since: 1_000 })).toBe(1);
      expect(await world.deliveries()).toEqual([
        ["one", "pending", 0],
        ["two", "dead", 0],
      ]);
      await world.webhooks.remove("two");
      expect(await retry({})).toBe(0);
      const [dead] = await world.webhooks.deliveries({ state: "dead", limit: 1 });
      expect(await rejection(retryDelivery(world, dead?.deliveryId ?? ""))).toMatchObject({
        code: "REFUSED",
      });
      expect(await rejection(retryDelivery(world, "nothing"))).toMatchObject({ code: "NOT_KNOWN" });
    }));

  test("one that is being sent is not made due", () =>
    withWebhooks(async (world) => {
      await world.subscribe("board", "http://127.0.0.1:9/");
      await world.put("A/B/C/1");
      const now = world.clock.now();
      const lease = { token: "t", now, until: now + 1 };
      await world.outbox.lease([{ partnerId: "board", limit: 1, except: [] }], lease);
      const [delivery] = await world.webhooks.deliveries({ limit: 1 });
      expect(delivery?.leased).toBe(true);
      const deliveryId = delivery?.deliveryId ?? "";
      expect(String(await rejection(retryDelivery(world, deliveryId)))).toContain("in progress");
      world.clock.add(1);
      expect(await retryDelivery(world, deliveryId)).toMatchObject({ state: "pending", leased: false });
    }));
});
