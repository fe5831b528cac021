import { expect, test } from "bun:test";
import { retryDelivery } from "../../src/domain/deliveries.ts";
import {
  decryptSigningSecrets,
  describeEndpoint,
  rotateWebhookSecret,
  setWebhook,
} from "../../src/domain/webhooks.ts";
import { catchError } from "../harness/rejection.ts";
import { aPartner } from "../harness/samples.ts";
import { withWebhooks } from "../harness/webhooks.ts";

const day = 86_400_000;

test("a new endpoint gets a secret, which is encrypted and bound to the partner in the database", () =>
  withWebhooks(async (world) => {
    await world.addPartner("board");
    const terms = { partnerId: "board", url: "https://one.example/", check: async () => {} };
    const { endpoint, secret } = await setWebhook(world, terms);
    expect(secret).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/);
    expect(endpoint).toMatchObject({ url: "https://one.example/", disabledAt: null });
    expect(Buffer.from(endpoint.secret).includes(Buffer.from(secret))).toBe(false);
    const moved = { ...endpoint, partnerId: "another" };
    expect(() => decryptSigningSecrets(world.secrets, moved, 0)).toThrow("does not open");
    expect(JSON.stringify(describeEndpoint(endpoint, aPartner("board")))).not.toContain('secret":');
  }));

test("the old webhook secret signs for a day after a rotation, or for up to seven days on request", () =>
  withWebhooks(async (world) => {
    const old = await world.subscribe("board", "http://127.0.0.1:9/");
    const now = world.clock.now();
    const { endpoint, secret } = await rotateWebhookSecret(world, "board");
    expect(decryptSigningSecrets(world.secrets, endpoint, now + day - 1)).toEqual([secret, old]);
    expect(decryptSigningSecrets(world.secrets, endpoint, now + day)).toEqual([secret]);
    const keepFor = (overlapMs: number) => rotateWebhookSecret(world, "board", { overlapMs });
    expect((await keepFor(7 * day)).endpoint.previousUntil).toBe(now + 7 * day);
    expect(await catchError(keepFor(7 * day + 1))).toMatchObject({ code: "USAGE" });
  }));

test("two simultaneous rotations of a webhook secret give two secrets that both sign", () =>
  withWebhooks(async (world) => {
    await world.subscribe("board", "http://127.0.0.1:9/");
    const rotate = () => rotateWebhookSecret(world, "board");
    const twice = (await Promise.all([rotate(), rotate()])).map(({ secret }) => secret);
    const endpoint = await world.webhooks.endpoint("board");
    if (endpoint === null) throw new Error("it is gone");
    expect(decryptSigningSecrets(world.secrets, endpoint, world.clock.now()).sort()).toEqual(twice.sort());
  }));

test("a delivery cannot be retried while an attempt runs", () =>
  withWebhooks(async (world) => {
    await world.subscribe("board", "http://127.0.0.1:9/");
    await world.put("A/B/C/1");
    const now = world.clock.now();
    const lease = { token: "t", now, until: now + 1 };
    await world.outbox.lease([{ partnerId: "board", limit: 1, except: [] }], lease);
    const [delivery] = await world.webhooks.deliveries({ limit: 1 });
    expect(delivery?.leased).toBe(true);
    const deliveryId = delivery?.deliveryId ?? "";
    expect(String(await catchError(retryDelivery(world, deliveryId)))).toContain("in progress");
    world.clock.add(1);
    expect(await retryDelivery(world, deliveryId)).toMatchObject({ state: "pending", leased: false });
  }));
