/** What on the console needs an operator's attention. */

import type { EndpointReading, QuotaReading, Readings } from "../../domain/readings.ts";
import { rotationOf } from "../../domain/rotation.ts";
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
    ...accessLogConcerns(state),
  ];
  if (readings !== null) {
    found.push(...readings.endpoints.flatMap((one) => endpointConcerns(one, state)));
    found.push(...backlogConcerns(readings, state));
    found.push(...readings.quotas.flatMap((one) => quotaConcerns(one, state)));
    found.push(...importConcerns(readings, state));
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

function importConcerns(readings: Readings, { commandLine, now }: ConsoleState): Concern[] {
  const [last] = readings.imports;
  if (last === undefined || last.finishedAt !== null || last.abandonedAt !== null) return [];
  const text = `The last import began ${span(now - last.startedAt)} ago and is not finished. If it was stopped, the same command goes on with it.`;
  return [{ level: "warn", text, command: commandLine("teachers import FILE") }];
}
