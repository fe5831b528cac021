import { basename } from "node:path";
import { formatDuration, isoTime } from "../../src/domain/clock.ts";
import { formatLeafCount } from "../../src/domain/evidence/log.ts";
import { describeLicensedCount, readFigures } from "../../src/domain/status.ts";
import { configOf } from "../command.ts";
import { type OpenedRegister, withRegister } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { formatMembers, printResult } from "../terminal/output.ts";

export const statusCommand = defineTvsCommand("status", {
  async run({ args }) {
    const status = await withRegister(configOf(args), readStatus);
    printResult(args, status, () => statusText(status));
  },
});

async function readStatus(operator: OpenedRegister) {
  const { status: store, driver, keyKind, settingsInForce, clock } = operator;
  const { issuer, site, timeZone, policy } = settingsInForce;
  const schemaVersion = await store.schemaVersion();
  return {
    at: isoTime(clock.now()),
    serviceRunning: await driver.serviceRunning(),
    environment: keyKind === "live" ? "live" : "sandbox",
    issuer,
    site: site.name,
    timeZone,
    policyVersion: policy.version,
    ...(await readFigures(operator)),
    database: { kind: driver.kind, schemaVersion, sizeBytes: await store.sizeBytes() },
  };
}

type Status = Awaited<ReturnType<typeof readStatus>>;

function statusText(status: Status): string {
  const { teachers, partners, attestations, keys, database, lastImport } = status;
  const { VALID, EXPIRED, REVOKED, NOT_FOUND } = teachers.byLicenseStatus;
  const about = teachers.approximate ? ", estimated" : "";
  const { endpoints, disabledEndpoints, pending, held, dead, oldestDueAt } = status.webhooks;
  const out = disabledEndpoints.length;
  return formatMembers({
    service: status.serviceRunning ? "running" : "not running",
    environment: status.environment,
    issuer: status.issuer,
    site: status.site,
    "time zone": status.timeZone,
    policy: status.policyVersion,
    teachers: teachers.total,
    licenses: `${VALID} VALID, ${EXPIRED} EXPIRED, ${REVOKED} REVOKED, ${NOT_FOUND} NOT_FOUND${about}`,
    licensed: describeLicensedCount(teachers),
    partners: `${partners.total}${partners.disabled === 0 ? "" : `, ${partners.disabled} of them disabled`}`,
    attestations: `${attestations.total}, ${attestations.today} today, ${attestations.lastHour} in the last hour`,
    "newest attestation": attestations.newestAt,
    "active key": keyText(keys.active, "active"),
    "pending key": keyText(keys.pending, "public"),
    ...logText(status),
    "idempotency records": status.idempotencyRecords,
    events: status.events,
    endpoints: `${endpoints}${out === 0 ? "" : `, ${out} of them disabled: ${disabledEndpoints.join(", ")}`}`,
    deliveries: `${pending} pending${held === 0 ? "" : `, ${held} of them held`}, ${dead} dead`,
    "oldest due": oldestDueAt,
    "last import": lastImport === null ? null : importText(lastImport),
    database: `${database.kind}, schema ${database.schemaVersion}, ${sizeText(database.sizeBytes)}`,
  });
}

function keyText(key: Status["keys"]["active"], since: string): string | null {
  return key === null ? null : `${key.kid}, ${since} ${formatDuration(key.ageSeconds * 1_000)}`;
}

function logText({ log, at }: Status): Record<string, string | null> {
  if (log === null) return { "evidence log": "not begun yet" };
  const { leaves, waiting, checkpoint } = log;
  const age = (time: string) => formatDuration(Date.parse(at) - Date.parse(time));
  const signed =
    checkpoint && `${formatLeafCount(checkpoint.leaves)}, signed ${age(checkpoint.signedAt)} ago`;
  return {
    "evidence log": `${formatLeafCount(leaves)}, ${waiting} waiting`,
    "newest checkpoint": signed ?? "none yet",
  };
}

function importText(one: NonNullable<Status["lastImport"]>): string {
  const counts = `${one.inserted} inserted, ${one.updated} updated, ${one.rejected} rejected`;
  return `${basename(one.file)}, ${counts}, ${one.finishedAt ?? `not finished, begun ${one.startedAt}`}`;
}

function sizeText(bytes: number | null): string {
  if (bytes === null) return "size not known";
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
