import type { LeasedDelivery, LeaseRequest, OpenEndpoint } from "../domain/deliveries.ts";

export type QueueLimits = {
  /** Attempts under way at once, to all endpoints together and to one. */
  readonly maxAttempts: number;
  readonly maxAttemptsPerEndpoint: number;
  /** Attempts at once to an endpoint that keeps failing; all of those get half of the whole at most. */
  readonly maxAttemptsFailing: number;
  /** Deliveries in hand for one endpoint, under way or next, so that a slot never waits for a commit. */
  readonly maxHeldPerEndpoint: number;
  /** Deliveries in hand altogether: what the memory holds. */
  readonly maxHeld: number;
};

/** Failures in a row after which an endpoint counts as failing, until its next success. */
const failuresUntilFailing = 3;

/** One endpoint's queue. Each has its own, so that what is slow or dead stands in nobody else's way. */
type EndpointQueue = ReturnType<typeof newQueue>;

type WaitingDelivery = { readonly delivery: LeasedDelivery; readonly leasedAtMs: number };
/** An attempt under way; `isProbe` when it goes to a failing endpoint. */
export type Attempt = {
  readonly queue: EndpointQueue;
  readonly delivery: LeasedDelivery;
  readonly isProbe: boolean;
};

export type EndpointQueues = ReturnType<typeof createEndpointQueues>;

/** Keeps a queue for each endpoint and shares the room among them. */
export function createEndpointQueues(limits: QueueLimits) {
  const queues = new Map<string, EndpointQueue>();
  let order: EndpointQueue[] = [];
  let turn = 0;
  let underWay = 0;
  let probes = 0;

  const inTurn = () => [...order.slice(turn % order.length), ...order.slice(0, turn % order.length)];
  const areProbesFree = () => probes < limits.maxAttempts / 2;

  return {
    /** Takes over what the database says. @returns leases to give back, of endpoints that are closed now */
    update(endpoints: readonly OpenEndpoint[], now: number): LeasedDelivery[] {
      const closed = new Set(queues.values());
      for (const endpoint of endpoints) {
        const queue = queues.get(endpoint.partnerId) ?? newQueue(endpoint);
        queues.set(endpoint.partnerId, queue);
        closed.delete(queue);
        bringUpToDate(queue, endpoint, now);
      }
      const orphans = [...closed].flatMap((queue) => {
        queue.isOpen = false;
        if (queue.held.size === 0) queues.delete(queue.endpoint.partnerId);
        return queue.waiting.splice(0).map((one) => one.delivery);
      });
      order = [...queues.values()];
      return orphans;
    },
    /** True when something of an open endpoint has become due since the last update. */
    isDue: (now: number) =>
      order.some((queue) => queue.isOpen && !queue.mayHaveDue && isReached(queue.endpoint.nextDueAt, now)),
    wants(): LeaseRequest[] {
      const held = order.reduce((sum, queue) => sum + queue.held.size, 0);
      let left = underWay < limits.maxAttempts ? limits.maxHeld - held : 0;
      const requests: LeaseRequest[] = [];
      for (const queue of inTurn()) {
        const limit = Math.min(roomOf(queue, limits, areProbesFree()), left);
        if (limit <= 0) continue;
        requests.push({ partnerId: queue.endpoint.partnerId, limit, except: [...queue.held] });
        left -= limit;
      }
      return requests;
    },
    add(requests: readonly LeaseRequest[], leased: readonly LeasedDelivery[], leasedAtMs: number): void {
      for (const { partnerId, limit } of requests) {
        const mine = leased.filter((delivery) => delivery.partnerId === partnerId);
        const queue = queues.get(partnerId);
        if (queue === undefined) continue;
        // A lease leaves half of its room to retries, so only less than that says that nothing is left.
        if (mine.length < Math.ceil(limit / 2)) queue.mayHaveDue = false;
        for (const delivery of mine.sort((one, other) => one.id - other.id)) {
          queue.waiting.push({ delivery, leasedAtMs });
          queue.held.add(delivery.id);
        }
      }
    },
    /**
     * The next attempt to make, endpoints in turn; null when there is none or no room. What was leased before
     * `leasedSinceMs` is left for `takeStale`: a process that stood still meanwhile may have lost it to another.
     */
    next(leasedSinceMs = Number.NEGATIVE_INFINITY): Attempt | null {
      if (underWay >= limits.maxAttempts) return null;
      for (const [passed, queue] of inTurn().entries()) {
        const [first] = queue.waiting;
        if (first === undefined || first.leasedAtMs < leasedSinceMs) continue;
        if (!mayStart(queue, limits, areProbesFree())) continue;
        queue.waiting.shift();
        turn = (turn + passed + 1) % order.length;
        const isProbe = isFailing(queue);
        queue.underWay++;
        underWay++;
        if (isProbe) probes++;
        return { queue, delivery: first.delivery, isProbe };
      }
      return null;
    },
    /** An attempt has ended: its slot is free. The delivery stays in hand until `forget`. */
    end({ queue, isProbe }: Attempt, hasFailed: boolean): void {
      queue.underWay--;
      underWay--;
      if (isProbe) probes--;
      queue.failures = hasFailed ? queue.failures + 1 : 0;
    },
    forget(delivery: LeasedDelivery): void {
      queues.get(delivery.partnerId)?.held.delete(delivery.id);
    },
    /** Takes out what has waited since before `leasedBeforeMs`: its lease could end during an attempt. */
    takeStale(leasedBeforeMs: number): LeasedDelivery[] {
      return order.flatMap((queue) => {
        const count = queue.waiting.findIndex((one) => one.leasedAtMs >= leasedBeforeMs);
        return queue.waiting
          .splice(0, count === -1 ? queue.waiting.length : count)
          .map((one) => one.delivery);
      });
    },
  };
}

function newQueue(endpoint: OpenEndpoint) {
  return {
    endpoint,
    /** False when nothing may be sent any more: disabled, removed or held. */
    isOpen: true,
    /** True when the database may have something due that is not leased yet. */
    mayHaveDue: false,
    failures: endpoint.failingSince === null ? 0 : failuresUntilFailing,
    underWay: 0,
    waiting: [] as WaitingDelivery[],
    /** Ids leased and not yet finished or given back. */
    held: new Set<number>(),
  };
}

function bringUpToDate(queue: EndpointQueue, endpoint: OpenEndpoint, now: number): void {
  if (queue.endpoint.url !== endpoint.url) queue.failures = 0;
  queue.endpoint = endpoint;
  queue.isOpen = true;
  queue.mayHaveDue = isReached(endpoint.nextDueAt, now);
}

/** Whether the next delivery of a queue may be sent now; `areProbesFree` while failing endpoints have room. */
function mayStart(queue: EndpointQueue, limits: QueueLimits, areProbesFree: boolean): boolean {
  if (!queue.isOpen) return false;
  if (!isFailing(queue)) return queue.underWay < limits.maxAttemptsPerEndpoint;
  return queue.underWay < limits.maxAttemptsFailing && areProbesFree;
}

/** How many deliveries more may be leased for an endpoint. */
function roomOf(queue: EndpointQueue, limits: QueueLimits, areProbesFree: boolean): number {
  if (!queue.isOpen || !queue.mayHaveDue) return 0;
  const held = queue.waiting.length + queue.underWay;
  if (isFailing(queue)) return areProbesFree ? limits.maxAttemptsFailing - held : 0;
  // Leases are taken for many at once: a commit for each would cost more than the attempts.
  return queue.waiting.length < limits.maxAttemptsPerEndpoint / 2 ? limits.maxHeldPerEndpoint - held : 0;
}

function isFailing(queue: EndpointQueue): boolean {
  return queue.failures >= failuresUntilFailing;
}

function isReached(time: number | null, now: number): boolean {
  return time !== null && time <= now;
}
