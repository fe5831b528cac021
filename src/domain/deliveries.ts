import written from "../../data/delivery-failures.json" with { type: "json" };
import type { EventType } from "../partner/contract.ts";
import type { DeliveryStore } from "../store/deliveries.ts";
import type { SettingsStore } from "../store/settings.ts";
import { type Clock, isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { holdWebhooksSettingName } from "./settings.ts";
import type { WebhookEndpoint } from "./webhooks.ts";

export const deliveryStates = ["pending", "delivered", "dead"] as const;
type DeliveryState = (typeof deliveryStates)[number];

/** The reason why a delivery is held: its endpoint or partner is disabled, or `tvs restore --hold-webhooks` was run. */
type HoldReason = "endpoint" | "partner" | "restore";

/** The delivery of one event to one partner's endpoint. Times are milliseconds since the epoch. */
export type Delivery = {
  readonly id: number;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly eventType: EventType;
  readonly partnerId: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly createdAt: number;
  /** The time at which the next attempt is due; null after the last attempt. */
  readonly dueAt: number | null;
  /** True while a sender has a lease on the delivery: an attempt runs, or the sender died during one. */
  readonly leased: boolean;
  readonly heldBy: HoldReason | null;
  readonly finishedAt: number | null;
  /** The HTTP status and the error code of the last attempt; each is null if the attempt had none. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
};

export type DeliveryAttempt = {
  /** The attempt's number, counted from 1. */
  readonly number: number;
  readonly at: number;
  readonly status: number | null;
  /** A {@link DeliveryErrorCode}, with the HTTP status if there is one; null if the receiver acknowledged the event. */
  readonly error: string | null;
  readonly durationMs: number;
};

/** The stable codes of failed attempts, each with an explanation for the operator. */
export const deliveryErrorTexts = written.errors;
export type DeliveryErrorCode = keyof typeof deliveryErrorTexts;

/** Explains an error of a delivery, such as `TIMEOUT` or `BAD_STATUS 503`, in a sentence. */
export function explainDeliveryError(error: string): string {
  const [code = ""] = error.split(" ");
  return Object.hasOwn(deliveryErrorTexts, code)
    ? deliveryErrorTexts[code as DeliveryErrorCode]
    : "The attempt failed.";
}

export type DeliveryDetail = Delivery & {
  /** The exact bytes that every attempt sends. */
  readonly body: string;
  readonly attemptList: readonly DeliveryAttempt[];
};

export type DeliveryFilter = {
  readonly state?: DeliveryState | undefined;
  readonly partnerId?: string | undefined;
  /** Selects deliveries that were created at this time or later, in milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Selects deliveries that were created before the delivery with this {@link Delivery.id}. */
  readonly before?: number | undefined;
  readonly limit: number;
};

export type PartnerBacklog = {
  readonly partnerId: string;
  readonly pending: number;
  readonly dead: number;
  /** The time at which the most overdue delivery became due; null if none is due. */
  readonly oldestDueAt: number | null;
  readonly heldBy: HoldReason | null;
};

/** The result of a retry that a person requested. `leased`: an attempt is running, and nothing was changed. */
export type RetryOutcome = "retried" | "leased" | "delivered" | "no endpoint" | "not known";

export type SendableEndpoint = Pick<
  WebhookEndpoint,
  "partnerId" | "url" | "secret" | "previousSecret" | "previousUntil" | "failingSince"
> & {
  /** The time at which the next delivery is due or a lease ends. 0 means now; null means that no delivery is pending. */
  readonly nextDueAt: number | null;
};

/** `except` lists the deliveries that this process has leased. None is leased again, even if the clock is set forward. */
export type LeaseRequest = {
  readonly partnerId: string;
  readonly limit: number;
  readonly except: readonly number[];
};

export type DeliveryLease = { readonly token: string; readonly now: number; readonly until: number };

export type LeasedDelivery = Pick<
  DeliveryDetail,
  "id" | "deliveryId" | "partnerId" | "eventId" | "eventType" | "body"
> & {
  readonly lease: string;
  /** All attempts before this lease. `scheduledAttempts` counts the attempts since the retry schedule last restarted. */
  readonly attempts: number;
  readonly scheduledAttempts: number;
};

export type FinishedAttempt = Omit<DeliveryAttempt, "number"> & {
  readonly delivery: LeasedDelivery;
  /** The URL of the attempt. If the endpoint's URL has changed since, a failure does not count against the endpoint. */
  readonly url: string;
  readonly finishedAt: number;
  /** The time of the next attempt, in milliseconds since the epoch, or the delivery's final state. */
  readonly next: { readonly dueAt: number } | "delivered" | "dead";
  /** True if the receiver answered 410, which disables the endpoint. */
  readonly isGone: boolean;
};

/** Makes a delivery due now. A dead delivery becomes pending. @throws TvsError NOT_KNOWN, REFUSED */
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

/** Reads a delivery. @throws TvsError NOT_KNOWN */
export async function requireDelivery(store: DeliveryStore, deliveryId: string): Promise<DeliveryDetail> {
  const delivery = await store.delivery(deliveryId);
  if (delivery === null) throw unknownDelivery();
  return delivery;
}

function unknownDelivery(): TvsError {
  return new TvsError("NOT_KNOWN", "no delivery has this id; `tvs webhooks list` shows them");
}

/** Releases all deliveries after `tvs restore --hold-webhooks`. @returns false if that command held no deliveries */
export async function releaseHeldWebhooks(settings: SettingsStore): Promise<boolean> {
  const held = (await settings.read()).get(holdWebhooksSettingName) === "true";
  if (held) await settings.write({ [holdWebhooksSettingName]: "false" });
  return held;
}

/** Sums the backlog of all partners, for `tvs status`. `oldestDueAt` (ISO 8601) leaves out held deliveries. */
export async function sumWebhookBacklog(store: Pick<DeliveryStore, "backlog">, now: number) {
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

export function describeDelivery(delivery: Delivery) {
  const { deliveryId, state, partnerId, eventType, eventId, attempts, lastStatus, lastError } = delivery;
  return {
    ...{ deliveryId, state, partnerId, eventType, eventId, attempts, lastStatus, lastError },
    ...{ createdAt: isoTime(delivery.createdAt), dueAt: isoTime(delivery.dueAt), heldBy: delivery.heldBy },
    finishedAt: isoTime(delivery.finishedAt),
  };
}

export function describeAttempt(attempt: DeliveryAttempt) {
  return { ...attempt, at: isoTime(attempt.at) };
}
