import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeSpan, isoTime } from "../../src/domain/clock.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { countLeaves } from "../../src/domain/evidence/figures.ts";
import { describeLicensed, describeLog, readFigures, readWebhookFigures } from "../../src/domain/status.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { olderSchema, schemaVersion } from "../../src/store/driver/migrations.ts";
import { readEvidenceFigures } from "../../src/store/evidence/figures.ts";
import { createStatusStore } from "../../src/store/status.ts";
import { type ArgsOf, command, type commonArgs, configOf, flag, operand } from "../command.ts";
import { type Operator, withOperator } from "../open.ts";
import { describeNode } from "../serve/nodes.ts";
import { exitCodes, print, record } from "../terminal/output.ts";

const watchArgs = {
  watch: flag("Refresh the figures in place, until Ctrl-C"),
  seconds: { ...operand("With --watch: seconds between refreshes (default 2)"), required: false },
} as const;

export const statusCommand = command({
  description:
    "Show the state of the service and its figures. With more than 100,000 teachers the split by licence status is an " +
    "estimate from 10,000 records (within about one percentage point). --json prints one value; with --watch one " +
    "per line, until Ctrl-C",
  example: "tvs status\n  tvs status --watch 5\n  tvs status --watch 60 --json >> figures.ndjson",
  args: watchArgs,
  async run({ args }) {
    const everyMs = watchEveryMs(args);
    // Opened anew each time: the database may be restored or moved to a newer schema while somebody watches.
    const read = async () => {
      let schema = schemaVersion;
      const whenOlder = async (_driver: Driver, older: number) => {
        schema = older;
      };
      const act = (operator: Operator) => readStatus(operator, schema);
      return withOperator(configOf(args), act, { whenOlder }).catch((error) => {
        // What a schema has not is missing at the one or the other place.
        throw schema < schemaVersion && isTvsError(error, "STORE_UNAVAILABLE") ? olderSchema(schema) : error;
      });
    };
    if (everyMs !== null) return watch(read, { everyMs, json: args.json === true });
    const status = await read();
    print(args, status, () => statusText(status));
  },
});

/** The first schemas that have nodes, and an evidence log. */
const [firstNodes, firstLog] = [8, 9];

async function readStatus(operator: Operator, schema: number) {
  const { keys, webhooks, nodes, evidence, driver, keyKind, settingsInForce, calendar, clock } = operator;
  const store = createStatusStore(driver);
  const figures = await readFigures(store, await keys.list(), { calendar, now: clock.now() });
  const { issuer, site, timeZone, policy } = settingsInForce;
  return {
    at: isoTime(clock.now()),
    serviceRunning: await driver.serviceRunning(),
    nodes: schema < firstNodes ? [] : (await nodes.list()).map(describeNode),
    environment: keyKind === "live" ? "live" : "sandbox",
    issuer,
    site: site.name,
    timeZone,
    policyVersion: policy.version,
    ...figures,
    webhooks: await readWebhookFigures(webhooks, clock.now()),
    log: schema < firstLog ? null : describeLog(await readEvidenceFigures(driver, evidence)),
    database: {
      kind: driver.kind,
      schemaVersion: await store.schemaVersion(),
      sizeBytes: await store.sizeBytes(),
    },
  };
}

/** The figures with how fast they grow, which the counts alone do not show. */
function watchText(now: Status, before: Status | null): string {
  const seconds = before === null ? 0 : (Date.parse(now.at) - Date.parse(before.at)) / 1_000;
  const more = now.attestations.total - (before?.attestations.total ?? 0);
  const rate = seconds <= 0 ? "-" : `${Math.max(0, more / seconds).toFixed(1)} attestations a second`;
  return statusText(now, { at: now.at, rate });
}

type Status = Awaited<ReturnType<typeof readStatus>>;

function statusText(status: Status, more: Readonly<Record<string, string>> = {}): string {
  const { teachers, partners, attestations, keys, database, lastImport } = status;
  const { VALID, EXPIRED, REVOKED, NOT_FOUND } = teachers.byLicenseStatus;
  const about = teachers.approximate ? ", estimated" : "";
  return record({
    ...more,
    service: status.serviceRunning ? "running" : "not running",
    nodes: nodesText(status.nodes),
    environment: status.environment,
    issuer: status.issuer,
    site: status.site,
    "time zone": status.timeZone,
    policy: status.policyVersion,
    teachers: teachers.total,
    licenses: `${VALID} VALID, ${EXPIRED} EXPIRED, ${REVOKED} REVOKED, ${NOT_FOUND} NOT_FOUND${about}`,
    licensed: describeLicensed(teachers),
    partners: `${partners.total}${partners.disabled === 0 ? "" : `, ${partners.disabled} of them disabled`}`,
    attestations: `${attestations.total}, ${attestations.today} today, ${attestations.lastHour} in the last hour`,
    "newest attestation": attestations.newestAt,
    "active key": keyText(keys.active, "active"),
    "pending key": keyText(keys.pending, "public"),
    ...logText(status),
    "idempotency records": status.idempotencyRecords,
    events: status.events,
    endpoints: endpointsText(status.webhooks),
    deliveries: deliveriesText(status.webhooks),
    "oldest due": status.webhooks.oldestDueAt,
    "last import": lastImport === null ? null : importText(lastImport),
    database: `${database.kind}, schema ${schemaText(database.schemaVersion)}, ${sizeText(database.sizeBytes)}`,
  });
}

function schemaText(schema: number): string {
  if (schema === schemaVersion) return String(schema);
  return `${schema} of ${schemaVersion} (run tvs upgrade)`;
}

/** Such as `2 live (1.4.0), 1 gone (1.3.2)`: several versions are a rolling upgrade, under way or forgotten. */
function nodesText(nodes: Status["nodes"]): string | null {
  const parts = [...Map.groupBy(nodes, ({ state }) => state)].map(([state, those]) => {
    const versions = [...new Set(those.map(({ version }) => version))].join(" and ");
    return `${those.length} ${state} (${versions})`;
  });
  return parts.length === 0 ? null : parts.sort().reverse().join(", ");
}

function keyText(key: Status["keys"]["active"], since: string): string | null {
  return key === null ? null : `${key.kid}, ${since} ${describeSpan(key.ageSeconds * 1_000)}`;
}

/** The log's lines: how far it is, who signed how long ago, and whether anybody else has it. */
function logText({ log, at }: Status): Record<string, string | null> {
  if (log === null) return { "evidence log": "not opened yet" };
  const { leaves, waiting, epoch, checkpoint, anchors } = log;
  const [anchor] = anchors;
  const age = (time: string) => describeSpan(Date.parse(at) - Date.parse(time));
  return {
    "evidence log": `${countLeaves(leaves)}, ${waiting} waiting, epoch ${epoch}`,
    "newest checkpoint":
      checkpoint === null
        ? "none yet"
        : `${countLeaves(checkpoint.leaves)}, signed ${age(checkpoint.signedAt)} ago`,
    "newest anchor":
      anchor === undefined
        ? "none yet"
        : `${countLeaves(anchor.leaves)}, at ${anchor.place} ${age(anchor.anchoredAt)} ago`,
  };
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

function sizeText(bytes: number | null): string {
  if (bytes === null) return "size not known";
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

const defaultSeconds = 2;
const maxSeconds = 86_400;

/** Home, so that the next lines are written over the last ones; each line and the screen are cleared behind them. */
const [home, clearLine, clearBelow, clearAll] = ["\u001b[H", "\u001b[K", "\u001b[J", "\u001b[2J"];
const [hideCursor, showCursor] = ["\u001b[?25l", "\u001b[?25h"];

/**
 * The interval of `--watch`; null when nothing is to be watched.
 * @returns milliseconds
 * @throws TvsError USAGE
 */
function watchEveryMs({ watch, seconds, json }: ArgsOf<typeof watchArgs & typeof commonArgs>): number | null {
  if (watch !== true) {
    if (seconds === undefined) return null;
    throw new TvsError("USAGE", "SECONDS needs --watch: tvs status --watch 5");
  }
  if (json !== true && process.stdout.isTTY !== true)
    throw new TvsError("USAGE", "--watch needs a terminal; elsewhere add --json, for one value per line");
  const every = seconds === undefined ? defaultSeconds : Number(seconds);
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(seconds ?? "2") || every < 0.1 || every > maxSeconds)
    throw new TvsError("USAGE", `--watch takes seconds from 0.1 to ${maxSeconds}, such as --watch 5`);
  return every * 1_000;
}

/** Reads and shows the figures until Ctrl-C, SIGTERM or a closed pipe, which all end it with 0. */
async function watch(read: () => Promise<Status>, { everyMs, json }: { everyMs: number; json: boolean }) {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  // Nobody reads any more.
  process.stdout.once("error", stop);
  if (!json) process.stdout.write(`${hideCursor}${clearAll}`);
  try {
    for (let before: Status | null = null; !stopped.signal.aborted; ) {
      const now = await read();
      process.stdout.write(json ? `${JSON.stringify(now)}\n` : screen(watchText(now, before), everyMs));
      before = now;
      await sleep(everyMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    process.stdout.off("error", stop);
    if (!json) process.stdout.write(showCursor);
  }
  process.exitCode = exitCodes.done;
}

function screen(text: string, everyMs: number): string {
  const lines = [...text.split("\n"), ""];
  // What does not fit the screen would scroll it, and the next drawing would begin in the wrong place. How to end it
  // is said on the smallest screen too.
  const room = Math.max((process.stdout.rows ?? 50) - 2, 0);
  const fitting = [...lines.slice(0, room), `every ${everyMs / 1_000} s; Ctrl-C stops`];
  return `${home}${fitting.map((line) => `${line}${clearLine}\n`).join("")}${clearBelow}`;
}
