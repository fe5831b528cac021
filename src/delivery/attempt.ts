/** One attempt of one delivery: the address checked, the body signed, the exchange made (decision D10.1). */

import { createHmac } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { LeasedDelivery, OpenEndpoint } from "../domain/deliveries.ts";
import type { Secrets } from "../domain/secrets.ts";
import { signingSecrets, standardKeyOf } from "../domain/webhooks.ts";
import { EndpointRefused, type ResolvedEndpoint, type Resolver, resolveEndpoint } from "./address-guard.ts";
import type { AttemptResult, Exchange } from "./exchange.ts";

export type AttemptDependencies = {
  readonly exchange: Exchange;
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Whether an endpoint may have a private address, by the settings at the time of the attempt. */
  readonly allowPrivate: (url: string) => boolean;
  /** The program's version, for `User-Agent`. */
  readonly version: string;
  /** The system's by default. */
  readonly resolver?: Resolver;
  /** Over the whole exchange, in milliseconds. */
  readonly deadlineMs: number;
};

/**
 * Returns a function that makes one attempt and returns its result, whatever the endpoint does. Each attempt resolves and
 * checks the endpoint's address, and connects to it; attempts that begin during a look-up share its result.
 * @throws TvsError MASTER_KEY_WRONG when the endpoint's secret does not open
 */
export function createAttemptMaker(dependencies: AttemptDependencies) {
  const { exchange, secrets, clock, version, allowPrivate, resolver, deadlineMs } = dependencies;
  const resolving = new Map<string, Promise<ResolvedEndpoint>>();

  function resolve(url: string, allowPrivate: boolean): Promise<ResolvedEndpoint> {
    const name = `${allowPrivate} ${url}`;
    const options = { allowPrivate, ...(resolver && { resolver }) };
    const found = resolving.get(name) ?? resolveEndpoint(url, options).finally(() => resolving.delete(name));
    resolving.set(name, found);
    return found;
  }

  return async (
    delivery: LeasedDelivery,
    endpoint: OpenEndpoint,
    signal: AbortSignal,
  ): Promise<AttemptResult> => {
    const startedMs = performance.now();
    const isPrivateAllowed = allowPrivate(endpoint.url);
    let resolved: ResolvedEndpoint;
    try {
      resolved = await resolve(endpoint.url, isPrivateAllowed);
    } catch (error) {
      if (!(error instanceof EndpointRefused)) throw error;
      const durationMs = Math.round(performance.now() - startedMs);
      return { status: null, error: error.refusal, retryAfterSeconds: null, durationMs };
    }
    const { url, addresses } = resolved;
    // A host with a dead address among its addresses is reached by a later attempt.
    const address = addresses[delivery.attempts % addresses.length] ?? "";
    const headers = deliveryHeaders(delivery, {
      version,
      secrets: signingSecrets(secrets, endpoint, clock.now()),
      timestampSeconds: Math.floor(clock.now() / 1000),
    });
    const request = { url, address, headers, body: delivery.body, allowPrivate: isPrivateAllowed };
    return exchange.deliver({ ...request, deadlineMs, signal });
  };
}

type Delivered = Pick<LeasedDelivery, "body" | "eventId" | "eventType" | "deliveryId">;

type Signing = {
  /** One secret, or two while a rotation lasts, the newest first. Each whole, `whsec_` included. */
  readonly secrets: readonly string[];
  /** The time of this attempt in whole seconds since the Unix epoch. */
  readonly timestampSeconds: number;
};

/** The headers of an attempt (contract C20, decision D10.6), with those of Standard Webhooks. The ids stay the same. */
export function deliveryHeaders(
  delivery: Delivered,
  { version, ...signing }: Signing & { version: string },
): Record<string, string> {
  const { body, eventId } = delivery;
  const { secrets, timestampSeconds } = signing;
  // Standard Webhooks signs with the bytes that the secrets spell.
  const signed = [`${eventId}.`, `${timestampSeconds}.`, body];
  const signatures = secrets.map((secret) => `v1,${hmac(standardKeyOf(secret), signed).toString("base64")}`);
  return {
    "Content-Type": "application/json",
    "User-Agent": `tvs-webhooks/${version}`,
    "X-AGENCY-Signature": signDelivery({ ...signing, body }),
    "X-AGENCY-Event-Id": eventId,
    "X-AGENCY-Event-Type": delivery.eventType,
    "X-AGENCY-Delivery-Id": delivery.deliveryId,
    "webhook-id": eventId,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signatures.join(" "),
  };
}

/**
 * The value of `X-AGENCY-Signature` (contract C21): `t=<unix_seconds>,v1=<hex>`, with a second `v1` during a rotation. Each
 * attempt has its own, because a receiver refuses a signature older than 300 seconds.
 * @throws RangeError when there are not one or two secrets, a secret is empty, or the time is not a whole second
 */
export function signDelivery({
  body,
  secrets,
  timestampSeconds,
}: Signing & { readonly body: string }): string {
  if (secrets.length < 1 || secrets.length > 2) throw new RangeError("a delivery has one or two secrets");
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new RangeError("the time of a signature is in whole seconds since the Unix epoch");
  }
  const digests = secrets.map(
    (secret) => `v1=${hmac(secret, [`${timestampSeconds}.`, body]).toString("hex")}`,
  );
  return [`t=${timestampSeconds}`, ...digests].join(",");
}

function hmac(key: string | Uint8Array, parts: readonly string[]): Buffer {
  // An empty key would sign, and anybody could forge it.
  if (key.length === 0) throw new RangeError("a webhook secret is empty");
  const made = createHmac("sha256", key);
  for (const part of parts) made.update(part);
  return made.digest();
}
