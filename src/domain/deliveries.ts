import type { EventType } from "../partner/contract.ts";
import type { DeliveryStore } from "../store/deliveries.ts";
import type { SettingsStore } from "../store/settings.ts";
import { type Clock, isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { holdWebhooksName } from "./settings.ts";
import type { WebhookEndpoint } from "./webhooks.ts";

export const deliveryStates = ["pending", "delivered", "dead"] as const;
type DeliveryState = (typeof deliveryStates)[number];

/** Why a pending delivery is not sent: its endpoint or partner is disabled, or a restore holds all webhooks. */
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

export type OpenEndpoint = Pick<
  WebhookEndpoint,
  "partnerId" | "url" | "secret" | "previousSecret" | "previousUntil" | "failingSince"
> & {
  /** When its next delivery is due or a lease of it ends; 0 for at once, null when nothing is pending. */
  readonly nextDueAt: number | null;
};

/** `except`: ids that this process has in hand; a clock that was set forward must not end their leases. */
export type LeaseRequest = {
  readonly partnerId: string;
  readonly limit: number;
  readonly except: readonly number[];
};

/** By which token deliveries are held, and until when. */
export type Lease = { readonly token: string; readonly now: number; readonly until: number };

export type LeasedDelivery = Pick<
  DeliveryDetail,
  "id" | "deliveryId" | "partnerId" | "eventId" | "eventType" | "body"
> & {
  readonly lease: string;
  /** Attempts made before this lease, in all and since the current schedule began. */
  readonly attempts: number;
  readonly scheduledAttempts: number;
};

export type FinishedAttempt = Omit<DeliveryAttempt, "number"> & {
  readonly delivery: LeasedDelivery;
  /** The address that the attempt went to: another one's failure is not held against a new one. */
  readonly url: string;
  readonly finishedAt: number;
  /** What comes next after a failure: a time in milliseconds since the epoch, or no further attempt. */
  readonly next: { readonly dueAt: number } | "delivered" | "dead";
  /** Whether the answer disables the endpoint (410). */
  readonly isGone: boolean;
};

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

/** Ends the hold of `tvs restore --hold-webhooks`; enabling one endpoint does not. @returns false when there was no hold */
export async function releaseWebhooks(settings: SettingsStore): Promise<boolean> {
  const held = (await settings.read()).get(holdWebhooksName) === "true";
  if (held) await settings.write({ [holdWebhooksName]: "false" });
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
  const { deliveryId, state, partnerId, eventType, eventId, attempts, lastStatus, lastError } = delivery;
  const { createdAt, dueAt, heldBy, finishedAt } = delivery;
  return {
    ...{ deliveryId, state, partnerId, eventType, eventId, attempts, lastStatus, lastError },
    ...{ createdAt: isoTime(createdAt), dueAt: isoTime(dueAt), heldBy, finishedAt: isoTime(finishedAt) },
  };
}

export function describeAttempt(attempt: DeliveryAttempt) {
  return { ...attempt, at: isoTime(attempt.at) };
}
