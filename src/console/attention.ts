/** What on the console needs an operator's attention. */

import { checkpointLateness, type LogFigures, lateAnchors } from "../domain/evidence/figures.ts";
import { clockBoundsMs, describeClock } from "../domain/nodes.ts";
import type { EndpointReading, QuotaReading, Readings } from "../domain/readings.ts";
import { rotationOf } from "../domain/rotation.ts";
import { describeLicensed } from "../domain/status.ts";
import { shellWord } from "../shell-word.ts";
import type { ConsoleState } from "./console-state.ts";
import { count, moment, percent, span } from "./markup.ts";

/** Something that an operator should see to, and the command that does it or shows more. */
type Concern = {
  readonly level: "bad" | "warn";
  readonly text: string;
  readonly command: string | null;
};

/** From this share of a quota on, its partner is about to be refused. */
const nearlySpent = 0.9;
/** A delivery that is due for so long shows that something is stuck: the sender looks five times a second. */
const overdueMs = 5 * 60_000;

/** What needs attention, the worst first. */
export function concernsOf(state: ConsoleState): Concern[] {
  const { readings } = state;
  const found = [
    ...databaseConcerns(state),
    ...diskConcerns(state),
    ...keyConcerns(state),
    ...trafficConcerns(state),
    ...threadConcerns(state),
    ...nodeConcerns(state),
    ...accessLogConcerns(state),
  ];
  if (readings !== null) {
    found.push(...readings.endpoints.flatMap((one) => endpointConcerns(one, state)));
    found.push(...backlogConcerns(readings, state));
    found.push(...readings.quotas.flatMap((one) => quotaConcerns(one, state)));
    found.push(...licenseConcerns(readings, state));
    found.push(...importConcerns(readings, state));
    if (readings.log !== null) found.push(...logConcerns(readings.log, state));
  }
  return [...found.filter(({ level }) => level === "bad"), ...found.filter(({ level }) => level === "warn")];
}

function databaseConcerns({ hasFailed, readings, commandLine, now }: ConsoleState): Concern[] {
  if (!hasFailed) return [];
  const since = readings === null ? "" : `; the figures below are ${span(now - readings.readAt)} old`;
  return [{ level: "bad", text: `The database does not answer${since}.`, command: commandLine("doctor") }];
}

function diskConcerns({ isDiskRefusing, commandLine }: ConsoleState): Concern[] {
  if (!isDiskRefusing()) return [];
  const text =
    "The disk refused the evidence of an answer. Partners are answered 503 until it takes some again.";
  return [{ level: "bad", text, command: commandLine("doctor") }];
}

function keyConcerns({ snapshot, now, commandLine }: ConsoleState): Concern[] {
  const { dueAt, isDue, isPossible, possibleAt } = rotationOf(snapshot.keys, now);
  if (!isDue) return [];
  const { timeZone } = snapshot.settings;
  const when = isPossible ? "" : `, possible from ${moment(possibleAt, timeZone)} on`;
  const text = `The signing key has been due for rotation since ${moment(dueAt, timeZone)}${when}.`;
  return [{ level: "warn", text, command: commandLine("keys rotate") }];
}

function trafficConcerns({ history, now, commandLine }: ConsoleState): Concern[] {
  const recent = history.points(now - 60_000);
  const failed = recent.reduce((sum, { failedRate }) => sum + failedRate, 0);
  if (failed === 0) return [];
  const text = "Requests were answered with 5xx in the last minute; the log says why.";
  return [{ level: "bad", text, command: commandLine("doctor") }];
}

/** For an hour: whoever looks at the console in the morning has not seen the night's log. */
const deathConcernMs = 60 * 60_000;

function threadConcerns({ threads, now, commandLine }: ConsoleState): Concern[] {
  const { lastDeathAt, deaths } = threads();
  if (lastDeathAt === null || now - lastDeathAt > deathConcernMs) return [];
  const times = deaths === 1 ? "once" : `${count(deaths)} times`;
  const text =
    `A serving thread ended by itself ${span(now - lastDeathAt)} ago (${times} since the start) and was replaced; ` +
    "its callers lost their connections. The service's log says why.";
  return [{ level: "warn", text, command: commandLine("doctor") }];
}

function nodeConcerns({ node, now, commandLine }: ConsoleState): Concern[] {
  const { nodes } = node();
  const live = nodes.filter(({ state }) => state === "live");
  const command = commandLine("nodes list");
  const gone = nodes
    .filter(({ state }) => state === "gone")
    .map(({ url, seenAt }): Concern => {
      const text = `The node at ${url} has not been seen for ${span(now - seenAt)}; its machine's log says why.`;
      return { level: "warn", text, command };
    });
  const clocks = live
    .filter(({ clockAheadMs }) => Math.abs(clockAheadMs) > clockBoundsMs.warned)
    .map(({ url, clockAheadMs }) => clockConcern(url, clockAheadMs, commandLine("doctor")));
  const versions = [...new Set(live.map(({ version }) => version))];
  if (versions.length < 2) return [...clocks, ...gone];
  const text = `The nodes run different versions, ${versions.join(" and ")}: a rolling upgrade is not finished.`;
  return [...clocks, ...gone, { level: "warn", text, command }];
}

function clockConcern(url: string, aheadMs: number, command: string): Concern {
  const isRefused = Math.abs(aheadMs) > clockBoundsMs.refused;
  const effect = isRefused ? " Partners are refused there." : "";
  const text = `The clock of the node at ${url} is ${describeClock(aheadMs)} the database's.${effect}`;
  return { level: isRefused ? "bad" : "warn", text, command };
}

function accessLogConcerns({ accessLog, commandLine }: ConsoleState): Concern[] {
  const { failure = null, dropped = 0 } = accessLog() ?? {};
  if (failure === null) return [];
  const text = `The access log cannot be written; ${count(dropped)} calls are missing from it. The service's log says why.`;
  return [{ level: "warn", text, command: commandLine("doctor") }];
}

function endpointConcerns(endpoint: EndpointReading, state: ConsoleState): Concern[] {
  const { partnerId, disabledReason, failingSince, lastError } = endpoint;
  const { commandLine, explainError, now } = state;
  const why = lastError === null ? "" : ` Last error: ${lastError}. ${explainError(lastError)}`;
  if (disabledReason === "operator") return [];
  if (disabledReason !== null) {
    const cause = disabledReason === "gone" ? "it answered 410 Gone" : "it failed for five days";
    const text = `Nothing is sent to ${partnerId}: its endpoint was disabled, because ${cause}.${why}`;
    return [{ level: "bad", text, command: commandLine(`partners webhook enable ${partnerId}`) }];
  }
  if (failingSince === null) return [];
  const text = `${partnerId}'s endpoint has failed for ${span(now - failingSince)}.${why}`;
  return [
    { level: "warn", text, command: commandLine(`webhooks list --partner ${partnerId} --state pending`) },
  ];
}

function backlogConcerns(readings: Readings, { commandLine, now }: ConsoleState): Concern[] {
  const concerns: Concern[] = [];
  if (readings.backlog.some(({ heldBy }) => heldBy === "restore")) {
    const text = "All webhooks are held, because the database was restored with --hold-webhooks.";
    concerns.push({ level: "warn", text, command: commandLine("webhooks release") });
  }
  for (const { partnerId, dead, heldBy, oldestDueAt } of readings.backlog) {
    if (dead > 0) {
      const text = `${count(dead)} ${dead === 1 ? "delivery" : "deliveries"} to ${partnerId} ${dead === 1 ? "was" : "were"} given up.`;
      const command = commandLine(`webhooks retry --dead --partner ${partnerId}`);
      concerns.push({ level: "warn", text, command });
    }
    if (heldBy === null && oldestDueAt !== null && now - oldestDueAt > overdueMs) {
      const text = `A delivery to ${partnerId} has been due for ${span(now - oldestDueAt)} and was not sent.`;
      concerns.push({ level: "warn", text, command: commandLine(`webhooks list --partner ${partnerId}`) });
    }
  }
  return concerns;
}

function quotaConcerns({ partner, use }: QuotaReading, { commandLine }: ConsoleState): Concern[] {
  const { used, limit } = use.day;
  if (partner.disabledAt !== null || limit === 0 || used < limit * nearlySpent) return [];
  const text = `${partner.partnerId} has used ${percent(used / limit)} of today's quota (UTC).`;
  const command = commandLine(`partners set ${partner.partnerId} --per-day ${limit * 2}`);
  return [{ level: used >= limit ? "bad" : "warn", text, command }];
}

function licenseConcerns({ teachers }: Readings, { commandLine }: ConsoleState): Concern[] {
  if (teachers.active === 0 || teachers.licensed > 0) return [];
  const text = `${describeLicensed(teachers)}: everybody is answered as not licensed. Look whether the extract has the licences' columns.`;
  return [{ level: "bad", text, command: commandLine("teachers import FILE --dry-run") }];
}

function importConcerns(readings: Readings, { commandLine, now }: ConsoleState): Concern[] {
  const [last] = readings.imports;
  if (last === undefined || last.finishedAt !== null || last.abandonedAt !== null) return [];
  const text = `The last import began ${span(now - last.startedAt)} ago and is not finished. If it was stopped, the same command goes on with it.`;
  return [{ level: "warn", text, command: commandLine("teachers import FILE") }];
}

function logConcerns(log: LogFigures, { commandLine, now }: ConsoleState): Concern[] {
  const waits = checkpointLateness(log, now);
  const late = lateAnchors(log, now).map(({ place, anchoredAt }): Concern => {
    const text = `The last anchor at ${place} is ${span(now - anchoredAt)} old, and the log has grown since.`;
    return { level: "warn", text, command: commandLine(`log anchor ${shellWord(place)}`) };
  });
  if (waits === null) return late;
  const text =
    `An attestation has waited for a checkpoint for ${span(waits)}; they are made every 30 seconds. ` +
    "The service's log says why.";
  return [{ level: "bad", text, command: commandLine("doctor") }, ...late];
}
