/** What partners see and change of their own, without the operator. */

import { isoTime } from "./clock.ts";
import type { Configuration } from "./configuration.ts";
import { credentialsOf } from "./credentials.ts";
import type { Signer } from "./envelopes.ts";
import { createFetchedEvents } from "./fetched-events.ts";
import { createIterators, type Iterators } from "./iterators.ts";
import type { ApiKey, ClientCertificate } from "./partners.ts";
import type { Secrets } from "./secrets.ts";
import { describeTold, type ToldStore } from "./told.ts";
import type { Admitted } from "./verification.ts";
import type { WatchStore } from "./watches.ts";
import type { WebhookEndpoint, WebhookStore } from "./webhooks.ts";

export type SelfService = ReturnType<typeof createSelfService>;

type SelfServiceDependencies = {
  readonly webhooks: Pick<WebhookStore, "endpoint">;
  readonly secrets: Secrets;
  /** Changes watch lists only while a revision is the newest. */
  readonly watches: (revision: number) => WatchStore;
  readonly told: Pick<ToldStore, "page">;
  readonly signer: Signer;
  readonly configuration: Configuration;
};

export function createSelfService({ webhooks, secrets, watches, ...fetching }: SelfServiceDependencies) {
  const iterators: Iterators = createIterators(secrets);
  return {
    iterators,
    watches,
    events: createFetchedEvents({ ...fetching, iterators }),
    /** A partner's webhook endpoint; null where it has none. */
    endpoint: (partnerId: string): Promise<WebhookEndpoint | null> => webhooks.endpoint(partnerId),
  };
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
    webhook: endpoint && { url: endpoint.url, state: endpoint.disabledAt === null ? "enabled" : "disabled" },
    selfService,
  };
}

/** A credential as its partner sees it; times in ISO 8601. */
function describeCredential(one: ApiKey | ClientCertificate) {
  return "keyId" in one
    ? { keyId: one.keyId, createdAt: isoTime(one.createdAt), expiresAt: isoTime(one.expiresAt) }
    : { fingerprint: one.fingerprint, createdAt: isoTime(one.addedAt), expiresAt: isoTime(one.validTo) };
}
