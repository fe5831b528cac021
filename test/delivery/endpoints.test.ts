import { expect, test } from "bun:test";
import { sumWebhookBacklog } from "../../src/domain/deliveries.ts";
import { endpointFailureLimitMs } from "../../src/domain/webhook-schedule.ts";
import { disableWebhook, enableWebhook } from "../../src/domain/webhooks.ts";
import { withEndpoint } from "../harness/endpoint.ts";
import { until } from "../harness/eventually.ts";
import { acceptAll, regNos, withBoard, withWebhooks } from "../harness/webhooks.ts";

test("an endpoint that answers 410 is disabled, and its deliveries are held until it is enabled", () =>
  withBoard(
    (_, count) => ({ status: count === 1 ? 410 : 200 }),
    async ({ world, received }) => {
      const sender = world.sender();
      await world.put("A/B/C/1");
      await sender.settle();
      await world.putMany(regNos(20, 2));
      await sender.settle();
      expect(received.length).toBe(1);
      const gone = { disabledReason: "gone", lastError: "BAD_STATUS 410" } as const;
      expect(await world.webhooks.endpoint("board")).toMatchObject(gone);
      const backlog = await sumWebhookBacklog(world.webhooks, world.clock.now());
      expect(backlog).toMatchObject({ pending: 21, held: 21 });
      await enableWebhook(world, "board");
      await sender.settle();
      expect(received.length).toBe(22);
      expect((await world.deliveries()).every(([, state]) => state === "delivered")).toBe(true);
    },
  ));

test("an endpoint that fails for five days is disabled, and one success starts the five days again", () =>
  withWebhooks((world) => {
    let status = 500;
    return withEndpoint(
      () => ({ status }),
      async ({ url }) => {
        await world.subscribe("board", url);
        const sender = world.sender();
        const attempt = async (regNo: string) => {
          await world.put(regNo);
          await sender.settle();
          return (await world.webhooks.endpoint("board"))?.disabledReason;
        };
        await attempt("A/B/C/1");
        world.clock.add(endpointFailureLimitMs - 1);
        expect(await attempt("A/B/C/2")).toBeNull();
        status = 200;
        await attempt("A/B/C/3");
        expect(await world.webhooks.endpoint("board")).toMatchObject({ failingSince: null, lastError: null });
        status = 500;
        await attempt("A/B/C/4");
        world.clock.add(endpointFailureLimitMs);
        expect(await attempt("A/B/C/5")).toBe("failing");
        // A failing endpoint gets one attempt at a time, so its newest delivery was not sent.
        expect((await world.deliveries()).at(-1)).toEqual(["board", "pending", 0]);
      },
    );
  }));

test("an endpoint that never answers does not delay deliveries to other endpoints", () =>
  withWebhooks((world) =>
    withEndpoint(
      () => null,
      (silent) =>
        withEndpoint(acceptAll, async ({ url, received }) => {
          await world.subscribe("silent", silent.url);
          for (const name of ["one", "two", "three"]) await world.subscribe(name, url);
          // The silent endpoint has more deliveries than its own limit and the common limit.
          const ofEndpoint = { maxAttemptsPerEndpoint: 4, maxHeldPerEndpoint: 8 };
          const limits = { maxAttempts: 10, ...ofEndpoint, pollMs: 5, drainMs: 1 };
          const sender = world.sender({ limits });
          await world.putMany(regNos(50));
          await until(() => received.length === 150);
          expect(silent.received.length).toBe(4);
          await sender.close();
          const states = await world.rows(
            "SELECT DISTINCT partner_id = 'silent' AS silent, state, attempts FROM deliveries ORDER BY 1",
          );
          expect(states).toMatchObject([
            { silent: 0, state: "delivered", attempts: 1 },
            { silent: 1, state: "pending", attempts: 0 },
          ]);
          // The closed sender has given all leases back, and no delivery waits for a later attempt.
          expect(
            await world.rows("SELECT 1 FROM deliveries WHERE lease IS NOT NULL OR due_at > 0"),
          ).toHaveLength(150);
        }),
    ),
  ));

test("an endpoint gets no delivery while it or its partner is disabled, and gets the held deliveries afterwards", () =>
  withBoard(acceptAll, async ({ world, received }) => {
    const sender = world.sender();
    await world.put("A/B/C/1");
    await world.partners.disable("board", world.clock.now());
    await sender.settle();
    expect(received.length).toBe(0);
    expect((await world.webhooks.deliveries({ limit: 1 }))[0]?.heldBy).toBe("partner");
    await world.partners.disable("board", null);
    await disableWebhook(world, "board");
    await world.put("A/B/C/2");
    await sender.settle();
    expect(received.length).toBe(0);
    expect((await world.webhooks.deliveries({ limit: 1 }))[0]?.heldBy).toBe("endpoint");
    await enableWebhook(world, "board");
    await sender.settle();
    expect(received.length).toBe(2);
  }));
