import type { EventType } from "../partner/contract.ts";
import { type Clock, isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { SettingsStore } from "./settings.ts";

export const deliveryStates = ["pending", "delivered", "dead"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/**
 * Why a pending delivery is not sent: its endpoint is disabled or gone, its partner is disabled, or the
 * database was restored with `--hold-webhooks`.
 */
export type HeldBy = "endpoint" | "partner" | "restore";

/** One event for one partner's endpoint. Times are milliseconds since the epoch. */
export type Delivery = {
  /** By which they are in the order in which they were made. */
  readonly id: number;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly eventType: EventType;
  readonly partnerId: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly createdAt: number;
  /** When the next attempt is due, if it is not held; null when there is none to come. */
  readonly dueAt: number | null;
  /** A sender has leased it: an attempt is in progress, or was when the sender's process died. */
  readonly leased: boolean;
  readonly heldBy: HeldBy | null;
  readonly finishedAt: number | null;
  /** Outcome of the last attempt: the HTTP status if there was one, and the code of the failure if it failed. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
};

export type DeliveryAttempt = {
  /** Counted from 1. */
  readonly number: number;
  readonly at: number;
  readonly status: number | null;
  /** Null when it was acknowledged; else a code of `src/delivery/exchange.ts`. */
  readonly error: string | null;
  readonly durationMs: number;
};

export type DeliveryDetail = Delivery & {
  /** The exact bytes that every attempt carries. */
  readonly body: string;
  readonly attemptList: readonly DeliveryAttempt[];
};

export type DeliveryFilter = {
  readonly state?: DeliveryState | undefined;
  readonly partnerId?: string | undefined;
  /** Made at this time or later, in milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Made before the one that has this {@link Delivery.id}. */
  readonly before?: number | undefined;
  readonly limit: number;
};

export type PartnerBacklog = {
  readonly partnerId: string;
  readonly pending: number;
  readonly dead: number;
  /** Since when the delivery that has waited longest is due; null when none is. */
  readonly oldestDueAt: number | null;
  readonly heldBy: HeldBy | null;
};

/** `leased`: an attempt is in progress, so there is nothing to send sooner. */
export type RetryOutcome = "retried" | "leased" | "delivered" | "no endpoint" | "not known";

export type DeliveryStore = {
  deliveries(filter: DeliveryFilter): Promise<Delivery[]>;
  delivery(deliveryId: string): Promise<DeliveryDetail | null>;
  /**
   * Makes a pending or dead delivery due now, with its whole schedule before it.
   * @param partnerId whose it must be, who may have one sent again that was acknowledged; anybody's when left out
   */
  retry(deliveryId: string, now: number, partnerId?: string): Promise<RetryOutcome>;
  /** The same for all dead ones whose partner has an endpoint; `since` is when they died. @returns how many */
  retryDead(
    now: number,
    filter: { partnerId?: string | undefined; since?: number | undefined },
  ): Promise<number>;
  /** Makes a partner's pending deliveries due now, each with its whole schedule before it. @returns how many */
  makeDue(partnerId: string, now: number): Promise<number>;
  /** Declares a partner's pending deliveries dead. @returns how many */
  markDead(partnerId: string, at: number): Promise<number>;
  backlog(now: number): Promise<PartnerBacklog[]>;
};

/**
 * The other side of the outbox, for the sender: what is due, taken by a lease. When its process dies, a delivery
 * becomes due again by itself as the lease ends, and only the holder of the lease can finish it.
 */
export type Outbox = {
  /** Moves when there may be something new to send, or something that must not be sent any more. */
  revision(): Promise<string>;
  /** Endpoints that may be sent to now, each with the time of its next work. */
  open(): Promise<OpenEndpoint[]>;
  /** Leases deliveries that are due, in one commit. Those of an endpoint that was disabled meanwhile stay. */
  lease(requests: readonly LeaseRequest[], lease: Lease): Promise<LeasedDelivery[]>;
  /**
   * Records an attempt and what becomes of its delivery and endpoint, in one commit.
   * @returns false, having changed nothing, when the lease is somebody else's by now
   */
  finish(attempt: FinishedAttempt): Promise<boolean>;
  /** Gives leases back, due at once, without an attempt. */
  release(leased: readonly Pick<LeasedDelivery, "id" | "lease">[], now: number): Promise<void>;
  /**
   * Gives back what nodes that are gone have leased (decision D12.2): nobody waits until their leases end. Who was only
   * thought to be gone, and comes back, can finish nothing of it any more.
   */
  releaseGone(now: number): Promise<void>;
};

export type OpenEndpoint = {
  readonly partnerId: string;
  readonly url: string;
  readonly secret: Uint8Array;
  readonly previousSecret: Uint8Array | null;
  readonly previousUntil: number | null;
  readonly failingSince: number | null;
  /** When its next delivery is due or a lease of it ends; 0 for at once, null when nothing is pending. */
  readonly nextDueAt: number | null;
};

/** `except`: ids that this process has in hand; a clock that was set forward must not end their leases. */
export type LeaseRequest = {
  readonly partnerId: string;
  readonly limit: number;
  readonly except: readonly number[];
};

/** Who holds deliveries, and until when. The token begins with the node's id: a lease is its node's. */
export type Lease = { readonly token: string; readonly now: number; readonly until: number };

export type LeasedDelivery = {
  readonly id: number;
  readonly lease: string;
  readonly deliveryId: string;
  readonly partnerId: string;
  readonly eventId: string;
  readonly eventType: EventType;
  readonly body: string;
  /** Attempts made before this lease, in all and since the current schedule began. */
  readonly attempts: number;
  readonly scheduledAttempts: number;
};

export type FinishedAttempt = {
  readonly delivery: LeasedDelivery;
  /** The address that the attempt went to: another one's failure is not held against a new one. */
  readonly url: string;
  readonly at: number;
  readonly finishedAt: number;
  readonly status: number | null;
  /** Null when it was acknowledged. */
  readonly error: string | null;
  readonly durationMs: number;
  /** What comes next after a failure: a time in milliseconds since the epoch, or no further attempt. */
  readonly next: { readonly dueAt: number } | "delivered" | "dead";
  /** Whether the answer disables the endpoint (410). */
  readonly isGone: boolean;
};

/** The setting of a restored database that no webhook may leave; see `tvs restore --hold-webhooks`. */
const holdSetting = "hold_webhooks";

/**
 * Makes a delivery due now. A dead one becomes pending again.
 * @throws TvsError NOT_KNOWN, REFUSED when it was delivered, is being sent or its partner has no endpoint
 */
export async function retryDelivery(
  { webhooks, clock }: { webhooks: DeliveryStore; clock: Clock },
  deliveryId: string,
): Promise<DeliveryDetail> {
  const outcome = await webhooks.retry(deliveryId, clock.now());
  if (outcome === "not known") throw unknownDelivery();
  if (outcome !== "retried") throw new TvsError("REFUSED", refusals[outcome]);
  return requireDelivery(webhooks, deliveryId);
}

const refusals: Readonly<Record<Exclude<RetryOutcome, "retried" | "not known">, string>> = {
  delivered: "the delivery has already been acknowledged; the receiver has it",
  leased: "an attempt for this delivery is in progress; check again in a minute",
  "no endpoint": "its partner has no webhook endpoint; set one with `tvs partners webhook set`",
};

/** @throws TvsError NOT_KNOWN */
export async function requireDelivery(store: DeliveryStore, deliveryId: string): Promise<DeliveryDetail> {
  const delivery = await store.delivery(deliveryId);
  if (delivery === null) throw unknownDelivery();
  return delivery;
}

function unknownDelivery(): TvsError {
  return new TvsError("NOT_KNOWN", "no delivery has this id; `tvs webhooks list` shows them");
}

/**
 * Ends the hold that `tvs restore --hold-webhooks` left: `tvs webhooks release`. Enabling one endpoint does
 * not end it, because the hold is there for an operator who has looked at all of them.
 * @returns false when there was no hold
 */
export async function releaseWebhooks(settings: SettingsStore): Promise<boolean> {
  const held = (await settings.read()).get(holdSetting) === "true";
  if (held) await settings.write({ [holdSetting]: "false" });
  return held;
}

/** Figures of all that waits, for `tvs status`; the oldest is the one that nothing holds. Times in ISO 8601. */
export async function webhookBacklog(store: Pick<DeliveryStore, "backlog">, now: number) {
  const parts = await store.backlog(now);
  const sum = (pick: (one: PartnerBacklog) => number) => parts.reduce((total, one) => total + pick(one), 0);
  const dueTimes = parts.flatMap((one) =>
    one.heldBy === null && one.oldestDueAt !== null ? [one.oldestDueAt] : [],
  );
  return {
    pending: sum((one) => one.pending),
    held: sum((one) => (one.heldBy === null ? 0 : one.pending)),
    dead: sum((one) => one.dead),
    oldestDueAt: dueTimes.length === 0 ? null : isoTime(Math.min(...dueTimes)),
  };
}

/** A delivery as the commands show it; times in ISO 8601. */
export function describeDelivery(delivery: Delivery) {
  const { createdAt, dueAt, finishedAt, ...rest } = delivery;
  return {
    deliveryId: rest.deliveryId,
    state: rest.state,
    partnerId: rest.partnerId,
    eventType: rest.eventType,
    eventId: rest.eventId,
    attempts: rest.attempts,
    lastStatus: rest.lastStatus,
    lastError: rest.lastError,
    createdAt: isoTime(createdAt),
    dueAt: isoTime(dueAt),
    heldBy: rest.heldBy,
    finishedAt: isoTime(finishedAt),
  };
}

export function describeAttempt(attempt: DeliveryAttempt) {
  return { ...attempt, at: isoTime(attempt.at) };
}
