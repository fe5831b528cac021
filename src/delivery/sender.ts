import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import type { FinishedAttempt, LeasedDelivery } from "../domain/deliveries.ts";
import { nextAttemptDelayMs } from "../domain/webhook-schedule.ts";
import type { Outbox } from "../store/outbox.ts";
import { type AttemptDependencies, createAttemptMaker } from "./attempt.ts";
import { createEndpointQueues, type EndpointQueues, type RunningAttempt } from "./endpoint-queues.ts";
import type { AttemptResult } from "./exchange.ts";

const senderLimits = {
  maxAttempts: 128,
  maxAttemptsPerEndpoint: 8,
  maxHeldPerEndpoint: 32,
  maxHeld: 512,
  /** How long a lease lasts. When it expires, another sender takes over the deliveries of a dead process. */
  leaseMs: 60_000,
  deadlineMs: 15_000,
  pollMs: 200,
  /** The longest time that `close` waits for attempts under way. */
  drainMs: 8_000,
};
type SenderLimits = typeof senderLimits;

/** How much longer a lease lasts than the exchange: an attempt also resolves a name (at most 5 s) and makes two commits. */
const attemptMarginMs = 10_000;
const maxLaunchesAtOnce = 8;
const errorPauseMs = 2_000;

export type WebhookSenderDependencies = Omit<AttemptDependencies, "deadlineMs"> & {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly limits?: Partial<SenderLimits>;
  /** Called with failures that only the operator can repair: of the database, of the master key. */
  readonly onError?: (error: unknown) => void;
};

export type WebhookSender = ReturnType<typeof startWebhookSender>;

/**
 * Sends the outbox's deliveries until it is closed (decision D10.5). A delivery is leased in the database before its
 * attempt, the lease of a dead process expires, and only the lease's holder records the attempt. So each delivery is
 * sent at least once and finished once, however many senders run or die.
 */
export function startWebhookSender(dependencies: WebhookSenderDependencies) {
  const { outbox, clock, random = Math.random, onError } = dependencies;
  const limits = { ...senderLimits, ...dependencies.limits };
  const queues = createEndpointQueues(limits);
  const intake = createLeaseIntake(dependencies, queues, limits);
  const makeAttempt = createAttemptMaker({ ...dependencies, deadlineMs: limits.deadlineMs });
  const cutOff = new AbortController();
  const underWay = new Set<Promise<void>>();
  let isClosing = false;

  /**
   * Begins attempts, and leases deliveries when none is left, until the limits are reached or nothing is due. A few
   * attempts begin at a time (0.2 ms each), so that API calls are answered in between. A long backlog is interrupted to
   * read the endpoints, because there may be new deliveries, URLs or secrets.
   */
  async function fill(): Promise<void> {
    const lookAt = performance.now() + limits.pollMs;
    for (let begun = 1; !isClosing; begun++) {
      if (performance.now() >= lookAt) {
        void loop.wake({ look: true });
        return;
      }
      const attempt = queues.next(performance.now() - longestWaitMs(limits));
      if (attempt === null) {
        if (!(await intake.lease())) return;
        continue;
      }
      const run = carryOut(attempt).finally(() => underWay.delete(run));
      underWay.add(run);
      if (begun % maxLaunchesAtOnce === 0) await nextTurn();
    }
  }

  async function carryOut(attempt: RunningAttempt): Promise<void> {
    const { delivery, queue } = attempt;
    const { endpoint } = queue;
    const at = clock.now();
    const report = (error: unknown) => onError?.(error);
    const result = (await makeAttempt(delivery, endpoint, cutOff.signal).catch(report)) ?? null;
    // Recording begins before the slot is freed, so that the record shares a commit with the next lease.
    const recorded = result === null ? null : record({ delivery, url: endpoint.url, at }, result);
    queues.end(attempt, result?.error !== null);
    if (!isClosing) loop.wake({ look: false });
    // If the attempt cannot be recorded, the delivery is sent again after its lease has expired.
    await recorded?.catch(report);
    queues.forget(delivery);
  }

  async function record(
    attempt: Pick<FinishedAttempt, "delivery" | "url" | "at">,
    { status, error, durationMs, retryAfterSeconds }: AttemptResult,
  ): Promise<void> {
    const { delivery } = attempt;
    if (error === "ABORTED") return intake.giveBack([delivery]);
    const finishedAt = clock.now();
    const failed = { attempt: delivery.scheduledAttempts + 1, retryAfterSeconds, random };
    const step = error === null ? "delivered" : nextAttemptDelayMs(failed);
    const next = typeof step === "number" ? { dueAt: finishedAt + step } : step;
    const isGone = status === 410;
    await outbox.finish({ ...attempt, finishedAt, status, error, durationMs, isGone, next });
  }

  async function work(isLookWanted: boolean): Promise<void> {
    if (isClosing) return;
    try {
      if (isLookWanted) await intake.look();
      await fill();
    } catch (error) {
      onError?.(error);
      throw error;
    }
  }

  const loop = createWorkLoop(work);
  const polling = setInterval(() => void loop.wake({ look: true }), limits.pollMs);

  return {
    /** Polls now; resolves when every due delivery that may be sent has had its attempt. */
    async settle(): Promise<void> {
      await loop.wake({ look: true });
      while (underWay.size > 0) {
        await Promise.all(underWay);
        await loop.rest();
        await nextTurn();
      }
    },
    /** Releases the deliveries that wait. Attempts that last longer than `drainMs` are aborted, and a later sender repeats them. */
    async close(): Promise<void> {
      isClosing = true;
      clearInterval(polling);
      const draining = setTimeout(() => cutOff.abort(), limits.drainMs);
      await loop.rest();
      await intake.giveBack(queues.takeStale(Number.POSITIVE_INFINITY)).catch((error) => onError?.(error));
      await Promise.all(underWay);
      clearTimeout(draining);
    },
  };
}

function createLeaseIntake(
  { outbox, clock }: Pick<WebhookSenderDependencies, "outbox" | "clock">,
  queues: EndpointQueues,
  limits: SenderLimits,
) {
  async function giveBack(deliveries: readonly LeasedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await outbox.release(deliveries, clock.now()).finally(() => {
      for (const delivery of deliveries) queues.forget(delivery);
    });
  }

  return {
    /** Updates the queues from the database. */
    async look(): Promise<void> {
      await giveBack(queues.takeStale(performance.now() - longestWaitMs(limits)));
      await giveBack(queues.update(await outbox.open(), clock.now()));
    },
    /** Leases deliveries. @returns false if the queues have no room, or nothing is due */
    async lease(): Promise<boolean> {
      const requests = queues.wants();
      if (requests.length === 0) return false;
      const leasedAtMs = performance.now();
      const now = clock.now();
      const lease = { token: randomUUID(), now, until: now + limits.leaseMs };
      queues.add(requests, await outbox.lease(requests, lease), leasedAtMs);
      return true;
    },
    giveBack,
  };
}

/** Makes a loop that runs `work` when it is woken, one run at a time, and pauses after a failure. */
function createWorkLoop(work: (isLookWanted: boolean) => Promise<void>) {
  let wanted = { look: true, fill: true };
  let pausedUntilMs = 0;
  let isWorking = false;
  let working: Promise<void> = Promise.resolve();

  async function workOn(): Promise<void> {
    isWorking = true;
    while (wanted.fill && performance.now() >= pausedUntilMs) {
      const { look } = wanted;
      wanted = { look: false, fill: false };
      await work(look).catch(() => {
        pausedUntilMs = performance.now() + errorPauseMs;
      });
    }
    isWorking = false;
  }

  return {
    /** Wakes the loop. @returns a promise that resolves when no work is left */
    wake(want: { look: boolean }): Promise<void> {
      wanted = { look: wanted.look || want.look, fill: true };
      if (!isWorking) working = workOn();
      return working;
    },
    /** Resolves when the current work is done. */
    rest: () => working,
  };
}

/** Returns the longest time that a leased delivery may wait, so that its lease outlasts the attempt. */
function longestWaitMs({ leaseMs, deadlineMs }: SenderLimits): number {
  return leaseMs - deadlineMs - attemptMarginMs;
}
