import type { ClaimedDelivery, ClaimRequest, OpenEndpoint } from "../domain/deliveries.ts";

export type LaneLimits = {
  /** Attempts under way at once, to all endpoints together and to one. */
  readonly maxFlights: number;
  readonly maxFlightsPerEndpoint: number;
  /** Attempts at once to an endpoint that keeps failing; all of those get half of the whole at most. */
  readonly maxFlightsFailing: number;
  /** Deliveries in hand for one endpoint, under way or next, so that a slot never waits for a commit. */
  readonly maxHeldPerEndpoint: number;
  /** Deliveries in hand altogether: what the memory holds. */
  readonly maxHeld: number;
};

/** So many failures in a row, and an endpoint counts as failing until its next success. */
const failuresUntilFailing = 3;

/** One endpoint's queue. Each has its own, so that what is slow or dead stands in nobody else's way. */
export type Lane = {
  endpoint: OpenEndpoint;
  /** False when nothing may be sent any more: disabled, removed or held. */
  isOpen: boolean;
  /** True when the database may have something due that is not claimed yet. */
  mayHaveDue: boolean;
  failures: number;
  flights: number;
  readonly waiting: Waiting[];
  /** Ids claimed and not yet finished or given back. */
  readonly held: Set<number>;
};

type Waiting = { readonly delivery: ClaimedDelivery; readonly claimedAtMs: number };
/** An attempt under way; `isProbe` when it goes to a failing endpoint. */
export type Flight = { readonly lane: Lane; readonly delivery: ClaimedDelivery; readonly isProbe: boolean };

export type Lanes = {
  /** Takes over what the database says. @returns claims to give back, of endpoints that are closed now */
  update(endpoints: readonly OpenEndpoint[], now: number): ClaimedDelivery[];
  /** True when something of an open endpoint has become due since the last update. */
  isDue(now: number): boolean;
  /** What to claim, as far as there is room. */
  wants(): ClaimRequest[];
  /** Takes in what was claimed. */
  add(requests: readonly ClaimRequest[], claimed: readonly ClaimedDelivery[], claimedAtMs: number): void;
  /** The next attempt to make, endpoints in turn; null when there is none or no room. */
  next(): Flight | null;
  /** An attempt has ended: its slot is free. The delivery stays in hand until {@link forget}. */
  landed(flight: Flight, hasFailed: boolean): void;
  forget(delivery: ClaimedDelivery): void;
  /** Takes out what has waited since before `claimedBeforeMs`: its lease could end during an attempt. */
  takeStale(claimedBeforeMs: number): ClaimedDelivery[];
};

/** Keeps a lane for each endpoint and shares the room among them. */
export function createLanes(limits: LaneLimits): Lanes {
  const lanes = new Map<string, Lane>();
  let order: Lane[] = [];
  let turn = 0;
  let flights = 0;
  let probes = 0;

  function canFly(lane: Lane): boolean {
    if (!lane.isOpen || lane.waiting.length === 0) return false;
    if (!isFailing(lane)) return lane.flights < limits.maxFlightsPerEndpoint;
    return lane.flights < limits.maxFlightsFailing && probes < limits.maxFlights / 2;
  }

  function room(lane: Lane): number {
    if (!lane.isOpen || !lane.mayHaveDue) return 0;
    const held = lane.waiting.length + lane.flights;
    if (isFailing(lane)) {
      return probes < limits.maxFlights / 2 ? limits.maxFlightsFailing - held : 0;
    }
    // Claims are made for many at once: a commit for each would cost more than the attempts.
    return lane.waiting.length < limits.maxFlightsPerEndpoint / 2 ? limits.maxHeldPerEndpoint - held : 0;
  }

  function heldInAll(): number {
    return order.reduce((sum, lane) => sum + lane.held.size, 0);
  }

  return {
    update(endpoints, now) {
      const closed = new Set(lanes.values());
      for (const endpoint of endpoints) {
        const lane = lanes.get(endpoint.partnerId) ?? openLane(endpoint);
        lanes.set(endpoint.partnerId, lane);
        closed.delete(lane);
        if (lane.endpoint.url !== endpoint.url) lane.failures = 0;
        lane.endpoint = endpoint;
        lane.isOpen = true;
        lane.mayHaveDue = isReached(endpoint.nextDueAt, now);
      }
      const orphans = [...closed].flatMap((lane) => {
        lane.isOpen = false;
        if (lane.held.size === 0) lanes.delete(lane.endpoint.partnerId);
        return lane.waiting.splice(0).map((one) => one.delivery);
      });
      order = [...lanes.values()];
      return orphans;
    },
    isDue: (now) =>
      order.some((lane) => lane.isOpen && !lane.mayHaveDue && isReached(lane.endpoint.nextDueAt, now)),
    wants() {
      let left = flights < limits.maxFlights ? limits.maxHeld - heldInAll() : 0;
      const requests: ClaimRequest[] = [];
      for (let i = 0; i < order.length && left > 0; i++) {
        const lane = order[(turn + i) % order.length] as Lane;
        const limit = Math.min(room(lane), left);
        if (limit <= 0) continue;
        requests.push({ partnerId: lane.endpoint.partnerId, limit, except: [...lane.held] });
        left -= limit;
      }
      return requests;
    },
    add(requests, claimed, claimedAtMs) {
      for (const { partnerId, limit } of requests) {
        const mine = claimed.filter((delivery) => delivery.partnerId === partnerId);
        const lane = lanes.get(partnerId);
        if (lane === undefined) continue;
        // A claim leaves half of its room to retries, so only less than that says that nothing is left.
        if (mine.length < Math.ceil(limit / 2)) lane.mayHaveDue = false;
        for (const delivery of mine.sort((one, other) => one.id - other.id)) {
          lane.waiting.push({ delivery, claimedAtMs });
          lane.held.add(delivery.id);
        }
      }
    },
    next() {
      if (flights >= limits.maxFlights) return null;
      for (let i = 0; i < order.length; i++) {
        const place = (turn + i) % order.length;
        const lane = order[place] as Lane;
        if (!canFly(lane)) continue;
        turn = (place + 1) % order.length;
        const { delivery } = lane.waiting.shift() as Waiting;
        const isProbe = isFailing(lane);
        lane.flights++;
        flights++;
        if (isProbe) probes++;
        return { lane, delivery, isProbe };
      }
      return null;
    },
    landed({ lane, isProbe }, hasFailed) {
      lane.flights--;
      flights--;
      if (isProbe) probes--;
      lane.failures = hasFailed ? lane.failures + 1 : 0;
    },
    forget(delivery) {
      lanes.get(delivery.partnerId)?.held.delete(delivery.id);
    },
    takeStale(claimedBeforeMs) {
      return order.flatMap((lane) => {
        const count = lane.waiting.findIndex((one) => one.claimedAtMs >= claimedBeforeMs);
        return lane.waiting.splice(0, count === -1 ? lane.waiting.length : count).map((one) => one.delivery);
      });
    },
  };
}

function openLane(endpoint: OpenEndpoint): Lane {
  return {
    endpoint,
    isOpen: true,
    mayHaveDue: false,
    failures: endpoint.failingSince === null ? 0 : failuresUntilFailing,
    flights: 0,
    waiting: [],
    held: new Set(),
  };
}

function isFailing(lane: Lane): boolean {
  return lane.failures >= failuresUntilFailing;
}

function isReached(time: number | null, now: number): boolean {
  return time !== null && time <= now;
}
