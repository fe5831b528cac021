import { randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import type { PartnerStore } from "../store/partners.ts";
import type { WebhookStore } from "../store/webhooks.ts";
import { type Clock, isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { EventFilter } from "./event-filter.ts";
import { createEvent } from "./events.ts";
import { type Partner, requirePartner } from "./partners.ts";
import type { Secrets } from "./secrets.ts";

/** The cause for which an endpoint is disabled: the operator, an answer of 410, or five days of failures. */
export type DisabledReason = "operator" | "gone" | "failing";

/** A partner's webhook. Each time is in milliseconds since the epoch, or null if it does not apply. */
export type WebhookEndpoint = {
  readonly partnerId: string;
  readonly url: string;
  /** The secret, encrypted and bound to the partner by {@link secretName}. */
  readonly secret: Uint8Array;
  /** The secret before the last rotation. Until `previousUntil`, both secrets sign. */
  readonly previousSecret: Uint8Array | null;
  readonly previousUntil: number | null;
  readonly createdAt: number;
  readonly disabledAt: number | null;
  readonly disabledReason: DisabledReason | null;
  /** The time since which every attempt has failed; null after a success. */
  readonly failingSince: number | null;
  /** The stable code of the last failure, and the HTTP status if there was one: `BAD_STATUS 503`. */
  readonly lastError: string | null;
};

/** The terms that `webhook set` stores. Absent members of the filter keep their stored value. */
export type EndpointTerms = {
  readonly partnerId: string;
  readonly url: string;
  readonly eventFilter?: Partial<EventFilter> | undefined;
  /** The encrypted secret, used for a new endpoint only. */
  readonly secret: Uint8Array;
  readonly at: number;
};

type WebhookDependencies = {
  readonly webhooks: WebhookStore;
  readonly partners: PartnerStore;
  readonly secrets: Secrets;
  readonly clock: Clock;
};

/** The address guard of `src/delivery/`, which throws for a URL to which no webhook may be sent. */
type EndpointCheck = (url: string) => Promise<unknown>;

const defaultSecretOverlapMs = 24 * 3_600_000;
const maxSecretOverlapMs = 7 * 24 * 3_600_000;

function secretName(partnerId: string): string {
  return `webhook:${partnerId}`;
}

/**
 * Sets and enables a partner's endpoint. A new endpoint gets a secret.
 * @returns the endpoint, and its secret in clear for the partner
 * @throws TvsError NOT_KNOWN, and the errors of `check`
 */
export async function setWebhook(
  { webhooks, partners, secrets, clock }: WebhookDependencies,
  { check, ...terms }: Pick<EndpointTerms, "partnerId" | "url" | "eventFilter"> & { check: EndpointCheck },
) {
  const { partnerId } = terms;
  await requirePartner(partners, partnerId);
  await check(terms.url);
  const secret = sealSecret(secrets, generateWebhookSecret(), partnerId);
  const endpoint = await webhooks.set({ ...terms, secret, at: clock.now() });
  await webhooks.makeDue(partnerId, clock.now());
  const [newest = ""] = decryptSigningSecrets(secrets, endpoint, clock.now());
  return { endpoint, secret: newest };
}

/**
 * Gives an endpoint a new secret. During the overlap both secrets sign, the new one first; without an overlap the old
 * secret ends now. After several rotations within one overlap, the two newest secrets sign.
 * @throws TvsError USAGE for an overlap above seven days, NOT_KNOWN
 */
export async function rotateWebhookSecret(
  { webhooks, partners, secrets, clock }: WebhookDependencies,
  partnerId: string,
  { overlapMs = defaultSecretOverlapMs }: { overlapMs?: number | undefined } = {},
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  if (overlapMs < 0 || overlapMs > maxSecretOverlapMs)
    throw new TvsError("USAGE", "--overlap must be from 0s to 7d");
  await requirePartner(partners, partnerId);
  const secret = generateWebhookSecret();
  const sealed = sealSecret(secrets, secret, partnerId);
  const previousUntil = overlapMs === 0 ? null : clock.now() + overlapMs;
  const endpoint = await webhooks.rotateSecret(partnerId, { secret: sealed, previousUntil });
  return { endpoint: endpoint ?? noEndpoint(partnerId), secret };
}

/** Reads a partner's endpoint. @throws TvsError NOT_KNOWN if the partner is unknown or has no endpoint */
export async function requireEndpoint(
  { webhooks, partners }: Pick<WebhookDependencies, "webhooks" | "partners">,
  partnerId: string,
): Promise<WebhookEndpoint> {
  await requirePartner(partners, partnerId);
  return (await webhooks.endpoint(partnerId)) ?? noEndpoint(partnerId);
}

/** Disables an endpoint: deliveries of later events are stored and held. @throws TvsError NOT_KNOWN */
export async function disableWebhook({ webhooks, partners, clock }: WebhookDependencies, partnerId: string) {
  await requirePartner(partners, partnerId);
  return (await webhooks.disable(partnerId, clock.now())) ?? noEndpoint(partnerId);
}

/** Enables an endpoint. Its pending deliveries become due now, and their schedule restarts. @throws TvsError NOT_KNOWN */
export async function enableWebhook({ webhooks, partners, clock }: WebhookDependencies, partnerId: string) {
  await requirePartner(partners, partnerId);
  const endpoint = (await webhooks.enable(partnerId)) ?? noEndpoint(partnerId);
  await webhooks.makeDue(partnerId, clock.now());
  return endpoint;
}

/** Removes an endpoint. @returns the number of deliveries that became dead. @throws TvsError NOT_KNOWN */
export async function removeWebhook({ webhooks, partners, clock }: WebhookDependencies, partnerId: string) {
  await requirePartner(partners, partnerId);
  const removed = await webhooks.remove(partnerId);
  // If an earlier removal was killed between its two commits, deliveries without an endpoint are left.
  const dead = await webhooks.markDead(partnerId, clock.now());
  if (!removed && dead === 0) noEndpoint(partnerId);
  return dead;
}

/** Queues a test event: a signed `license.verified` without a teacher. @throws TvsError NOT_KNOWN, REFUSED if disabled */
export async function queueTestEvent(dependencies: WebhookDependencies, partnerId: string) {
  const { webhooks, clock } = dependencies;
  await requireEndpoint(dependencies, partnerId);
  const event = createEvent(
    { eventType: "license.verified", previousStatus: "NOT_FOUND" },
    { license: "VALID", certificate: "VERIFIED" },
    { tId: null, regNo: null, occurredAt: clock.now() },
  );
  const deliveryId = uuidv7();
  if (await webhooks.addTest({ event, deliveryId, partnerId })) return { deliveryId, event };
  const message = `the endpoint of "${partnerId}" or the partner itself is disabled; enable it first`;
  throw new TvsError("REFUSED", message);
}

/** Makes a signing secret. The contract uses the text as HMAC key, Standard Webhooks uses the decoded bytes. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export function decodeWebhookSecret(secret: string): Uint8Array {
  return Buffer.from(secret.slice("whsec_".length), "base64");
}

function sealSecret(secrets: Secrets, secret: string, partnerId: string): Uint8Array {
  return secrets.seal(new TextEncoder().encode(secret), secretName(partnerId));
}

/** Decrypts the secrets that sign at `now`, the newest first: two during the overlap after a rotation, else one. */
export function decryptSigningSecrets(
  secrets: Secrets,
  endpoint: Pick<WebhookEndpoint, "partnerId" | "secret" | "previousSecret" | "previousUntil">,
  now: number,
): string[] {
  const { secret, previousSecret, previousUntil } = endpoint;
  const overlaps = previousSecret !== null && previousUntil !== null && now < previousUntil;
  const sealed = overlaps ? [secret, previousSecret] : [secret];
  const name = secretName(endpoint.partnerId);
  return sealed.map((one) => new TextDecoder().decode(secrets.open(one, name)));
}

function noEndpoint(partnerId: string): never {
  const message = `partner "${partnerId}" has no webhook endpoint; \`tvs partners webhook set\` gives it one`;
  throw new TvsError("NOT_KNOWN", message);
}

/** Describes an endpoint for the commands, without its secrets; times in ISO 8601. */
export function describeEndpoint(
  endpoint: WebhookEndpoint,
  partner: Pick<Partner, "disabledAt" | "eventFilter">,
) {
  const { partnerId, url, createdAt, disabledAt, disabledReason, previousUntil, failingSince, lastError } =
    endpoint;
  return {
    ...{ partnerId, url, ...partner.eventFilter },
    state: disabledAt === null && partner.disabledAt === null ? "enabled" : "disabled",
    ...{ createdAt: isoTime(createdAt), disabledAt: isoTime(disabledAt), disabledReason },
    ...{ previousSecretUntil: isoTime(previousUntil), failingSince: isoTime(failingSince), lastError },
  };
}
