/** Changes teachers' statuses while partners subscribe to the events, and compares what the partners received. */
import { expect } from "bun:test";
import type { Driver } from "../../src/store/driver/driver.ts";
import { sleep } from "../harness/eventually.ts";
import { runJson, runWell } from "../harness/program.ts";
import type { FaultyReceiver, ReceivedWebhook } from "./faulty-receiver.ts";
import { addPartner, importLines, type Register } from "./register.ts";

export const changeCount = 200;
/** Changes are made in rounds: one import, and ten commands that each change one teacher. */
const [changesInRound, singlesInRound] = [100, 10];

/** The rows of changed teachers with their events: a third is revoked, a third expires, a third loses its certificate. */
const changedRows = [
  ["VERIFIED,2020-01-01,2099-12-31,2025-01-01,Found forged", "license.revoked"],
  ["VERIFIED,2020-01-01,2021-12-31,,", "license.expired"],
  ["CLAIMED,2020-01-01,2099-12-31,,", "certificate.revoked"],
] as const;
const changedRow = (n: number) => changedRows[n % 3] as (typeof changedRows)[number];

/** Partners with the events of their subscriptions; test/store/events.test.ts tests every other kind of subscription. */
const subscribers: Readonly<Record<string, readonly string[]>> = {
  everything: ["all"],
  revocations: ["license.revoked", "license.reinstated", "certificate.revoked"],
};

/** How long to wait for all deliveries. */
const maxSettlingMs = 180_000;
const settlingTurnMs = 1_000;

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
const regNo = (n: number) => `TR/2020/LA/${n}`;

function importStatuses(register: Register, statuses: readonly [n: number, status: string][], flag: string) {
  const lines = statuses.map(([n, status]) => `${regNo(n)},${n + 1},Teacher ${n},new_system,${status}`);
  return importLines(register, lines, flag);
}

/** Imports the teachers before their changes; this import causes no events. Then adds the subscribers. */
export async function prepareChanges(register: Register, receiver: FaultyReceiver): Promise<void> {
  const valid = "VERIFIED,2020-01-01,2099-12-31,,";
  await importStatuses(
    register,
    numbers(0, changeCount).map((n) => [n, valid]),
    "--baseline",
  );
  for (const [id, events] of Object.entries(subscribers)) {
    await addPartner(register, id, 1_000);
    const set = ["partners", "webhook", "set", id, `${receiver.url}/${id}`, "--events", events.join(",")];
    await runWell([...set, "--allow-private-webhooks"], register);
  }
}

/** Changes the status of each teacher once. @param made gets the {@link causeOf} of each change */
export async function makeChanges(register: Register, made: string[]): Promise<void> {
  for (let first = 0; first < changeCount; first += changesInRound) {
    const singles = first + singlesInRound;
    const imported = numbers(singles, first + changesInRound);
    await importStatuses(
      register,
      imported.map((n) => [n, changedRow(n)[0]]),
      "--allow-change",
    );
    made.push(...imported.map((n) => causeOf(n + 1, changedRow(n)[1])));
    for (const n of numbers(first, singles)) {
      await runWell(["teachers", "revoke", regNo(n), "--reason", "Found forged"], register);
      made.push(causeOf(n + 1, "license.revoked"));
    }
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
    for (const id of new Set(pending.map(({ partnerId }) => partnerId)))
      await runWell(["partners", "webhook", "enable", id], register);
    await sleep(settlingTurnMs);
  }
}

const causeOf = (tId: number, eventType: string) => `${tId} ${eventType}`;
const pairOf = ({ partnerId, eventId }: Pick<ReceivedWebhook, "partnerId" | "eventId">) =>
  `${partnerId} ${eventId}`;

type StoredEvent = Pick<ReceivedWebhook, "eventId" | "eventType" | "body">;
type StoredDelivery = Omit<ReceivedWebhook, "isAcknowledged"> & {
  readonly state: string;
  readonly successes: number;
};

/**
 * Compares the stored events and deliveries, and the received requests, with the changes. Events and subscriptions, not
 * the service's deliveries, decide who must receive which event.
 * @returns the number of pairs of an event and a partner that must receive it
 */
export async function compareWebhooks(
  database: Driver,
  made: readonly string[],
  { received }: FaultyReceiver,
): Promise<number> {
  const event = "event_id AS eventId, event_type AS eventType, content AS body";
  const events = (await database.query(`SELECT ${event} FROM events`)) as StoredEvent[];
  const deliveries = (await database.query(
    `SELECT ${event}, delivery_id AS deliveryId, partner_id AS partnerId, state,
      (SELECT count(*) FROM delivery_attempts WHERE delivery = deliveries.id AND error IS NULL) AS successes
      FROM deliveries JOIN events ON events.id = event`,
  )) as StoredDelivery[];
  const causes = events.map(({ body, eventType }) => causeOf(JSON.parse(body).data.tId, eventType));
  expect(causes.sort()).toEqual(made.toSorted());
  const pairs = Object.entries(subscribers).flatMap(([partnerId, wanted]) =>
    events
      .filter(({ eventType }) => wanted.includes("all") || wanted.includes(eventType))
      .map(({ eventId }) => pairOf({ eventId, partnerId })),
  );
  expect(deliveries.map(pairOf).sort()).toEqual(pairs.toSorted());
  expect(deliveries.filter(({ state, successes }) => state !== "delivered" || successes > 1)).toEqual([]);
  const stored = new Map(deliveries.map((one) => [pairOf(one), one]));
  for (const { isAcknowledged: _, ...request } of received)
    expect(stored.get(pairOf(request))).toMatchObject(request);
  const acknowledged = new Set(received.filter((one) => one.isAcknowledged).map(pairOf));
  expect(pairs.filter((pair) => !acknowledged.has(pair))).toEqual([]);
  return pairs.length;
}
