/** One attempt of one delivery: the address checked, the body signed, the exchange made (decision D10.1). */

import { createHmac } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { LeasedDelivery, OpenEndpoint } from "../domain/deliveries.ts";
import type { Secrets } from "../domain/secrets.ts";
import { signingSecrets } from "../domain/webhooks.ts";
import { EndpointRefused, type ResolvedEndpoint, type Resolver, resolveEndpoint } from "./address-guard.ts";
import type { Exchange } from "./exchange.ts";
import type { AttemptResult } from "./outcome.ts";

export type AttemptDependencies = {
  readonly exchange: Exchange;
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Whether an endpoint may have a private address, by what is in force when the attempt is made. */
  readonly allowPrivate: (url: string) => boolean | Promise<boolean>;
  /** The program's version, for `User-Agent`. */
  readonly version: string;
  /** The system's resolver when left out. */
  readonly resolver?: Resolver;
  /** Over the whole exchange, in milliseconds. */
  readonly deadlineMs: number;
};

/**
 * Makes attempts. Each resolves and checks the endpoint's address anew and connects to what it has checked;
 * attempts to one endpoint that begin while its name is being resolved share the answer.
 * @returns a function that answers what became of the attempt, whatever the endpoint does
 * @throws TvsError MASTER_KEY_WRONG when the endpoint's secret does not open
 */
export function createAttemptMaker(dependencies: AttemptDependencies) {
  const { exchange, secrets, clock, version, allowPrivate, resolver, deadlineMs } = dependencies;
  const resolving = new Map<string, Promise<ResolvedEndpoint>>();

  function resolve(url: string, isPrivateAllowed: boolean): Promise<ResolvedEndpoint> {
    const name = `${isPrivateAllowed} ${url}`;
    const known = resolving.get(name);
    if (known !== undefined) return known;
    const options = { allowPrivate: isPrivateAllowed, ...(resolver === undefined ? {} : { resolver }) };
    const fresh = resolveEndpoint(url, options).finally(() => resolving.delete(name));
    resolving.set(name, fresh);
    return fresh;
  }

  return async (
    delivery: LeasedDelivery,
    endpoint: OpenEndpoint,
    signal: AbortSignal,
  ): Promise<AttemptResult> => {
    const startedMs = performance.now();
    const isPrivateAllowed = await allowPrivate(endpoint.url);
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

/** The headers of an attempt (contract C20). The signature is this attempt's; the ids stay. */
export function deliveryHeaders(
  delivery: Pick<LeasedDelivery, "body" | "eventId" | "eventType" | "deliveryId">,
  signing: { version: string; secrets: readonly string[]; timestampSeconds: number },
): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "User-Agent": `tvs-webhooks/${signing.version}`,
    "X-AGENCY-Signature": signDelivery({ ...signing, body: delivery.body }),
    "X-AGENCY-Event-Id": delivery.eventId,
    "X-AGENCY-Event-Type": delivery.eventType,
    "X-AGENCY-Delivery-Id": delivery.deliveryId,
  };
}

/** What the signature of a webhook delivery is made of (contract C21, decision D10.1). */
type SignDeliveryInput = {
  /** The exact bytes of the request body; text is taken as UTF-8. */
  readonly body: string | Uint8Array;
  /** One secret, or two while a rotation lasts, the newest first. Each whole, `whsec_` included. */
  readonly secrets: readonly string[];
  /** The time of this attempt in whole seconds since the Unix epoch. */
  readonly timestampSeconds: number;
};

/**
 * The value of `X-AGENCY-Signature`: `t=<unix_seconds>,v1=<hex>`, with a second `v1` during a rotation.
 *
 * Every attempt is signed afresh, because a receiver refuses what was signed more than 300 seconds ago.
 * @throws RangeError when there are not one or two secrets, a secret is empty, or the time is no whole second
 */
export function signDelivery({ body, secrets, timestampSeconds }: SignDeliveryInput): string {
  if (secrets.length < 1 || secrets.length > 2) throw new RangeError("a delivery has one or two secrets");
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new RangeError("the time of a signature is in whole seconds since the Unix epoch");
  }
  const digests = secrets.map((secret) => `v1=${digest(secret, timestampSeconds, body)}`);
  return [`t=${timestampSeconds}`, ...digests].join(",");
}

function digest(secret: string, timestampSeconds: number, body: string | Uint8Array): string {
  // An empty key would sign, and anybody could forge it.
  if (secret === "") throw new RangeError("a webhook secret is empty");
  return createHmac("sha256", secret).update(`${timestampSeconds}.`).update(body).digest("hex");
}
