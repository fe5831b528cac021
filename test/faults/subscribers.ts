/** Partners that subscribe to what changes, and what they were told compared with what they had to be told. */
import type { Driver } from "../../src/store/driver/driver.ts";
import { sleep } from "../harness/eventually.ts";
import { runJson, runWell } from "../harness/program.ts";
import type { FaultyReceiver, Received } from "./faulty-receiver.ts";
import { addPartner, type Register } from "./register.ts";
import { type Changes, eventKey } from "./status-changes.ts";

/** Who is subscribed to what; test/store/events.test.ts has every other kind of subscription. */
type Subscriber = {
  readonly id: string;
  readonly events: "all" | readonly string[];
};

const subscribers: readonly Subscriber[] = [
  { id: "everything", events: "all" },
  { id: "revocations", events: ["license.revoked", "license.reinstated", "certificate.revoked"] },
];

/** Until then everything that can be delivered has to be. */
const maxSettlingMs = 180_000;
const settlingTurnMs = 1_000;

export async function addSubscribers(register: Register, receiver: FaultyReceiver): Promise<void> {
  for (const subscriber of subscribers) await subscribe(subscriber, register, receiver);
}

async function subscribe(
  { id, events }: Subscriber,
  register: Register,
  receiver: FaultyReceiver,
): Promise<void> {
  await addPartner(register, id, 1_000);
  const wanted = ["--events", events === "all" ? events : events.join(",")];
  const endpoint = `${receiver.url}/${id}`;
  const set = ["partners", "webhook", "set", id, endpoint, ...wanted, "--allow-private-webhooks"];
  await runWell(set, register);
}

/**
 * Waits until nothing is pending. Enabling an endpoint that is enabled makes its pending deliveries due, so that
 * nobody waits for the minutes and hours of the later steps.
 */
export async function settle(register: Register): Promise<void> {
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

export async function judgeWebhooks(database: Driver, { expected }: Changes, { received }: FaultyReceiver) {
  const events = await database.query(
    "SELECT event_id AS eventId, event_type AS eventType, content AS body FROM events",
  );
  const deliveries = await database.query(
    `SELECT delivery_id AS deliveryId, event_id AS eventId, partner_id AS partnerId, state
      FROM deliveries JOIN events ON events.id = event`,
  );
  const twice = await database.query(
    "SELECT delivery FROM delivery_attempts WHERE error IS NULL GROUP BY delivery HAVING count(*) > 1",
  );
  const rows = { events, deliveries } as unknown as Pick<Evidence, "events" | "deliveries">;
  const { counts, faults } = judge({ ...rows, received, subscribers, expected });
  return { counts, faults: { ...faults, finishedTwice: twice.length } };
}

type StoredEvent = { readonly eventId: string; readonly eventType: string; readonly body: string };
type StoredDelivery = {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly partnerId: string;
  readonly state: string;
};

type Evidence = {
  readonly events: readonly StoredEvent[];
  readonly deliveries: readonly StoredDelivery[];
  readonly received: readonly Received[];
  readonly subscribers: readonly Subscriber[];
  /** How many events of a teacher and type the changes had to cause. */
  readonly expected: ReadonlyMap<string, number>;
};

/** @returns counts, and faults, of which there must be none */
function judge(evidence: Evidence) {
  const { events, deliveries, received } = evidence;
  const pairs = expectedPairs(evidence);
  const acknowledged = received.filter((one) => one.isAcknowledged);
  const acknowledgedPairs = new Set(acknowledged.map(pairKey));
  const acknowledgedIds = new Set(acknowledged.map((one) => one.deliveryId));
  const stored = new Map(events.map((one) => [one.eventId, one]));
  return {
    counts: {
      events: events.length,
      /** Pairs of an event and a partner that is to hear of it. */
      pairs: pairs.size,
      requests: received.length,
      failed: received.length - acknowledged.length,
      /** Of the failed ones, those whose sender went away before the answer. */
      cutOff: received.filter((one) => one.isCutOff).length,
      /** Acknowledgements beyond the first of each delivery. */
      duplicates: acknowledged.length - acknowledgedIds.size,
    },
    faults: {
      ...compareEvents(evidence),
      pairsNotAcknowledged: [...pairs].filter((pair) => !acknowledgedPairs.has(pair)).length,
      /** Requests with an event that is not stored, or that the partner is not subscribed to. */
      requestsInvented: received.filter((one) => !pairs.has(pairKey(one))).length,
      bodiesThatDiffer: received.filter((one) => !isSame(one, stored.get(one.eventId))).length,
      /** Pairs with two delivery ids, ids of two pairs, and ids that the database does not have. */
      deliveryIdsThatDiffer: wrongIds(evidence, pairs),
      deliveredWithoutAcknowledgement: deliveries.filter(
        (one) => one.state === "delivered" && !acknowledgedIds.has(one.deliveryId),
      ).length,
      leftOver: deliveries.filter((one) => one.state !== "delivered").length,
    },
  };
}

function pairKey({ eventId, partnerId }: { eventId: string; partnerId: string }): string {
  return `${eventId} ${partnerId}`;
}

/** Worked out from the events and the subscriptions, and not from the deliveries that the service made. */
function expectedPairs({ events, subscribers }: Evidence): Set<string> {
  const pairs = new Set<string>();
  for (const event of events) {
    for (const subscriber of subscribers) {
      if (hears(subscriber, event)) pairs.add(pairKey({ eventId: event.eventId, partnerId: subscriber.id }));
    }
  }
  return pairs;
}

function hears({ events }: Subscriber, { eventType }: StoredEvent): boolean {
  return events === "all" || events.includes(eventType);
}

function teacherOf({ body }: StoredEvent): number {
  return (JSON.parse(body) as { data: { tId: number } }).data.tId;
}

function compareEvents({ events, expected }: Evidence) {
  const found = new Map<string, number>();
  for (const event of events) {
    const key = eventKey(teacherOf(event), event.eventType);
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  const surplus = (of: ReadonlyMap<string, number>, over: ReadonlyMap<string, number>) =>
    [...of].reduce((sum, [key, count]) => sum + Math.max(0, count - (over.get(key) ?? 0)), 0);
  return { eventsMissing: surplus(expected, found), eventsInvented: surplus(found, expected) };
}

function isSame(one: Received, event: StoredEvent | undefined): boolean {
  return one.body === event?.body && one.eventType === event.eventType;
}

function wrongIds({ received, deliveries }: Evidence, pairs: ReadonlySet<string>): number {
  const idOfPair = new Map(deliveries.map((one) => [pairKey(one), one.deliveryId]));
  const sent = received.filter((one) => idOfPair.get(pairKey(one)) !== one.deliveryId).length;
  const storedTwice = deliveries.length - idOfPair.size;
  const missing = [...pairs].filter((pair) => !idOfPair.has(pair)).length;
  const surplus = [...idOfPair.keys()].filter((pair) => !pairs.has(pair)).length;
  return sent + storedTwice + missing + surplus;
}
