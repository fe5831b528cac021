import { describe, expect, test } from "bun:test";
import { createLanes, type Flight, type Lanes } from "../../src/delivery/endpoint-queues.ts";
import type { ClaimedDelivery, OpenEndpoint } from "../../src/domain/deliveries.ts";

const limits = {
  maxFlights: 8,
  maxFlightsPerEndpoint: 3,
  maxFlightsFailing: 1,
  maxHeldPerEndpoint: 6,
  maxHeld: 20,
};

function endpoint(partnerId: string, changes: Partial<OpenEndpoint> = {}): OpenEndpoint {
  const url = `https://${partnerId}.example/`;
  const secrets = { secret: new Uint8Array(1), previousSecret: null, previousUntil: null };
  return { partnerId, url, ...secrets, failingSince: null, nextDueAt: 0, ...changes };
}

let lastId = 0;

function delivery(partnerId: string): ClaimedDelivery {
  lastId++;
  const event = { eventId: `e${lastId}`, eventType: "license.revoked", body: "{}" } as const;
  const counts = { attempts: 0, scheduledAttempts: 0 };
  return { id: lastId, lease: "t", deliveryId: `d${lastId}`, partnerId, ...event, ...counts };
}

/** Claims all that is wanted, from endpoints that have more than anybody wants. */
function fill(lanes: Lanes, claimedAtMs = 0): void {
  const requests = lanes.wants();
  const claimed = requests.flatMap((one) => Array.from({ length: one.limit }, () => delivery(one.partnerId)));
  lanes.add(requests, claimed, claimedAtMs);
}

function launchAll(lanes: Lanes): Flight[] {
  const flights: Flight[] = [];
  for (let flight = lanes.next(); flight !== null; flight = lanes.next()) flights.push(flight);
  return flights;
}

function names(flights: readonly Flight[]): string {
  return flights.map((flight) => flight.delivery.partnerId).join(" ");
}

describe("endpoints", () => {
  test("are served in turn, each up to its cap and all up to theirs", () => {
    const lanes = createLanes(limits);
    lanes.update([endpoint("a"), endpoint("b"), endpoint("c")], 1);
    fill(lanes);
    const flights = launchAll(lanes);
    expect(names(flights)).toBe("a b c a b c a b");
    lanes.landed(flights[1] as Flight, false);
    expect(names(launchAll(lanes))).toBe("c");
  });

  test("that keep failing get one attempt at a time and half of the room together", () => {
    const lanes = createLanes(limits);
    const failing = ["v", "w", "x", "y", "z"].map((name) => endpoint(name, { failingSince: 1 }));
    lanes.update([...failing, endpoint("good")], 1);
    fill(lanes);
    expect(names(launchAll(lanes))).toBe("v w x y good good good");
  });

  test("fail after three failures in a row and recover with one success", () => {
    const lanes = createLanes(limits);
    lanes.update([endpoint("a")], 1);
    fill(lanes);
    for (const flight of launchAll(lanes)) lanes.landed(flight, true);
    const probes = launchAll(lanes);
    expect(probes.length).toBe(1);
    lanes.landed(probes[0] as Flight, false);
    expect(launchAll(lanes).length).toBe(2);
    fill(lanes);
    expect(launchAll(lanes).length).toBe(1);
  });
});

describe("claims", () => {
  test("are bounded by endpoint and in all", () => {
    const lanes = createLanes(limits);
    lanes.update(
      ["a", "b", "c", "d"].map((name) => endpoint(name)),
      1,
    );
    expect(lanes.wants().map((one) => one.limit)).toEqual([6, 6, 6, 2]);
    fill(lanes);
    expect(lanes.wants()).toEqual([]);
  });

  test("leave out what is in hand, though its attempt is over, until it is recorded", () => {
    const lanes = createLanes(limits);
    lanes.update([endpoint("a")], 1);
    fill(lanes);
    const landed = launchAll(lanes);
    for (const flight of landed) lanes.landed(flight, false);
    const under = launchAll(lanes);
    const ids = [...landed, ...under].map((flight) => flight.delivery.id);
    expect(lanes.wants()).toEqual([{ partnerId: "a", limit: 3, except: ids }]);
    lanes.forget((landed[0] as Flight).delivery);
    expect(lanes.wants()[0]?.except).toEqual(ids.slice(1));
  });

  test("are made for what is due only, and not again once less than half came", () => {
    const lanes = createLanes(limits);
    lanes.update([endpoint("a", { nextDueAt: 5 }), endpoint("b", { nextDueAt: null })], 4);
    expect([lanes.isDue(4), lanes.wants()]).toEqual([false, []]);
    expect(lanes.isDue(5)).toBe(true);
    lanes.update([endpoint("a", { nextDueAt: 5 })], 5);
    lanes.add(lanes.wants(), [delivery("a")], 0);
    expect(lanes.wants()).toEqual([]);
  });

  test("come back when their endpoint is closed or they have waited too long", () => {
    const lanes = createLanes(limits);
    lanes.update([endpoint("a"), endpoint("b")], 1);
    fill(lanes, 100);
    expect(lanes.takeStale(100)).toEqual([]);
    const closed = lanes.update([endpoint("b")], 1);
    expect(closed.map((one) => one.partnerId)).toEqual(Array(6).fill("a"));
    expect(lanes.takeStale(101).length).toBe(6);
    expect(lanes.next()).toBeNull();
  });
});
