import { expect, test } from "bun:test";
import { Socket } from "node:net";
import { createBacklog } from "../../src/http/backlog.ts";
import { createAddressTest } from "../../src/http/peer.ts";
import { createPlaces } from "../../src/http/places.ts";

const proxy = "2001:db8::7";
const neighbour = "2001:db8::8";
const from = (remoteAddress: string) =>
  Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress });

test("the connections of a trusted IPv6 proxy are no part of its /64's, and no crowd", () => {
  const limits = { maxConnections: 100, maxConnectionsPerAddress: 2, maxHeldBytes: 1, maxWaitingRequests: 1 };
  const backlog = createBacklog({ ...limits, busyRequests: 1 });
  const places = createPlaces({ limits, isTrusted: createAddressTest([proxy]), backlog });
  for (let count = 0; count < 10; count++) expect(places.take(from(proxy))).not.toBeNull();
  expect(places.usedShare()).toBe(0.1);
  for (const isTaken of [true, true, false]) expect(places.take(from(neighbour)) !== null).toBe(isTaken);
  expect(places.usedShare()).toBe(1);
});
