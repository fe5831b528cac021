/** Deliveries that nobody sent: a receiver has to refuse each of them (contract C21). */

import { v7 as uuidv7 } from "uuid";
import type { TeacherEvent } from "../domain/events.ts";
import { newWebhookSecret } from "../domain/webhooks.ts";
import { deliveryHeaders } from "./attempt.ts";
import type { DeliverRequest, Exchange } from "./exchange.ts";
import type { AttemptResult } from "./outcome.ts";

/** What is wrong with each. */
export const forgeries = {
  "wrong secret": "signed with another secret",
  "changed body": "signed, and then its body was changed",
  replayed: "signed with the right secret ten minutes ago",
  unsigned: "without a signature",
} as const;

type Forgery = keyof typeof forgeries;

/** A receiver refuses a signature that is older than 300 s. */
const replayAgeSeconds = 600;

type ForgedDelivery = Pick<DeliverRequest, "headers" | "body">;

/**
 * Forges a delivery of an event in each way that a receiver must notice.
 * @param event a revocation, whose body says so: that is what is changed in one of them
 * @param secrets the endpoint's own, in clear: what was kept of a real delivery is signed with it
 */
export function forge(
  event: TeacherEvent,
  options: { version: string; secrets: readonly string[]; nowSeconds: number },
): Record<Forgery, ForgedDelivery> {
  const { version, secrets, nowSeconds } = options;
  const { eventId, eventType, body } = event;
  const signed = (using: readonly string[], timestampSeconds: number) =>
    deliveryHeaders(
      { eventId, eventType, body, deliveryId: uuidv7() },
      { version, secrets: using, timestampSeconds },
    );
  const {
    "X-AGENCY-Signature": _signature,
    "webhook-signature": _standard,
    ...unsigned
  } = signed(secrets, nowSeconds);
  return {
    "wrong secret": { headers: signed([newWebhookSecret()], nowSeconds), body },
    "changed body": { headers: signed(secrets, nowSeconds), body: body.replace("REVOKED", "EXPIRED") },
    replayed: { headers: signed(secrets, nowSeconds - replayAgeSeconds), body },
    unsigned: { headers: unsigned, body },
  };
}

/** How a receiver answered a forged delivery. */
export type ForgeryAnswer = {
  readonly forgery: Forgery;
  readonly status: number | null;
  /** Why there is no usable answer: a code of {@link AttemptResult}; null where it accepted. */
  readonly error: AttemptResult["error"];
  /** Whether it refused it with 4xx. */
  readonly refused: boolean;
};

/** Sends forged deliveries to an endpoint, one after the other. */
export async function sendForgeries(
  forged: Readonly<Record<Forgery, ForgedDelivery>>,
  { exchange, to }: { exchange: Exchange; to: Pick<DeliverRequest, "url" | "address" | "allowPrivate"> },
): Promise<ForgeryAnswer[]> {
  const answers: ForgeryAnswer[] = [];
  for (const [forgery, delivery] of Object.entries(forged) as [Forgery, ForgedDelivery][]) {
    const { status, error } = await exchange.deliver({ ...to, ...delivery });
    const refused = status !== null && status >= 400 && status < 500;
    answers.push({ forgery, status, error, refused });
  }
  return answers;
}
