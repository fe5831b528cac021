import written from "../../data/delivery-failures.json" with { type: "json" };
import { isoTime } from "../../src/domain/clock.ts";
import { type Delivery, type DeliveryAttempt, explainDeliveryError } from "../../src/domain/deliveries.ts";
import type { DisabledReason, WebhookEndpoint } from "../../src/domain/webhooks.ts";
import type { OpenedRegister } from "../open.ts";
import { printNote } from "../terminal/output.ts";

const remedies: Readonly<Record<string, string>> = written.remedies;
const statusRemedies: Readonly<Record<string, string>> = written.statusRemedies;

export function explainDeliveryAttempt({ error, status }: Pick<DeliveryAttempt, "error" | "status">): string {
  if (error === null) return "The endpoint acknowledged it.";
  if (error === "BAD_STATUS" && status !== null)
    return `The endpoint answered with ${status}, which is not 2xx.`;
  return explainDeliveryError(error);
}

function remedy({ lastError, lastStatus, partnerId }: Delivery): string | null {
  if (lastError === null) return null;
  const byStatus = lastError === "BAD_STATUS" && lastStatus !== null ? statusRemedies[lastStatus] : undefined;
  return (byStatus ?? remedies[lastError])?.replaceAll("PARTNER", partnerId) ?? null;
}

export function explainDisabledEndpoint(reason: DisabledReason, partnerId: string): string {
  const why = {
    operator: "an operator disabled it",
    gone: "its receiver answered 410 Gone",
    failing: "every attempt in five days failed",
  }[reason];
  return `the endpoint is disabled: ${why}; tvs partners webhook enable ${partnerId} sends its deliveries`;
}

type Situation = {
  readonly endpoint: Pick<WebhookEndpoint, "disabledReason"> | null;
  readonly serviceRunning: boolean;
  readonly now: number;
};

export function adviseNextStep(delivery: Delivery, situation: Situation): string {
  if (delivery.state === "delivered") return "nothing: the receiver has it";
  return delivery.state === "dead" ? deadStep(delivery, situation) : pendingStep(delivery, situation);
}

function deadStep(delivery: Delivery, { endpoint }: Situation): string {
  const { deliveryId, partnerId } = delivery;
  const retry = `tvs webhooks retry ${deliveryId}`;
  if (endpoint === null) {
    return `${partnerId} no longer has an endpoint; tvs partners webhook set ${partnerId} URL, then ${retry}`;
  }
  const fix = remedy(delivery);
  const steps = fix === null ? retry : `${fix}; then ${retry}`;
  return endpoint.disabledReason === null
    ? steps
    : `${steps}; and ${explainDisabledEndpoint(endpoint.disabledReason, partnerId)}`;
}

function pendingStep(delivery: Delivery, situation: Situation): string {
  const { deliveryId, partnerId, leased, dueAt } = delivery;
  const held = explainHeldDelivery(delivery, situation);
  if (held !== null) return held;
  if (!situation.serviceRunning)
    return "no service is running on this data: start tvs serve, which sends what is due";
  const isLater = dueAt !== null && dueAt > situation.now;
  if (leased && isLater) return "an attempt is in progress";
  if (!isLater) return `it is due; the service sends it as soon as ${partnerId}'s turn comes`;
  const fix = remedy(delivery);
  const wait = `the next attempt is at ${isoTime(dueAt)}; tvs webhooks retry ${deliveryId} makes it now`;
  return fix === null ? wait : `${fix}; ${wait}`;
}

/** Explains why a delivery is held, and which command releases it. @returns null if it is not held */
export function explainHeldDelivery(
  { heldBy, partnerId }: Pick<Delivery, "heldBy" | "partnerId">,
  { endpoint }: Pick<Situation, "endpoint">,
): string | null {
  if (heldBy === null) return null;
  if (heldBy === "partner")
    return `it is held because the partner is disabled; tvs partners enable ${partnerId} releases it`;
  if (heldBy === "restore")
    return "it is held because the database was restored with --hold-webhooks; tvs webhooks release releases all";
  return endpoint === null || endpoint.disabledReason === null
    ? `it is held because ${partnerId} has no endpoint; tvs partners webhook set ${partnerId} URL sets one`
    : `it is held: ${explainDisabledEndpoint(endpoint.disabledReason, partnerId)}`;
}

export async function printNoteIfNoService({ driver }: OpenedRegister): Promise<void> {
  if (await driver.serviceRunning()) return;
  printNote("no service is running on this data; it will be sent when tvs serve is started");
}

/** Prints a note for each partner whose deliveries are held. @returns whether a note was printed */
export async function printHeldDeliveries(
  { webhooks, clock }: OpenedRegister,
  partnerId?: string,
): Promise<boolean> {
  const held = (await webhooks.backlog(clock.now())).filter(
    (one) => one.heldBy !== null && one.pending > 0 && one.partnerId === (partnerId ?? one.partnerId),
  );
  for (const one of held) {
    const endpoint = await webhooks.endpoint(one.partnerId);
    printNote(`what waits for ${one.partnerId} (${one.pending}): ${explainHeldDelivery(one, { endpoint })}`);
  }
  return held.length > 0;
}
