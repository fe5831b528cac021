/** Adds partners that subscribe to events, and compares what they received with the changes. */
import type { Driver } from "../../src/store/driver/driver.ts";
import { sleep } from "../harness/eventually.ts";
import { runJson, runWell } from "../harness/program.ts";
import type { FaultyReceiver, Received } from "./faulty-receiver.ts";
import { addPartner, type Register } from "./register.ts";
import { type Changes, eventKey } from "./status-changes.ts";

/** Partners with the events of their subscriptions; test/store/events.test.ts tests every other kind of subscription. */
const subscribers: readonly { readonly id: string; readonly events: "all" | readonly string[] }[] = [
  { id: "everything", events: "all" },
  { id: "revocations", events: ["license.revoked", "license.reinstated", "certificate.revoked"] },
];

/** How long to wait for all deliveries. */
const maxSettlingMs = 180_000;
const settlingTurnMs = 1_000;

export async function addSubscribers(register: Register, receiver: FaultyReceiver): Promise<void> {
  for (const { id, events } of subscribers) {
    await addPartner(register, id, 1_000);
    const wanted = ["--events", events === "all" ? events : events.join(",")];
    const set = ["partners", "webhook", "set", id, `${receiver.url}/${id}`, ...wanted];
    await runWell([...set, "--allow-private-webhooks"], register);
  }
}

/**
 * Waits until no delivery is pending. `webhook enable` makes an endpoint's pending deliveries due at once: otherwise the
 * test would wait for minutes and hours until later attempts.
 */
export async function untilDelivered(register: Register): Promise<void> {
  const deadline = Date.now() + maxSettlingMs;
  while (Date.now() < deadline) {
    const list = ["webhooks", "list", "--state", "pending", "--limit", "100000"];
    const pending = await runJson<{ partnerId: string }[]>(list, register);
    if (pending.length === 0) return;
    for (const id of new Set(pending.map(({ partnerId }) => partnerId))) {
      await runWell(["partners", "webhook", "enable", id], register);
    }
    await sleep(settlingTurnMs);
  }
}

/** Compares the stored events and deliveries, and the received requests, with the changes. */
export async function compareWebhooks(database: Driver, { expected }: Changes, { received }: FaultyReceiver) {
  const events = (await database.query(
    "SELECT event_id AS eventId, event_type AS eventType, content AS body FROM events",
  )) as StoredEvent[];
  const deliveries = (await database.query(
    `SELECT delivery_id AS deliveryId, event_id AS eventId, partner_id AS partnerId, state
      FROM deliveries JOIN events ON events.id = event`,
  )) as StoredDelivery[];
  const twice = await database.query(
    "SELECT delivery FROM delivery_attempts WHERE error IS NULL GROUP BY delivery HAVING count(*) > 1",
  );
  const pairs = expectedPairs(events);
  const acknowledged = received.filter((one) => one.isAcknowledged);
  const acknowledgedPairs = new Set(acknowledged.map(pairKey));
  const acknowledgedIds = new Set(acknowledged.map((one) => one.deliveryId));
  const stored = new Map(events.map((one) => [one.eventId, one]));
  const caused = new Set(events.map(causeOf));
  return {
    counts: {
      events: events.length,
      /** The number of pairs of an event and a partner that must receive it. */
      pairs: pairs.size,
      requests: received.length,
      failed: received.length - acknowledged.length,
      /** Requests whose sender closed the connection before the answer. */
      cutOff: received.filter((one) => one.isCutOff).length,
      /** Acknowledged requests beyond the first of each delivery. */
      duplicates: acknowledged.length - acknowledgedIds.size,
    },
    /** The numbers of faults, which must each be 0. */
    faults: {
      eventsMissing: [...expected].filter((one) => !caused.has(one)).length,
      /** Events that no change caused, and second events of one change. */
      eventsInvented: events.length - [...caused].filter((one) => expected.has(one)).length,
      pairsNotAcknowledged: [...pairs].filter((pair) => !acknowledgedPairs.has(pair)).length,
      /** Requests with an event that is not stored, or that the partner has not subscribed to. */
      requestsInvented: received.filter((one) => !pairs.has(pairKey(one))).length,
      bodiesThatDiffer: received.filter((one) => !isSame(one, stored.get(one.eventId))).length,
      deliveryIdsThatDiffer: wrongIds(received, deliveries, pairs),
      deliveredWithoutAcknowledgement: deliveries.filter(
        (one) => one.state === "delivered" && !acknowledgedIds.has(one.deliveryId),
      ).length,
      leftOver: deliveries.filter((one) => one.state !== "delivered").length,
      finishedTwice: twice.length,
    },
  };
}

type StoredEvent = { readonly eventId: string; readonly eventType: string; readonly body: string };
type StoredDelivery = {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly partnerId: string;
  readonly state: string;
};

function pairKey({ eventId, partnerId }: { eventId: string; partnerId: string }): string {
  return `${eventId} ${partnerId}`;
}

/** Computes who must receive which event from events and subscriptions, not from the service's deliveries. */
function expectedPairs(events: readonly StoredEvent[]): Set<string> {
  const pairs = subscribers.flatMap(({ id, events: wanted }) =>
    events
      .filter(({ eventType }) => wanted === "all" || wanted.includes(eventType))
      .map(({ eventId }) => pairKey({ eventId, partnerId: id })),
  );
  return new Set(pairs);
}

function causeOf({ body, eventType }: StoredEvent): string {
  return eventKey((JSON.parse(body) as { data: { tId: number } }).data.tId, eventType);
}

function isSame(one: Received, event: StoredEvent | undefined): boolean {
  return one.body === event?.body && one.eventType === event.eventType;
}

/** Counts pairs with two delivery ids, missing and unexpected deliveries, and delivery ids that are not stored. */
function wrongIds(
  received: readonly Received[],
  deliveries: readonly StoredDelivery[],
  pairs: ReadonlySet<string>,
): number {
  const idOfPair = new Map(deliveries.map((one) => [pairKey(one), one.deliveryId]));
  const sent = received.filter((one) => idOfPair.get(pairKey(one)) !== one.deliveryId).length;
  const storedTwice = deliveries.length - idOfPair.size;
  const missing = [...pairs].filter((pair) => !idOfPair.has(pair)).length;
  const surplus = [...idOfPair.keys()].filter((pair) => !pairs.has(pair)).length;
  return sent + storedTwice + missing + surplus;
}
