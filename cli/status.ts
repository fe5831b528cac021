import { basename } from "node:path";
import { readFigures, readWebhookFigures } from "../src/domain/status.ts";
import { createStatusStore } from "../src/store/status.ts";
import { command, configOf } from "./command.ts";
import { type Operator, withOperator } from "./open.ts";
import { print, record } from "./output.ts";

export const statusCommand = command({
  name: "status",
  description:
    "Show the figures of the running data. Only deliveries that wait or are dead are counted one by one; " +
    "attestations of today and of the last hour are found by their order, and with more than 100,000 teachers the split by licence status is an estimate from " +
    "10,000 records (within a percentage point or so)",
  example: "tvs status",
  async run({ args }) {
    await withOperator(configOf(args), async (operator) => {
      const status = await readStatus(operator);
      print(args, status, () => statusText(status));
    });
  },
});

async function readStatus(operator: Operator) {
  const { driver, keys, keyKind, settingsInForce, calendar, clock, webhooks } = operator;
  const store = createStatusStore(driver);
  const figures = await readFigures(store, await keys.list(), { calendar, now: clock.now() });
  const { issuer, timeZone, policy } = settingsInForce;
  return {
    serviceRunning: await driver.serviceRunning(),
    environment: keyKind === "live" ? "live" : "sandbox",
    issuer,
    timeZone,
    policyVersion: policy.version,
    ...figures,
    webhooks: await readWebhookFigures(webhooks, clock.now()),
    database: {
      kind: driver.kind,
      schemaVersion: await store.schemaVersion(),
      sizeBytes: await store.sizeBytes(),
    },
  };
}

type Status = Awaited<ReturnType<typeof readStatus>>;

function statusText(status: Status): string {
  const { teachers, partners, attestations, keys, database, lastImport } = status;
  const { VALID, EXPIRED, REVOKED, NOT_FOUND } = teachers.byLicenseStatus;
  const about = teachers.approximate ? ", estimated" : "";
  return record({
    service: status.serviceRunning ? "running" : "not running",
    environment: status.environment,
    issuer: status.issuer,
    "time zone": status.timeZone,
    policy: status.policyVersion,
    teachers: teachers.total,
    licenses: `${VALID} VALID, ${EXPIRED} EXPIRED, ${REVOKED} REVOKED, ${NOT_FOUND} NOT_FOUND${about}`,
    partners: `${partners.total}${partners.disabled === 0 ? "" : `, ${partners.disabled} of them disabled`}`,
    attestations: `${attestations.total}, ${attestations.today} today, ${attestations.lastHour} in the last hour`,
    "newest attestation": attestations.newestAt,
    "active key": keyText(keys.active, "active"),
    "pending key": keyText(keys.pending, "public"),
    "idempotency records": status.idempotencyRecords,
    events: status.events,
    endpoints: endpointsText(status.webhooks),
    deliveries: deliveriesText(status.webhooks),
    "oldest due": status.webhooks.oldestDueAt,
    "last import": lastImport === null ? null : importText(lastImport),
    database: `${database.kind}, schema ${database.schemaVersion}, ${sizeText(database.sizeBytes)}`,
  });
}

function keyText(key: Status["keys"]["active"], since: string): string | null {
  return key === null ? null : `${key.kid}, ${since} for ${ageText(key.ageSeconds)}`;
}

function endpointsText({ endpoints, disabledEndpoints }: Status["webhooks"]): string {
  const count = disabledEndpoints.length;
  return count === 0
    ? String(endpoints)
    : `${endpoints}, ${count} of them disabled: ${disabledEndpoints.join(", ")}`;
}

function deliveriesText({ pending, held, dead }: Status["webhooks"]): string {
  return `${pending} pending${held === 0 ? "" : `, ${held} of them held`}, ${dead} dead`;
}

function importText(one: NonNullable<Status["lastImport"]>): string {
  const counts = `${one.inserted} inserted, ${one.updated} updated, ${one.rejected} rejected`;
  return `${basename(one.file)}, ${counts}, ${one.finishedAt ?? `not finished, begun ${one.startedAt}`}`;
}

function ageText(seconds: number): string {
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

function sizeText(bytes: number | null): string {
  if (bytes === null) return "size not known";
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
