import { expect, test } from "bun:test";
import type { EndpointQueues, RunningAttempt } from "../../src/delivery/endpoint-queues.ts";
import { createEndpointQueues } from "../../src/delivery/endpoint-queues.ts";
import type { LeasedDelivery, SendableEndpoint } from "../../src/domain/deliveries.ts";

const limits = { maxAttempts: 8, maxAttemptsPerEndpoint: 3, maxHeldPerEndpoint: 6, maxHeld: 20 };

function endpoint(partnerId: string, changes: Partial<SendableEndpoint> = {}): SendableEndpoint {
  const url = `https://${partnerId}.example/`;
  const secrets = { secret: new Uint8Array(1), previousSecret: null, previousUntil: null };
  return { partnerId, url, ...secrets, failingSince: null, nextDueAt: 0, ...changes };
}

let lastId = 0;

function delivery(partnerId: string): LeasedDelivery {
  lastId++;
  const event = { eventId: `e${lastId}`, eventType: "license.revoked", body: "{}" } as const;
  const counts = { attempts: 0, scheduledAttempts: 0 };
  return { id: lastId, lease: "t", deliveryId: `d${lastId}`, partnerId, ...event, ...counts };
}

/** Leases as many deliveries as the queues request. Each endpoint has more than that. */
function fill(queues: EndpointQueues, leasedAtMs = 0): void {
  const requests = queues.wants();
  const leased = requests.flatMap((one) => Array.from({ length: one.limit }, () => delivery(one.partnerId)));
  queues.add(requests, leased, leasedAtMs);
}

function launchAll(queues: EndpointQueues): RunningAttempt[] {
  const attempts: RunningAttempt[] = [];
  for (let attempt = queues.next(); attempt !== null; attempt = queues.next()) attempts.push(attempt);
  return attempts;
}

function names(attempts: readonly RunningAttempt[]): string {
  return attempts.map((attempt) => attempt.delivery.partnerId).join(" ");
}

test("endpoints get attempts in turn, up to the limit of each endpoint and of all endpoints", () => {
  const queues = createEndpointQueues(limits);
  queues.update([endpoint("a"), endpoint("b"), endpoint("c")], 1);
  fill(queues);
  const attempts = launchAll(queues);
  expect(names(attempts)).toBe("a b c a b c a b");
  queues.end(attempts[1] as RunningAttempt, false);
  expect(names(launchAll(queues))).toBe("c");
});

test("failing endpoints together get at most half of all attempts", () => {
  const queues = createEndpointQueues(limits);
  const dead = Array.from({ length: 6 }, (_, index) => endpoint(`dead-${index}`, { failingSince: 1 }));
  queues.update([...dead, endpoint("good")], 1);
  fill(queues);
  const attempts = launchAll(queues);
  expect(attempts.map(({ isProbe }) => isProbe)).toEqual([true, true, true, true, false, false, false]);
  queues.end(attempts[0] as RunningAttempt, true);
  expect(names(launchAll(queues))).toBe("dead-4");
});

test("an endpoint gets one attempt at a time after a failure, until its next success or a change of its URL", () => {
  const queues = createEndpointQueues(limits);
  queues.update([endpoint("dead", { failingSince: 1 }), endpoint("good")], 1);
  fill(queues);
  const [probe, attempt, ...others] = launchAll(queues) as [RunningAttempt, RunningAttempt];
  expect(names([probe, attempt, ...others])).toBe("dead good good good");
  queues.end(probe, false);
  for (const one of [attempt, ...others]) queues.end(one, true);
  expect(names(launchAll(queues))).toBe("good");
  fill(queues);
  expect(names(launchAll(queues))).toBe("dead dead dead");
  queues.update([endpoint("good", { url: "https://moved.example/" })], 1);
  expect(names(launchAll(queues))).toBe("good good");
});

test("leased deliveries are limited for each endpoint and in total", () => {
  const queues = createEndpointQueues(limits);
  queues.update([endpoint("a"), endpoint("b"), endpoint("c"), endpoint("d")], 1);
  expect(queues.wants().map((one) => one.limit)).toEqual([6, 6, 6, 2]);
  fill(queues);
  expect(queues.wants()).toEqual([]);
});

test("a request for leases excludes each leased delivery until its attempt is recorded", () => {
  const queues = createEndpointQueues(limits);
  queues.update([endpoint("a")], 1);
  fill(queues);
  const landed = launchAll(queues);
  for (const attempt of landed) queues.end(attempt, false);
  const under = launchAll(queues);
  const ids = [...landed, ...under].map((attempt) => attempt.delivery.id);
  expect(queues.wants()).toEqual([{ partnerId: "a", limit: 3, except: ids }]);
  queues.forget((landed[0] as RunningAttempt).delivery);
  expect(queues.wants()[0]?.except).toEqual(ids.slice(1));
});

test("leases are requested only for endpoints with due deliveries, until a request leases less than half of its limit", () => {
  const queues = createEndpointQueues(limits);
  queues.update([endpoint("a", { nextDueAt: 5 }), endpoint("b", { nextDueAt: null })], 4);
  expect(queues.wants()).toEqual([]);
  queues.update([endpoint("a", { nextDueAt: 5 })], 5);
  queues.add(queues.wants(), [delivery("a")], 0);
  expect(queues.wants()).toEqual([]);
});

test("a lease is given back if its endpoint is closed, or if the delivery has waited too long", () => {
  const queues = createEndpointQueues(limits);
  queues.update([endpoint("a"), endpoint("b")], 1);
  fill(queues, 100);
  expect(queues.takeStale(100)).toEqual([]);
  expect(queues.next(101)).toBeNull();
  const closed = queues.update([endpoint("b")], 1);
  expect(closed.map((one) => one.partnerId)).toEqual(Array(6).fill("a"));
  expect(queues.takeStale(101).length).toBe(6);
  expect(queues.next()).toBeNull();
});
