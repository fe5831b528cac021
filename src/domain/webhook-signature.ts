/** The signature of a webhook delivery (contract, Events: signature rule; decisions, Webhooks). */
import { createHmac } from "node:crypto";

export type SignDeliveryInput = {
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
