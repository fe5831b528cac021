import { randomUUID } from "node:crypto";
import { type Clock, type Timers, timersOf } from "../domain/clock.ts";
import type { FinishedAttempt, LeasedDelivery } from "../domain/deliveries.ts";
import { disablesEndpoint, nextAttempt } from "../domain/webhook-schedule.ts";
import type { Outbox } from "../store/outbox.ts";
import { type AttemptDependencies, createAttemptMaker } from "./attempt.ts";
import { type Attempt, createEndpointQueues, type EndpointQueues } from "./endpoint-queues.ts";
import type { AttemptResult } from "./exchange.ts";

const senderLimits = {
  maxAttempts: 128,
  maxAttemptsPerEndpoint: 8,
  maxAttemptsFailing: 2,
  maxHeldPerEndpoint: 32,
  maxHeld: 512,
  /** A dead process's deliveries are taken over after it. */
  leaseMs: 60_000,
  deadlineMs: 15_000,
  pollMs: 200,
  /** Time for attempts under way when the sender closes. */
  drainMs: 8_000,
};
type SenderLimits = typeof senderLimits;

/** An attempt also resolves the name (5 s at most) and makes two commits. */
const attemptMarginMs = 10_000;
const maxLaunchesAtOnce = 8;
const errorPauseMs = 2_000;

export type SenderDependencies = Omit<AttemptDependencies, "deadlineMs"> & {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly limits?: Partial<SenderLimits>;
  /** Gets the failures that only the operator can repair: the database, the master key. */
  readonly onError?: (error: unknown) => void;
};

export type Sender = ReturnType<typeof startSender>;

/**
 * Sends the outbox's deliveries until it is closed (decision D10.5). Each held delivery is leased in the database, the lease
 * of a dead process ends, and only the holder records an attempt. So a delivery is made at least once and finished once,
 * whatever dies and however many senders there are.
 */
export function startSender(dependencies: SenderDependencies) {
  const { outbox, clock, random = Math.random, onError } = dependencies;
  const limits = { ...senderLimits, ...dependencies.limits };
  const timers = timersOf(clock);
  const queues = createEndpointQueues(limits);
  const intake = createIntake(dependencies, queues, limits);
  const makeAttempt = createAttemptMaker({ ...dependencies, deadlineMs: limits.deadlineMs });
  const cutOff = new AbortController();
  const underWay = new Set<Promise<void>>();
  let isClosing = false;
  let nextLaunch: ReturnType<typeof setImmediate> | undefined;

  /** Leases deliveries and begins attempts until the room is used up or nothing is due. */
  async function fill(): Promise<void> {
    launch();
    while (!isClosing && (await intake.lease())) launch();
  }

  /** Begins a few attempts at a time, 0.2 ms each, so that the API's calls come between. */
  function launch(): void {
    clearImmediate(nextLaunch);
    nextLaunch = undefined;
    if (isClosing) return;
    for (let begun = 0; begun < maxLaunchesAtOnce; begun++) {
      const attempt = queues.next(timers.elapsed() - longestWaitMs(limits));
      if (attempt === null) return;
      const run = carryOut(attempt).finally(() => underWay.delete(run));
      underWay.add(run);
    }
    nextLaunch = setImmediate(launch);
  }

  async function carryOut(attempt: Attempt): Promise<void> {
    const { delivery, queue } = attempt;
    const { endpoint } = queue;
    const at = clock.now();
    const report = (error: unknown) => onError?.(error);
    const result = (await makeAttempt(delivery, endpoint, cutOff.signal).catch(report)) ?? null;
    // Begun before the slot is free, so that it shares a commit with the lease for the slot.
    const recorded = result === null ? null : record(delivery, { url: endpoint.url, at, result });
    queues.end(attempt, result?.error !== null);
    if (!isClosing) loop.wake({ look: false });
    // An attempt that was not recorded is sent again after its lease.
    await recorded?.catch(report);
    queues.forget(delivery);
  }

  async function record(delivery: LeasedDelivery, attempted: Attempted): Promise<void> {
    const { error } = attempted.result;
    if (error === "ABORTED") return intake.giveBack([delivery]);
    await outbox.finish(finishedAttempt(delivery, attempted, { finishedAt: clock.now(), random }));
    if (error !== null) intake.markStale();
  }

  async function work(isLookWanted: boolean): Promise<void> {
    if (isClosing) return;
    try {
      if (isLookWanted) await intake.look();
      await fill();
    } catch (error) {
      intake.markStale();
      onError?.(error);
      throw error;
    }
  }

  const loop = createWorkLoop(work, timers);
  let stopPolling = timers.after(limits.pollMs, poll);

  function poll(): void {
    stopPolling = timers.after(limits.pollMs, poll);
    void loop.wake({ look: true });
  }

  return {
    /** Looks for work now; resolves when nothing due and possible is left. */
    async settle(): Promise<void> {
      intake.markStale();
      await loop.wake({ look: true });
      while (underWay.size > 0 || nextLaunch !== undefined) {
        await Promise.all(underWay);
        await loop.rest();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    /** Gives back leases that have not begun, and awaits attempts for `drainMs`; the next sender repeats the others. */
    async close(): Promise<void> {
      isClosing = true;
      stopPolling();
      clearImmediate(nextLaunch);
      const takeBackCut = timers.after(limits.drainMs, () => cutOff.abort());
      await loop.rest();
      await intake.giveBack(queues.takeStale(Number.POSITIVE_INFINITY)).catch((error) => onError?.(error));
      await Promise.all(underWay);
      takeBackCut();
    },
  };
}

/** Moves deliveries from the outbox into the queues, and back. */
function createIntake(
  { outbox, clock }: Pick<SenderDependencies, "outbox" | "clock">,
  queues: EndpointQueues,
  limits: SenderLimits,
) {
  const { elapsed } = timersOf(clock);
  let revision = "";
  let isStale = true;

  async function giveBack(deliveries: readonly LeasedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await outbox.release(deliveries, clock.now()).finally(() => {
      for (const delivery of deliveries) queues.forget(delivery);
    });
  }

  return {
    /** Updates the queues; costs one point read, unless something has changed or become due. */
    async look(): Promise<void> {
      await giveBack(queues.takeStale(elapsed() - longestWaitMs(limits)));
      const current = await outbox.revision();
      if (current === revision && !isStale && !queues.isDue(clock.now())) return;
      revision = current;
      isStale = false;
      await giveBack(queues.update(await outbox.open(), clock.now()));
    },
    /** Leases deliveries while there is room. @returns false without room, or if nothing is due */
    async lease(): Promise<boolean> {
      const requests = queues.wants();
      if (requests.length === 0) return false;
      const leasedAtMs = elapsed();
      const now = clock.now();
      const lease = { token: randomUUID(), now, until: now + limits.leaseMs };
      queues.add(requests, await outbox.lease(requests, lease), leasedAtMs);
      // The rest of an endpoint's deliveries is read at the next turn.
      isStale = true;
      return true;
    },
    giveBack,
    /** The times in the queues may be out of date although the revision has not moved. */
    markStale(): void {
      isStale = true;
    },
  };
}

type Attempted = { readonly url: string; readonly at: number; readonly result: AttemptResult };

function finishedAttempt(
  delivery: LeasedDelivery,
  { url, at, result }: Attempted,
  { finishedAt, random }: { finishedAt: number; random: () => number },
): FinishedAttempt {
  const { status, error, durationMs, retryAfterSeconds } = result;
  const isGone = disablesEndpoint(status);
  const attempted = { delivery, url, at, finishedAt, status, error, durationMs, isGone };
  if (error === null) return { ...attempted, next: "delivered" };
  const step = nextAttempt({ attempt: delivery.scheduledAttempts + 1, retryAfterSeconds, random });
  return { ...attempted, next: step === "dead" ? step : { dueAt: finishedAt + step } };
}

/** Runs the work once at a time, however often it is woken; after a failure it pauses. */
function createWorkLoop(work: (isLookWanted: boolean) => Promise<void>, { elapsed }: Timers) {
  let wanted = { look: true, fill: true };
  let pausedUntilMs = 0;
  let isWorking = false;
  let working: Promise<void> = Promise.resolve();

  async function workOn(): Promise<void> {
    isWorking = true;
    while (wanted.fill && elapsed() >= pausedUntilMs) {
      const { look } = wanted;
      wanted = { look: false, fill: false };
      await work(look).catch(() => {
        pausedUntilMs = elapsed() + errorPauseMs;
      });
    }
    isWorking = false;
  }

  return {
    /** @returns when there is nothing more to do */
    wake(want: { look: boolean }): Promise<void> {
      wanted = { look: wanted.look || want.look, fill: true };
      if (!isWorking) working = workOn();
      return working;
    },
    /** Resolves when the current work is done. */
    rest: () => working,
  };
}

/** The longest wait of a leased delivery, so that its lease outlives the attempt. */
function longestWaitMs({ leaseMs, deadlineMs }: SenderLimits): number {
  return leaseMs - deadlineMs - attemptMarginMs;
}
