/** Verifies a received webhook delivery (contract C21). */

import { concatenateBytes, fromHex } from "./bytes.ts";
import type { WebhookEvent } from "./contract.ts";
import { Refusal } from "./reasons.ts";
import { isJsonObject, readStrictJson } from "./strict-json.ts";

/** Every reason for refusing a webhook delivery. The names are stable. */
export const webhookRefusalReasons = {
  SIGNATURE_HEADER_MALFORMED: "The X-AGENCY-Signature header is not t=<unix_seconds>,v1=<hex>.",
  SIGNATURE_MISMATCH: "The signature was not made with this secret over this body.",
  OUTSIDE_REPLAY_WINDOW: "The delivery was signed too long ago, or in the future: it may be a replay.",
} as const;
export type WebhookRefusalReason = keyof typeof webhookRefusalReasons;

export type WebhookVerification = {
  readonly valid: boolean;
  /** A stable code of `webhookRefusalReasons`; null if valid. */
  readonly reason: WebhookRefusalReason | null;
  /** The signed time in seconds since the Unix epoch; null unless the signature is valid. */
  readonly timestamp: number | null;
  /** The event in the body; null if the delivery is not valid or the body has no event of the contract. */
  readonly event: WebhookEvent | null;
};

export type WebhookInput = {
  /** The body exactly as received, before any parsing. */
  readonly rawBody: string | Uint8Array;
  /** The value of `X-AGENCY-Signature`. */
  readonly signature: string;
  /** The whole secret, `whsec_` included. */
  readonly secret: string;
  /** The time of the verification; this machine's time by default. */
  readonly now?: Date;
  /** How many seconds the signed time may be before or after `now`; 300 by contract C21. */
  readonly toleranceSeconds?: number;
};

/**
 * Finds damage in a secret, which must be visible ASCII. With a damaged secret, every genuine delivery would be refused.
 * @returns a sentence that repeats nothing of the secret; null if the secret is sound
 */
export function findWebhookSecretProblem(secret: string): string | null {
  if (/^(?:\uFEFF|\uFFFD|\u00FF\u00FE|\u00FE\u00FF|\u00EF\u00BB\u00BF)/.test(secret))
    return "It begins with a byte order mark, or is in UTF-16: save it as UTF-8 without a mark.";
  if (secret.includes("\0")) return "It is in UTF-16: save it as UTF-8 without a mark.";
  if (/\s/.test(secret)) return "It has white space: give the secret alone.";
  return /^[\x21-\x7e]*$/.test(secret)
    ? null
    : "It has characters that no secret has: give it as it was handed out.";
}

/** Matches X-AGENCY-Signature, which has two `v1` signatures while the secret is being rotated. */
const headerPattern = /^t=(0|[1-9]\d{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$/;
const contractToleranceSeconds = 300;
const utf8 = new TextEncoder();

/** Checks for each signature whether it is the HMAC-SHA256 of `<t>.<rawBody>`, with `t` as the header writes it. */
async function areSigned(
  secret: string,
  timestamp: string,
  rawBody: string | Uint8Array,
  signatures: readonly string[],
): Promise<boolean[]> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), algorithm, false, ["verify"]);
  const body = typeof rawBody === "string" ? utf8.encode(rawBody) : rawBody;
  const message = concatenateBytes([utf8.encode(`${timestamp}.`), body]);
  // WebCrypto compares in constant time.
  return Promise.all(signatures.map((hex) => crypto.subtle.verify("HMAC", key, fromHex(hex), message)));
}

function readEvent(rawBody: string | Uint8Array): WebhookEvent | null {
  const reading = readStrictJson(rawBody);
  const event = !(reading instanceof Refusal) && isJsonObject(reading) ? reading : {};
  const texts = [event.eventId, event.eventType, event.occurredAt];
  const isEvent = texts.every((text) => typeof text === "string") && isJsonObject(event.data);
  return isEvent ? (event as unknown as WebhookEvent) : null;
}

function refused(reason: WebhookRefusalReason, timestamp: number | null): WebhookVerification {
  return { valid: false, reason, timestamp, event: null };
}

/**
 * Verifies one delivery (contract C21): the signature first, then the replay window. A signed body that is not an event of
 * the contract is valid, with a null `event`. Deliveries can repeat: remember `eventId` and act once.
 * @returns the verdict; a bad delivery never throws
 * @throws TypeError for a secret that is empty or not visible ASCII, or an invalid `now`
 * @example
 * ```ts
 * const signature = request.headers.get("x-agency-signature") ?? "";
 * const rawBody = new Uint8Array(await request.arrayBuffer()); // before anything parses it
 * const { valid, event } = await verifyWebhook({ rawBody, signature, secret });
 * return new Response(null, { status: valid ? 204 : 400 });
 * ```
 */
export async function verifyWebhook(input: WebhookInput): Promise<WebhookVerification> {
  const { rawBody, signature, secret, now = new Date(), toleranceSeconds = contractToleranceSeconds } = input;
  if (secret === "") throw new TypeError("verifyWebhook needs the webhook secret");
  const problem = findWebhookSecretProblem(secret);
  if (problem !== null) throw new TypeError(`The webhook secret cannot be read. ${problem}`);
  if (Number.isNaN(now.getTime())) throw new TypeError("now is not a valid date");
  const match = headerPattern.exec(signature);
  if (match === null) return refused("SIGNATURE_HEADER_MALFORMED", null);
  const [, time = "", first = "", second = first] = match;
  // Both signatures are always compared, so that the duration does not reveal which one matches.
  const matches = await areSigned(secret, time, rawBody, [first, second]);
  if (!matches.includes(true)) return refused("SIGNATURE_MISMATCH", null);
  const timestamp = Number(time);
  const isStale = Math.abs(now.getTime() / 1000 - timestamp) > toleranceSeconds;
  if (isStale) return refused("OUTSIDE_REPLAY_WINDOW", timestamp);
  return { valid: true, reason: null, timestamp, event: readEvent(rawBody) };
}
