import type { LeasedDelivery, LeaseRequest, SendableEndpoint } from "../domain/deliveries.ts";

type QueueLimits = {
  /** The most concurrent attempts to all endpoints together. */
  readonly maxAttempts: number;
  readonly maxAttemptsPerEndpoint: number;
  /** The most leased deliveries of one endpoint. More than its attempts, so that a freed slot finds one to send. */
  readonly maxHeldPerEndpoint: number;
  /** The most leased deliveries of all endpoints together; this bounds memory. */
  readonly maxHeld: number;
};

type EndpointQueue = ReturnType<typeof createQueue>;

/** An attempt that has begun. `isProbe` is true if the endpoint was failing when the attempt began. */
export type RunningAttempt = {
  readonly queue: EndpointQueue;
  readonly delivery: LeasedDelivery;
  readonly isProbe: boolean;
};

export type EndpointQueues = ReturnType<typeof createEndpointQueues>;

/**
 * Keeps a queue for each endpoint, so that a slow or dead endpoint delays no other, and divides the attempts among the
 * endpoints. After a failed attempt an endpoint gets one attempt at a time, until its next success. Failing endpoints
 * together get at most half of all attempts.
 */
export function createEndpointQueues(limits: QueueLimits) {
  const queues = new Map<string, EndpointQueue>();
  let order: EndpointQueue[] = [];
  let turn = 0;
  let underWay = 0;
  let probes = 0;

  function slotsOf({ isOpen, isFailing }: EndpointQueue): number {
    if (!isOpen) return 0;
    if (isFailing) return probes < limits.maxAttempts / 2 ? 1 : 0;
    return limits.maxAttemptsPerEndpoint;
  }
  const inTurn = () => [...order.slice(turn % order.length), ...order.slice(0, turn % order.length)];

  return {
    /** Updates the queues to the given endpoints. @returns the leased deliveries of closed endpoints, to be given back */
    update(endpoints: readonly SendableEndpoint[], now: number): LeasedDelivery[] {
      const closed = new Set(queues.values());
      for (const endpoint of endpoints) {
        const queue = queues.get(endpoint.partnerId) ?? createQueue(endpoint);
        queues.set(endpoint.partnerId, queue);
        closed.delete(queue);
        updateQueue(queue, endpoint, now);
      }
      const orphans = [...closed].flatMap((queue) => {
        queue.isOpen = false;
        if (queue.held.size === 0) queues.delete(queue.endpoint.partnerId);
        return queue.waiting.splice(0).map((one) => one.delivery);
      });
      order = [...queues.values()];
      return orphans;
    },
    wants(): LeaseRequest[] {
      const held = order.reduce((sum, queue) => sum + queue.held.size, 0);
      let left = underWay < limits.maxAttempts ? limits.maxHeld - held : 0;
      const requests: LeaseRequest[] = [];
      for (const queue of inTurn()) {
        const limit = Math.min(roomOf(queue, limits), left);
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
        // A request reserves half of its limit for retries, so fewer rows than half mean that nothing else is due.
        if (mine.length < Math.ceil(limit / 2)) queue.mayHaveDue = false;
        for (const delivery of mine.sort((one, other) => one.id - other.id)) {
          queue.waiting.push({ delivery, leasedAtMs });
          queue.held.add(delivery.id);
        }
      }
    },
    /**
     * Begins the next attempt; endpoints take turns. Deliveries leased before `leasedSinceMs` are left to `takeStale`: if
     * the process was suspended, another sender may have them. @returns null if nothing is waiting, or no slot is free
     */
    next(leasedSinceMs = Number.NEGATIVE_INFINITY): RunningAttempt | null {
      if (underWay >= limits.maxAttempts) return null;
      for (const [passed, queue] of inTurn().entries()) {
        const [first] = queue.waiting;
        if (first === undefined || first.leasedAtMs < leasedSinceMs) continue;
        if (queue.underWay >= slotsOf(queue)) continue;
        queue.waiting.shift();
        turn = (turn + passed + 1) % order.length;
        queue.underWay++;
        underWay++;
        if (queue.isFailing) probes++;
        return { queue, delivery: first.delivery, isProbe: queue.isFailing };
      }
      return null;
    },
    /** Frees the attempt's slot. The delivery stays leased here until `forget` is called. */
    end({ queue, isProbe }: RunningAttempt, hasFailed: boolean): void {
      queue.underWay--;
      underWay--;
      if (isProbe) probes--;
      queue.isFailing = hasFailed;
    },
    forget(delivery: LeasedDelivery): void {
      queues.get(delivery.partnerId)?.held.delete(delivery.id);
    },
    /** Removes and returns the deliveries leased before `leasedBeforeMs`, whose lease could expire during an attempt. */
    takeStale(leasedBeforeMs: number): LeasedDelivery[] {
      return order.flatMap((queue) => {
        const { waiting } = queue;
        const count = waiting.findIndex((one) => one.leasedAtMs >= leasedBeforeMs);
        return waiting.splice(0, count === -1 ? waiting.length : count).map((one) => one.delivery);
      });
    },
  };
}

function createQueue(endpoint: SendableEndpoint) {
  return {
    endpoint,
    /** False for an endpoint that is disabled, removed or held. */
    isOpen: true,
    /** True if the database may have a due delivery that nobody has leased. */
    mayHaveDue: false,
    /** True after a failed attempt, until an attempt succeeds. */
    isFailing: endpoint.failingSince !== null,
    underWay: 0,
    waiting: [] as { readonly delivery: LeasedDelivery; readonly leasedAtMs: number }[],
    /** The ids of deliveries that are leased here, and neither finished nor given back. */
    held: new Set<number>(),
  };
}

function updateQueue(queue: EndpointQueue, endpoint: SendableEndpoint, now: number): void {
  if (queue.endpoint.url !== endpoint.url) queue.isFailing = false;
  queue.endpoint = endpoint;
  queue.isOpen = true;
  queue.mayHaveDue = endpoint.nextDueAt !== null && endpoint.nextDueAt <= now;
}

/** Returns how many deliveries to lease in one commit. A commit for each delivery would cost more than the attempt. */
function roomOf({ isOpen, mayHaveDue, isFailing, waiting, underWay }: EndpointQueue, limits: QueueLimits) {
  if (!isOpen || !mayHaveDue || waiting.length >= limits.maxAttemptsPerEndpoint / 2) return 0;
  return (isFailing ? 1 : limits.maxHeldPerEndpoint) - waiting.length - underWay;
}
