/** Partners that subscribe to what changes, and what they were told compared with what they had to be told. */
import type { Driver } from "../../src/store/driver/driver.ts";
import { sleep } from "../harness/eventually.ts";
import { runJson, runWell } from "../harness/program.ts";
import type { FaultyReceiver } from "./faulty-receiver.ts";
import { addPartner, type Register } from "./register.ts";
import type { Changes } from "./status-changes.ts";
import { type Evidence, judge } from "./webhook-kill-findings.ts";

/** Who is subscribed to what; test/store/events.test.ts has every other kind of subscription. */
export type Subscriber = {
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

/** What they were told, against what has changed and what the database says. */
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
