/** What partners see and change of their own, without the operator. */

import { type Clock, isoTime } from "./clock.ts";
import type { Configuration } from "./configuration.ts";
import { credentialsOf, issueApiKey, type KeyKind } from "./credentials.ts";
import {
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryStore,
  describeAttempt,
  describeDelivery,
} from "./deliveries.ts";
import type { Signer } from "./envelopes.ts";
import { isTvsError, TvsError } from "./errors.ts";
import { createFetchedEvents } from "./fetched-events.ts";
import { createIterators } from "./iterators.ts";
import type { ApiKey, ClientCertificate, PartnerStore } from "./partners.ts";
import type { Secrets } from "./secrets.ts";
import { actAndRest, createSerial, createSerials } from "./serial.ts";
import { describeTold, type Told, type ToldStore } from "./told.ts";
import type { Admitted } from "./verification.ts";
import type { WatchStore } from "./watches.ts";
import {
  type EndpointCheck,
  rotateWebhookSecret,
  setWebhook,
  testWebhook,
  type WebhookEndpoint,
  type WebhookStore,
} from "./webhooks.ts";

export type SelfService = ReturnType<typeof createSelfService>;

/** Stores in a partner's name: what they write fails where its caller is not what it was judged as any more. */
export type OwnStores = { readonly partners: PartnerStore; readonly webhooks: WebhookStore };

type SelfServiceDependencies = {
  readonly webhooks: Pick<WebhookStore, "endpoint" | "deliveries" | "delivery">;
  /** @param revision that the caller is judged at */
  readonly storesOf: (partnerId: string, revision: number) => OwnStores;
  readonly secrets: Secrets;
  /** Changes watch lists only while a revision is the newest. */
  readonly watches: (revision: number) => WatchStore;
  readonly told: Pick<ToldStore, "page">;
  readonly signer: Signer;
  readonly configuration: Configuration;
  readonly keyKind: KeyKind;
  readonly clock: Clock;
  /** Refuses a webhook's address that must not be used. */
  readonly check: EndpointCheck;
};

/** Addresses of one partner that a thread has in hand, the one that is looked up and those that wait. */
const addressesAtOnce = 8;

/** A name may take seconds to be looked up: a partner has one looked up at a time. */
function createAddressCheck(check: EndpointCheck) {
  const inTurn = createSerials(addressesAtOnce);
  return async (partnerId: string, url: string): Promise<void> => {
    await inTurn(partnerId, () => check(url)).catch((cause: unknown) => {
      if (!isTvsError(cause, "REFUSED")) throw cause;
      // The same words for every address: those of a network that callers cannot see are not told apart.
      const message = "url must be https and lead to public addresses only";
      throw new TvsError("WEBHOOK_ADDRESS_REFUSED", message, { detail: cause.message, cause });
    });
  };
}

/**
 * Each change moves the revision, by which every call in flight is judged anew. So a thread makes such changes one at a time
 * and rests as long; how many a partner may make, their own commits say (`atPace`, store/changes.ts).
 */
export function createSelfService({
  webhooks,
  storesOf,
  secrets,
  watches,
  keyKind,
  clock,
  check,
  ...fetching
}: SelfServiceDependencies) {
  const iterators = createIterators(secrets);
  const inTurn = createSerial();
  const changing = <T>(act: () => Promise<T>) => inTurn(() => actAndRest(act));
  const requireAddress = createAddressCheck(check);

  function ownOf({ authenticated, snapshot }: Admitted) {
    const { partnerId } = authenticated.partner;
    return { partnerId, secrets, clock, ...storesOf(partnerId, snapshot.revision) };
  }

  async function requireEndpoint({ authenticated }: Admitted): Promise<void> {
    if ((await webhooks.endpoint(authenticated.partner.partnerId)) === null)
      throw new TvsError("NO_WEBHOOK", "you have no webhook; PUT /v1/inter-agency/me/webhook sets one");
  }

  async function requireDelivery(partnerId: string, deliveryId: string): Promise<DeliveryDetail> {
    const found = isUuid(deliveryId) ? await webhooks.delivery(deliveryId.toLowerCase()) : null;
    if (found?.partnerId !== partnerId) throw noDelivery();
    return found;
  }

  return {
    iterators,
    watches,
    events: createFetchedEvents({ ...fetching, iterators }),
    /** A partner's webhook; null where it has none. */
    endpoint: (partnerId: string): Promise<WebhookEndpoint | null> => webhooks.endpoint(partnerId),
    /** Changes what is named of what the partner is told of. @returns what is so now */
    async setTold(
      of: Admitted,
      { events, teachers }: Partial<{ [Member in keyof Told]: Told[Member] | undefined }>,
    ) {
      const { partners, partnerId } = ownOf(of);
      const told = { ...(events && { events }), ...(teachers && { teachers }) };
      if (Object.keys(told).length === 0) return describeTold(of.authenticated.partner.told);
      return describeTold((await changing(() => partners.update({ partnerId, told }))).told);
    },
    /** Issues a further key, by the rules of the terminal. @throws TvsError KEY_LIMIT */
    issueKey(of: Admitted, overlapMs: number) {
      const { partners, partnerId } = ownOf(of);
      const { credential: madeWith } = of.authenticated;
      const how = { kind: keyKind, secrets, now: clock.now(), overlapMs, madeWith };
      return changing(() => issueApiKey(partners, partnerId, how)).catch((error) => {
        if (!isTvsError(error, "REFUSED")) throw error;
        throw new TvsError("KEY_LIMIT", "two of your keys are live already; delete one of them first");
      });
    },
    /**
     * Revokes a key at once. A key that has been replaced, perhaps because it was stolen, revokes only what it made itself.
     * @throws TvsError KEY_ASKING, KEY_UNKNOWN, KEY_REPLACED
     */
    async deleteKey(of: Admitted, keyId: string): Promise<void> {
      const { partners, partnerId } = ownOf(of);
      if (keyId === of.authenticated.credential)
        throw new TvsError("KEY_ASKING", "a key does not delete itself; ask with the other one");
      if (of.snapshot.credentials.apiKeys.get(keyId)?.partnerId !== partnerId)
        throw new TvsError("KEY_UNKNOWN", "you have no key with this id; GET /v1/inter-agency/me lists them");
      const left = await changing(() => partners.revokeKey(keyId, clock.now(), replacedKey(of)));
      if (left?.revokedAt === null)
        throw new TvsError("KEY_REPLACED", "ask with the key that has replaced this one");
    },
    /**
     * Sets where deliveries go, and enables the webhook, but not where the operator has disabled it.
     * @returns the secret too when the webhook is new
     * @throws TvsError WEBHOOK_ADDRESS_REFUSED, WEBHOOK_DISABLED
     */
    async setWebhook(of: Admitted, url: string) {
      const own = ownOf(of);
      await requireAddress(own.partnerId, url);
      const { partnerId } = own;
      return changing(() => setWebhook(own, { partnerId, url, check: async () => {}, isOwn: true }));
    },
    /** @throws TvsError NO_WEBHOOK */
    async rotateSecret(of: Admitted, overlapMs: number | undefined) {
      const own = ownOf(of);
      await requireEndpoint(of);
      return changing(() => rotateWebhookSecret(own, own.partnerId, { overlapMs }));
    },
    /** Has a test event sent. @throws TvsError NO_WEBHOOK, WEBHOOK_DISABLED */
    async test(of: Admitted): Promise<DeliveryDetail> {
      const own = ownOf(of);
      await requireEndpoint(of);
      const sent = await changing(() => testWebhook(own, own.partnerId)).catch((error) => {
        if (!isTvsError(error, "REFUSED")) throw error;
        throw new TvsError("WEBHOOK_DISABLED", "your webhook is disabled; set it again, or ask the operator");
      });
      return requireDelivery(own.partnerId, sent.deliveryId);
    },
    /** A partner's deliveries, the newest first. */
    deliveries: (filter: DeliveryFilter & { readonly partnerId: string }) => webhooks.deliveries(filter),
    /** @throws TvsError DELIVERY_UNKNOWN, also for another partner's */
    delivery: requireDelivery,
    /** Sends a delivery again now, one that was acknowledged too. @throws TvsError DELIVERY_UNKNOWN, DELIVERY_UNDER_WAY, NO_WEBHOOK */
    async retry(of: Admitted, deliveryId: string): Promise<DeliveryDetail> {
      const own = ownOf(of);
      const known = await requireDelivery(own.partnerId, deliveryId);
      const outcome = await own.webhooks.retry(known.deliveryId, clock.now(), own.partnerId);
      if (outcome === "no endpoint") await requireEndpoint(of);
      if (outcome === "leased")
        throw new TvsError("DELIVERY_UNDER_WAY", "an attempt is in progress; look again in a minute");
      return requireDelivery(own.partnerId, known.deliveryId);
    },
  };
}

/** The key that asks, where it has an end: it has been replaced. */
function replacedKey({ authenticated, snapshot }: Admitted): string | undefined {
  const asking = snapshot.credentials.apiKeys.get(authenticated.credential);
  return asking === undefined || asking.expiresAt === null ? undefined : asking.keyId;
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

function noDelivery(): TvsError {
  const message = "you have no delivery with this id; GET /v1/inter-agency/me/deliveries lists them";
  return new TvsError("DELIVERY_UNKNOWN", message);
}

/**
 * A partner as it sees itself.
 * @param now what the answer rests on besides: its endpoint, and what has been used of the day
 */
export function describeSelf(
  { snapshot, authenticated }: Admitted,
  {
    endpoint,
    day,
    now,
  }: { endpoint: WebhookEndpoint | null; day: { used: number; endsAt: number }; now: number },
) {
  const { partner, credential } = authenticated;
  const { credentials } = snapshot;
  const { partnerId, name, scopes, purposes, perMinute, perDay, told, selfService } = partner;
  const asking = credentials.apiKeys.get(credential) ?? credentials.certificates.get(credential);
  return {
    partnerId,
    name,
    scopes,
    purposes,
    quota: { perMinute, perDay, usedToday: day.used, dayEndsAt: isoTime(day.endsAt) },
    credential: asking === undefined ? null : describeCredential(asking),
    credentials: credentialsOf(credentials, partnerId, now).map(describeCredential),
    told: describeTold(told),
    webhook: endpoint && describeOwnWebhook(endpoint),
    selfService,
  };
}

/** A credential as its partner sees it; times in ISO 8601. */
export function describeCredential(one: ApiKey | ClientCertificate) {
  return "keyId" in one
    ? { keyId: one.keyId, createdAt: isoTime(one.createdAt), expiresAt: isoTime(one.expiresAt) }
    : { fingerprint: one.fingerprint, createdAt: isoTime(one.addedAt), expiresAt: isoTime(one.validTo) };
}

export function describeOwnWebhook({ url, disabledAt }: WebhookEndpoint) {
  return { url, state: disabledAt === null ? "enabled" : "disabled" };
}

/** Failures that would tell what a name leads to, where callers cannot look it up. */
const ofAddress = ["ENDPOINT_INVALID", "HOST_UNRESOLVED"];

/** How an attempt ended, in a word. */
function outcomeOf(error: string | null): string {
  return error === null ? "ACKNOWLEDGED" : ofAddress.includes(error) ? "ADDRESS_REFUSED" : error;
}

/** A delivery as its partner sees it; `attemptList` where it is shown by itself. */
export function describeOwnDelivery(
  one: Awaited<ReturnType<DeliveryStore["deliveries"]>>[number] | DeliveryDetail,
) {
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
