import { join } from "node:path";
import { openConnection } from "../../src/store/driver/connection.ts";
import { sleep, untilAnswer } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runJson, runWell, type Service, startService } from "../harness/program.ts";
import { type FaultyReceiver, startFaultyReceiver } from "./faulty-receiver.ts";
import { type Changes, importRegister, makeChanges, prepareChanges } from "./status-changes.ts";
import { judge, type WebhookFindings } from "./webhook-kill-findings.ts";

/**
 * Kills a serving process with SIGKILL again and again while statuses change and the receivers fail one time in
 * three, and then compares what they acknowledged with what has changed. Run alone: `bun test/faults/webhook-kill.ts 20`.
 */

/** Who is subscribed to what. Of all but the first only a part may come. */
export type Subscriber = {
  readonly id: string;
  readonly events: "all" | readonly string[];
  /** The teacher ids that it has verified, when it wants to hear of those only. */
  readonly verified: ReadonlySet<number> | null;
  readonly isDisabled: boolean;
};

const verifiedTeachers = new Set(Array.from({ length: 100 }, (_, n) => 1 + n * 5));
const subscribers: readonly Subscriber[] = [
  { id: "everything", events: "all", verified: null, isDisabled: false },
  {
    id: "revocations",
    events: ["license.revoked", "license.reinstated", "certificate.revoked"],
    verified: null,
    isDisabled: false,
  },
  { id: "known", events: "all", verified: verifiedTeachers, isDisabled: false },
  { id: "known-expiries", events: ["license.expired"], verified: verifiedTeachers, isDisabled: false },
  { id: "disabled", events: "all", verified: null, isDisabled: true },
];

const args = ["--allow-private-webhooks"];
/** Until then everything that can be delivered has to be. */
const maxSettlingMs = 180_000;
const settlingTurnMs = 1_000;

export function killSender(kills: number, changeCount: number): Promise<WebhookFindings> {
  return withTempDir((dataDir) => killSenderOf(dataDir, kills, changeCount));
}

async function killSenderOf(dataDir: string, kills: number, changeCount: number): Promise<WebhookFindings> {
  const receiver = await startFaultyReceiver();
  try {
    const changes = prepareChanges(dataDir);
    await importRegister(changes);
    let service = await startService({ dataDir, args });
    for (const subscriber of subscribers) await subscribe(subscriber, { dataDir, receiver, service });
    const changing = makeChanges(changes, changeCount);
    // The kills stand in the way of a failure's report; what fails here is thrown below.
    changing.catch(() => {});
    for (let kill = 0; kill < kills; kill++) {
      await reached(changes, { goal: ((kill + Math.random()) * changeCount) / kills, changing });
      await sleep(Math.random() * 300);
      await service.stop("SIGKILL");
      service = await startService({ dataDir, args });
    }
    await changing;
    await settle(dataDir);
    await service.stop();
    return { kills, changes: changes.done, ...(await compare(dataDir, changes, receiver)) };
  } finally {
    receiver.close();
  }
}

/** Waits until so many changes are made, so that the kills are spread over all of them. */
async function reached(
  changes: Changes,
  { goal, changing }: { goal: number; changing: Promise<void> },
): Promise<void> {
  while (changes.done < goal) {
    await Promise.race([changing, sleep(5)]);
  }
}

async function subscribe(
  { id, events, verified, isDisabled }: Subscriber,
  { dataDir, receiver, service }: { dataDir: string; receiver: FaultyReceiver; service: Service },
): Promise<void> {
  const data = ["--data", dataDir];
  const limits = ["--scopes", "all", "--purposes", "all", "--per-minute", "1000", "--per-day", "1000"];
  const add = ["partners", "add", id, "--name", id, ...limits, ...data];
  const { apiKey } = await runJson<{ apiKey: string }>(add);
  const wanted = ["--events", events === "all" ? events : events.join(",")];
  const about = ["--teachers", verified === null ? "all" : "verified"];
  const url = `${receiver.url}/${id}`;
  const set = ["partners", "webhook", "set", id, url, ...wanted, ...about, ...args, ...data];
  const { secret } = await runJson<{ secret: string }>(set);
  receiver.secrets.set(id, [secret]);
  // One is in the middle of a rotation all the time: both of its secrets have to fit.
  if (id === "everything") {
    const rotate = ["partners", "webhook", "rotate-secret", id, ...data];
    const rotated = await runJson<{ secret: string }>(rotate);
    receiver.secrets.set(id, [rotated.secret, secret]);
  }
  if (verified !== null) await verifyTeachers(service, apiKey, verified);
  if (isDisabled) await runWell(["partners", "disable", id, ...data]);
}

async function verifyTeachers({ url }: Service, apiKey: string, ids: ReadonlySet<number>): Promise<void> {
  const items = [...ids].map((tId) => ({
    identifier: { tId },
    purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
  }));
  const ask = async () => {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const init = { method: "POST", headers, body: JSON.stringify({ items }) };
    const response = await fetch(`${url}/v1/inter-agency/batch`, init);
    await response.arrayBuffer();
    return response.status;
  };
  // A running service knows a new partner within a second.
  const status = await untilAnswer(ask, (answer) => answer !== 401);
  if (status !== 200) throw new Error(`batch: ${status}`);
}

/**
 * Waits until nothing is pending. Enabling an endpoint that is enabled makes its pending deliveries due, so that
 * nobody waits for the minutes and hours of the later steps.
 */
async function settle(dataDir: string): Promise<void> {
  const deadline = Date.now() + maxSettlingMs;
  while (Date.now() < deadline) {
    const list = ["webhooks", "list", "--state", "pending", "--limit", "100000", "--data", dataDir];
    const pending = await runJson<{ partnerId: string }[]>(list);
    if (pending.length === 0) return;
    for (const id of new Set(pending.map(({ partnerId }) => partnerId))) {
      await runWell(["partners", "webhook", "enable", id, "--data", dataDir]);
    }
    await sleep(settlingTurnMs);
  }
}

async function compare(dataDir: string, { expected }: Changes, { received }: FaultyReceiver) {
  const db = await openConnection(join(dataDir, "tvs.db"));
  const events = db.all("SELECT event_id, event_type, content AS body FROM events").map((row) => ({
    eventId: String(row.event_id),
    eventType: String(row.event_type),
    body: String(row.body),
  }));
  const deliveries = db
    .all("SELECT delivery_id, event_id, partner_id, state FROM deliveries JOIN events ON events.id = event")
    .map((row) => ({
      deliveryId: String(row.delivery_id),
      eventId: String(row.event_id),
      partnerId: String(row.partner_id),
      state: String(row.state),
    }));
  const twice = db.all(
    "SELECT delivery FROM delivery_attempts WHERE error IS NULL GROUP BY delivery HAVING count(*) > 1",
  );
  const [check] = db.all("PRAGMA integrity_check");
  db.close();
  const findings = judge({ events, deliveries, received, subscribers, expected });
  return { ...findings, finishedTwice: twice.length, integrity: String(check?.integrity_check) };
}

if (import.meta.main) {
  const findings = await killSender(Number(process.argv[2] ?? 20), Number(process.argv[3] ?? 2_000));
  process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
}
