import { expect, test } from "bun:test";
import { timeOfUuid } from "../../src/domain/clock.ts";
import { retryDelivery, sumWebhookBacklog } from "../../src/domain/deliveries.ts";
import { retryDelaysMs } from "../../src/domain/webhook-schedule.ts";
import { type Received, signatureOf, withEndpoint } from "../harness/endpoint.ts";
import { until } from "../harness/eventually.ts";
import { catchError } from "../harness/rejection.ts";
import { acceptAll, regNos, withBoard, withWebhooks } from "../harness/webhooks.ts";

test("a delivery arrives with the contract's headers and the event's exact bytes, and is recorded as delivered", () =>
  withBoard(acceptAll, async ({ world, received, secret }) => {
    const { id } = await world.put("A/B/C/1");
    await world.sender().settle();
    expect(received.length).toBe(1);
    const [request] = received as [Received];
    const [event] = await world.teachers.events(id);
    const [delivery] = await world.webhooks.deliveries({ limit: 10 });
    expect(request.body).toBe(event?.body as string);
    expect(request.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "tvs-webhooks/9.9.9",
      "x-agency-event-id": event?.eventId,
      "x-agency-event-type": "license.verified",
      "x-agency-delivery-id": delivery?.deliveryId,
    });
    expect(timeOfUuid(delivery?.deliveryId ?? "")).not.toBeNull();
    const signature = { t: world.clock.now() / 1000, digests: [expect.any(String)] };
    expect(signatureOf(request)).toMatchObject(signature);
    expect(signatureOf(request).isOf(secret, 0)).toBe(true);
    expect(delivery).toMatchObject({ state: "delivered", attempts: 1, lastStatus: 200, lastError: null });
  }));

test("a delivery is attempted exactly at every step of the schedule, with the same ids and a new signature, and is dead after the last step", () =>
  withBoard(
    () => ({ status: 503 }),
    async ({ world, received }) => {
      await world.put("A/B/C/1");
      const sender = world.sender();
      const times = [world.clock.now()];
      await sender.settle();
      for (const [index, step] of retryDelaysMs.entries()) {
        world.clock.add(step - 1);
        await sender.settle();
        expect(received.length).toBe(index + 1);
        world.clock.add(1);
        times.push(world.clock.now());
        await sender.settle();
        expect(received.length).toBe(index + 2);
      }
      expect(new Set(received.map(({ body }) => body)).size).toBe(1);
      for (const name of ["x-agency-event-id", "x-agency-delivery-id"])
        expect(new Set(received.map(({ headers }) => headers[name])).size).toBe(1);
      expect(received.map((request) => signatureOf(request).t * 1_000)).toEqual(times);
      const [delivery] = await world.webhooks.deliveries({ state: "dead", limit: 10 });
      expect(delivery).toMatchObject({ attempts: 11, lastStatus: 503, lastError: "BAD_STATUS", dueAt: null });
      const detail = await world.webhooks.delivery(delivery?.deliveryId as string);
      expect(detail?.attemptList.map((one) => one.number)).toEqual(regNos(11).map((_, index) => index + 1));
      const backlog = await sumWebhookBacklog(world.webhooks, world.clock.now());
      expect(backlog).toEqual({ pending: 0, held: 0, dead: 1, oldestDueAt: null });
    },
  ));

test("a delivery waits as long as Retry-After asks, but at most twice the step of the schedule", () =>
  withBoard(
    () => ({ status: 429, headers: { "Retry-After": "3600" } }),
    async ({ world }) => {
      await world.put("A/B/C/1");
      await world.sender().settle();
      const [delivery] = await world.webhooks.deliveries({ limit: 1 });
      expect(delivery?.dueAt).toBe(world.clock.now() + 10_000);
    },
  ));

test("a dead delivery that is retried gets the whole schedule again", () =>
  withBoard(
    (_, count) => ({ status: count <= 12 ? 500 : 200 }),
    async ({ world, received }) => {
      await world.put("A/B/C/1");
      const sender = world.sender();
      for (const step of [0, ...retryDelaysMs]) {
        world.clock.add(step);
        await sender.settle();
      }
      const [dead] = await world.webhooks.deliveries({ limit: 1 });
      const deliveryId = dead?.deliveryId as string;
      expect(dead?.state).toBe("dead");
      expect(await retryDelivery(world, deliveryId)).toMatchObject({ state: "pending", heldBy: null });
      await sender.settle();
      const [again] = await world.webhooks.deliveries({ limit: 1 });
      expect(again).toMatchObject({ state: "pending", attempts: 12, dueAt: world.clock.now() + 5_000 });
      await retryDelivery(world, deliveryId);
      await sender.settle();
      expect(received.length).toBe(13);
      expect(await catchError(retryDelivery(world, deliveryId))).toMatchObject({ code: "REFUSED" });
    },
  ));

test("a delivery goes to no private address unless they are allowed at the time of the attempt", () =>
  withBoard(acceptAll, async ({ world, received }) => {
    await world.put("A/B/C/1");
    let allowed = false;
    const sender = world.sender({ allowPrivate: () => allowed });
    await sender.settle();
    expect(received).toEqual([]);
    const [delivery] = await world.webhooks.deliveries({ limit: 1 });
    const last = { lastStatus: null, lastError: "ENDPOINT_INVALID" };
    expect(delivery).toMatchObject({ state: "pending", attempts: 1, ...last });
    allowed = true;
    world.clock.add(5_000);
    await sender.settle();
    expect(received.length).toBe(1);
  }));

test("the sender wakes up for another process's commit and for a due retry", () =>
  withBoard(
    (_, count) => ({ status: count === 1 ? 500 : 200 }),
    async ({ world, received }) => {
      world.sender({ outbox: world.other.outbox, limits: { pollMs: 2 } });
      await world.put("A/B/C/1");
      await until(async () => (await world.deliveries())[0]?.[2] === 1);
      world.clock.add(5_000);
      await until(async () => (await world.deliveries())[0]?.[1] === "delivered");
      expect(received.length).toBe(2);
    },
  ));

test("a new endpoint's delivery does not wait for the end of other endpoints' backlog", () =>
  withWebhooks((world) => {
    const [partners, events] = [30, 60];
    let leftWhenLate = 0;
    return withEndpoint(acceptAll, (busy) =>
      withEndpoint(
        () => {
          leftWhenLate = partners * events - busy.received.length;
          return { status: 200 };
        },
        async (late) => {
          for (let n = 0; n < partners; n++) await world.subscribe(`busy-${n}`, `${busy.url}?${n}`);
          await world.putMany(regNos(events));
          world.sender({ limits: { pollMs: 20 } });
          await until(() => busy.received.length > 10);
          await world.subscribe("late", late.url);
          await world.put("A/B/D/1");
          await until(() => late.received.length > 0);
          expect(leftWhenLate).toBeGreaterThan(0);
        },
      ),
    );
  }));

test("the sender neither loses nor repeats a delivery if the clock moves by an hour", () =>
  withWebhooks((world) => {
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    return withEndpoint(
      async (_, count) => {
        await answers[count - 1]?.promise;
        return { status: count <= 2 ? 500 : 200 };
      },
      async ({ url, received }) => {
        await world.subscribe("board", url);
        const sender = world.sender({ limits: { pollMs: 2 } });
        await world.put("A/B/C/1");
        await until(() => received.length === 1);
        // The clock moves forward during an attempt. The lease seems to have expired, but the attempt is not repeated.
        world.clock.add(3_600_000);
        await world.put("A/B/C/2");
        await until(() => received.length === 2);
        world.clock.add(-3_600_000);
        // The clock moves backward. The new delivery is sent immediately, and the others wait for their retry.
        await world.put("A/B/C/3");
        await until(() => received.length === 3);
        for (const answer of answers) answer.resolve();
        await until(async () => (await world.deliveries()).every(([, , attempts]) => attempts === 1));
        await sender.settle();
        expect(received.length).toBe(3);
        world.clock.add(5_000);
        await sender.settle();
        expect((await world.deliveries()).map(([, state]) => state)).toEqual(Array(3).fill("delivered"));
        expect(received.length).toBe(5);
      },
    );
  }));

test("a sender that closes aborts its running attempts and gives its other leases back", () =>
  withWebhooks((world) => {
    const gate = Promise.withResolvers<void>();
    return withEndpoint(
      async () => {
        await gate.promise;
        return { status: 200 };
      },
      async ({ url, received }) => {
        await world.subscribe("board", url);
        await world.putMany(regNos(20));
        const sender = world.sender({ limits: { maxAttemptsPerEndpoint: 4, pollMs: 2 } });
        await until(() => received.length === 4);
        const closed = sender.close();
        gate.resolve();
        await closed;
        const states = (await world.deliveries()).map(([, state]) => state);
        expect(states.filter((state) => state === "delivered").length).toBe(4);
        expect(await world.rows("SELECT 1 FROM deliveries WHERE lease IS NOT NULL")).toEqual([]);
        await world.sender().settle();
        expect(received.length).toBe(20);
      },
    );
  }));
