/** Partners' calls about their own data: their terms, events and deliveries. */

import type { WebhookEvent } from "../partner/contract.ts";
import type { PartnerEventStore } from "../store/partner-events.ts";
import type { WatchStore } from "../store/watches.ts";
import type { WebhookStore } from "../store/webhooks.ts";
import { type Clock, isoTime } from "./clock.ts";
import { liveCredentialsOf } from "./credentials.ts";
import type { Delivery, DeliveryDetail, DeliveryFilter } from "./deliveries.ts";
import { describeAttempt, describeDelivery } from "./deliveries.ts";
import { TvsError } from "./errors.ts";
import { describeEventFilter } from "./event-filter.ts";
import type { ApiKey, ClientCertificate } from "./partners.ts";
import type { AuthenticatedCall } from "./verification.ts";
import type { WebhookEndpoint } from "./webhooks.ts";

export type SelfService = ReturnType<typeof createSelfService>;

type Dependencies = {
  readonly webhooks: Pick<WebhookStore, "endpoint" | "deliveries" | "delivery" | "retry">;
  readonly partnerEvents: Pick<PartnerEventStore, "page">;
  readonly watches: WatchStore;
  readonly clock: Clock;
};

export function createSelfService({ webhooks, partnerEvents, watches, clock }: Dependencies) {
  async function requireDelivery(partnerId: string, deliveryId: string): Promise<DeliveryDetail> {
    const found = isUuid(deliveryId) ? await webhooks.delivery(deliveryId.toLowerCase()) : null;
    if (found?.partnerId !== partnerId) {
      const message = "you have no delivery with this id; GET /v1/inter-agency/me/deliveries lists them";
      throw new TvsError("DELIVERY_UNKNOWN", message);
    }
    return found;
  }

  return {
    watches,
    endpoint: (partnerId: string): Promise<WebhookEndpoint | null> => webhooks.endpoint(partnerId),
    /**
     * Gives a page of events in commit order. The page begins after the event `after`, or with the oldest event.
     * @throws TvsError EVENTS_GONE if the event `after` was deleted, or is not an event of this partner
     */
    async events(partnerId: string, { after, limit }: { after: string | null; limit: number }) {
      const isBegun = after !== null;
      const found = await partnerEvents.page(partnerId, { from: after, limit: limit + (isBegun ? 2 : 1) });
      if (isBegun && found[0]?.eventId !== after)
        throw new TvsError("EVENTS_GONE", "the event of after is not kept; ask without after");
      const following = isBegun ? found.slice(1) : found;
      const shown = following.slice(0, limit);
      return {
        data: shown.map(({ content }) => JSON.parse(content) as WebhookEvent),
        end: shown.at(-1)?.eventId ?? null,
        done: following.length <= limit,
      };
    },
    deliveries: (filter: DeliveryFilter & { readonly partnerId: string }) => webhooks.deliveries(filter),
    /** Reads a delivery of this partner. @throws TvsError DELIVERY_UNKNOWN, also for another partner's delivery */
    delivery: requireDelivery,
    /** Makes a delivery due now, even an acknowledged one. @throws TvsError DELIVERY_UNKNOWN, DELIVERY_UNDER_WAY, NO_WEBHOOK */
    async retry({ authenticated, snapshot }: AuthenticatedCall, deliveryId: string): Promise<DeliveryDetail> {
      const { partnerId } = authenticated.partner;
      const known = await requireDelivery(partnerId, deliveryId);
      const by = { partnerId, revision: snapshot.revision };
      const outcome = await webhooks.retry(known.deliveryId, clock.now(), by);
      if (outcome === "no endpoint")
        throw new TvsError("NO_WEBHOOK", "you have no webhook; ask the operator to set one");
      if (outcome === "leased")
        throw new TvsError("DELIVERY_UNDER_WAY", "an attempt is in progress; look again in a minute");
      return requireDelivery(partnerId, known.deliveryId);
    },
  };
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

type SelfFacts = { endpoint: WebhookEndpoint | null; day: { used: number; endsAt: number }; now: number };

/** Describes the calling partner's terms, credentials and webhook. */
export function describeOwnAccount(
  { snapshot, authenticated }: AuthenticatedCall,
  { endpoint, day, now }: SelfFacts,
) {
  const { partner, credential } = authenticated;
  const { credentials } = snapshot;
  const { partnerId, name, scopes, purposes, perMinute, perDay, eventFilter } = partner;
  const asking = credentials.apiKeys.get(credential) ?? credentials.certificates.get(credential);
  return {
    partnerId,
    name,
    scopes,
    purposes,
    quota: { perMinute, perDay, usedToday: day.used, dayEndsAt: isoTime(day.endsAt) },
    credential: asking === undefined ? null : describeCredential(asking),
    credentials: liveCredentialsOf(credentials, partnerId, now).map(describeCredential),
    eventFilter: describeEventFilter(eventFilter),
    webhook: endpoint && { url: endpoint.url, state: endpoint.disabledAt === null ? "enabled" : "disabled" },
  };
}

function describeCredential(one: ApiKey | ClientCertificate) {
  return "keyId" in one
    ? { keyId: one.keyId, createdAt: isoTime(one.createdAt), expiresAt: isoTime(one.expiresAt) }
    : { fingerprint: one.fingerprint, createdAt: isoTime(one.addedAt), expiresAt: isoTime(one.validTo) };
}

/** Errors that a partner sees as ADDRESS_REFUSED only: they would show how the operator's network resolves a name. */
const ofAddress = ["ENDPOINT_INVALID", "HOST_UNRESOLVED"];

function outcomeOf(error: string | null): string {
  return error === null ? "ACKNOWLEDGED" : ofAddress.includes(error) ? "ADDRESS_REFUSED" : error;
}

export function describeOwnDelivery(one: Delivery | DeliveryDetail) {
  const { partnerId: _, lastError, heldBy, ...shown } = describeDelivery(one);
  const held = heldBy === null || heldBy === "endpoint" ? heldBy : "operator";
  const last = one.attempts === 0 ? null : outcomeOf(lastError);
  const attempts = "attemptList" in one ? { attemptList: one.attemptList.map(describeOwnAttempt) } : {};
  return { ...shown, heldBy: held, lastOutcome: last, ...attempts };
}

function describeOwnAttempt(attempt: DeliveryDetail["attemptList"][number]) {
  const { error, ...shown } = describeAttempt(attempt);
  return { ...shown, outcome: outcomeOf(error) };
}
