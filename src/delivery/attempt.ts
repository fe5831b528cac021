/** Makes one attempt of one delivery: checks the IP address, signs and sends the body (decision D10.1). */

import { createHmac } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { LeasedDelivery, SendableEndpoint } from "../domain/deliveries.ts";
import type { Secrets } from "../domain/secrets.ts";
import { decodeWebhookSecret, decryptSigningSecrets } from "../domain/webhooks.ts";
import { EndpointError, type ResolvedEndpoint, resolveEndpoint } from "./address-guard.ts";
import type { AttemptResult, WebhookHttpClient } from "./exchange.ts";

export type AttemptDependencies = {
  readonly exchange: WebhookHttpClient;
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Returns true if the settings at the time of the attempt allow this URL to have a private IP address. */
  readonly allowPrivate: (url: string) => boolean;
  /** The program's version, for `User-Agent`. */
  readonly version: string;
  /** The time limit of the whole exchange, in milliseconds. */
  readonly deadlineMs: number;
};

/**
 * Returns a function that makes one attempt and returns its result, whatever the endpoint does. Each attempt resolves
 * and checks the endpoint's host, and connects to a checked address. Attempts at one URL share a running DNS lookup.
 * @throws TvsError MASTER_KEY_WRONG if the endpoint's secret cannot be decrypted
 */
export function createAttemptMaker(dependencies: AttemptDependencies) {
  const { exchange, secrets, clock, version, allowPrivate, deadlineMs } = dependencies;
  const resolving = new Map<string, Promise<ResolvedEndpoint>>();

  function resolve(url: string, allowPrivate: boolean): Promise<ResolvedEndpoint> {
    const name = `${allowPrivate} ${url}`;
    const found =
      resolving.get(name) ?? resolveEndpoint(url, { allowPrivate }).finally(() => resolving.delete(name));
    resolving.set(name, found);
    return found;
  }

  return async (
    delivery: LeasedDelivery,
    endpoint: SendableEndpoint,
    signal: AbortSignal,
  ): Promise<AttemptResult> => {
    const startedMs = performance.now();
    const isPrivateAllowed = allowPrivate(endpoint.url);
    let resolved: ResolvedEndpoint;
    try {
      resolved = await resolve(endpoint.url, isPrivateAllowed);
    } catch (error) {
      if (!(error instanceof EndpointError)) throw error;
      const durationMs = Math.round(performance.now() - startedMs);
      return { status: null, error: error.refusal, retryAfterSeconds: null, durationMs };
    }
    const { url, addresses } = resolved;
    // Each attempt uses the host's next IP address, so that a dead address fails only some attempts.
    const address = addresses[delivery.attempts % addresses.length] ?? "";
    const headers = buildHeaders(delivery, {
      version,
      secrets: decryptSigningSecrets(secrets, endpoint, clock.now()),
      timestampSeconds: Math.floor(clock.now() / 1000),
    });
    const request = { url, address, headers, body: delivery.body, allowPrivate: isPrivateAllowed };
    return exchange.deliver({ ...request, deadlineMs, signal });
  };
}

type Delivered = Pick<LeasedDelivery, "body" | "eventId" | "eventType" | "deliveryId">;

type Signing = {
  /** One secret, or two during a rotation, the newest first. Each begins with `whsec_`. */
  readonly secrets: readonly string[];
  /** The time of this attempt in whole seconds since the Unix epoch. */
  readonly timestampSeconds: number;
};

/** Makes the headers of an attempt (contract C20, decision D10.6). All attempts of a delivery have the same ids. */
export function buildHeaders(delivery: Delivered, { version, ...signing }: Signing & { version: string }) {
  const { body, eventId } = delivery;
  const { secrets, timestampSeconds } = signing;
  // The HMAC key of Standard Webhooks is the secret, decoded from base64.
  const signed = [`${eventId}.`, `${timestampSeconds}.`, body];
  const signatures = secrets.map(
    (secret) => `v1,${hmac(decodeWebhookSecret(secret), signed).toString("base64")}`,
  );
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
 * Makes the value of `X-AGENCY-Signature` (contract C21): `t=<unix_seconds>,v1=<hex>`, with a second `v1` during a
 * rotation. Each attempt is signed with its own time, because a receiver refuses a signature older than 300 seconds.
 * @throws RangeError when a secret is empty
 */
export function signDelivery({ body, secrets, timestampSeconds }: Signing & { readonly body: string }) {
  const signed = [`${timestampSeconds}.`, body];
  const digests = secrets.map((secret) => `v1=${hmac(secret, signed).toString("hex")}`);
  return [`t=${timestampSeconds}`, ...digests].join(",");
}

function hmac(key: string | Uint8Array, parts: readonly string[]): Buffer {
  // HMAC would accept an empty key, and anybody could forge the signature.
  if (key.length === 0) throw new RangeError("a webhook secret is empty");
  const made = createHmac("sha256", key);
  for (const part of parts) made.update(part);
  return made.digest();
}
