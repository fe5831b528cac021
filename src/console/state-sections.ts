/** The console's sections on the service's state: failed checks, quotas, keys, webhooks, imports, evidence log. */

import { html } from "hono/html";
import { type Finding, fail, runHealthChecks, warn } from "../domain/checks.ts";
import { formatDuration } from "../domain/clock.ts";
import { checkClockDifference } from "../domain/database-clock.ts";
import { explainDeliveryError, type PartnerBacklog } from "../domain/deliveries.ts";
import { checkpointDelayOf } from "../domain/evidence/log.ts";
import { quoteShellWord } from "../domain/plain-text.ts";
import type { EndpointFigures, QuotaFigures } from "../domain/readings.ts";
import { rotationTimes } from "../domain/rotation.ts";
import { describeLicensedCount } from "../domain/status.ts";
import type { LogFigures } from "../store/evidence/log.ts";
import type { ConsoleState } from "./console-state.ts";
import { renderImportsTable } from "./file-pages.ts";
import {
  formatters,
  type Markup,
  makeBadge,
  makeCommandBox,
  makeNote,
  renderShareBar,
  renderTable,
} from "./markup.ts";

const unread = "The database has not answered yet.";

export function renderConcerns(state: ConsoleState): Markup {
  const concerns = findConcerns(state);
  if (concerns.length === 0) return html`<p class="calm">Nothing needs attention.</p>`;
  const words = { bad: "Act", warn: "Look" } as const;
  return html`<ul class="concerns">${concerns.map(
    ({ level, text, command }) =>
      html`<li class="${level}"><p>${makeBadge(level, words[level])} ${text}</p>${makeCommandBox(command)}</li>`,
  )}</ul>`;
}

export function renderQuotas({ readings, commandLine }: ConsoleState): Markup {
  if (readings === null) return makeNote(unread);
  if (readings.quotas.length === 0)
    return html`${makeNote("No partner is onboarded.")}${makeCommandBox(commandLine("partners add --help"))}`;
  const byUse = [...readings.quotas].sort((one, other) => shareOf(other.use.day) - shareOf(one.use.day));
  return renderTable("Quota use by partner", {
    head: ["Partner", "This minute", "Share", "Today (UTC)", "Share"],
    rows: byUse.map(({ partner, use }) => [
      html`<a class="long" href="./partner?id=${partner.partnerId}">${partner.partnerId}</a>${
        partner.disabledAt === null ? "" : html` ${makeBadge("quiet", "disabled")}`
      }`,
      html`<span class="number">${formatters.use(use.minute)}</span>`,
      meter(use.minute),
      html`<span class="number">${formatters.use(use.day)}</span>`,
      meter(use.day),
    ]),
  });
}

type Use = QuotaFigures["use"]["day"];

const shareOf = ({ used, limit }: Use): number => (limit === 0 ? 0 : used / limit);

function meter(use: Use): Markup {
  const words = use.limit === 0 ? "none" : formatters.percent(shareOf(use));
  return html`<span class="meter">${renderShareBar(shareOf(use))}<span>${words}</span></span>`;
}

const shownRetired = 3;
const keyLevels = { active: "good", pending: "quiet", retired: "quiet", compromised: "bad" } as const;

export function renderKeys({ snapshot, now, commandLine }: ConsoleState): Markup {
  const { keys, settings } = snapshot;
  const rotation = rotationTimes(keys, now);
  const at = (time: number | null) => (time === null ? "–" : formatters.time(time, settings.timeZone));
  const others = keys.keys
    .filter(({ state }) => state === "retired" || state === "compromised")
    .sort((one, other) => (other.retiredAt ?? 0) - (one.retiredAt ?? 0));
  const rows = [keys.active, keys.pending, ...others.slice(0, shownRetired)].map((key) => [
    html`<span class="id">${key.kid}</span>`,
    makeBadge(keyLevels[key.state], key.state),
    at(key.publishedAt),
    at(key.activatedAt),
    at(key.retiredAt),
  ]);
  const possible = rotation.isPossible
    ? "The pending key has been public for a day: it may take over now."
    : `The pending key may take over from ${at(rotation.possibleAt)} on.`;
  const due = rotation.isDue
    ? html`${makeBadge("warn", "due")} since ${at(rotation.dueAt)}`
    : html`due ${at(rotation.dueAt)}, in ${formatDuration(rotation.dueAt - now)}`;
  const more = others.length - shownRetired;
  return html`${renderTable("Signing keys", { head: ["Key", "State", "Published", "Active from", "Retired"], rows })}
<p>Rotation ${due}. ${possible}${more > 0 ? ` ${formatters.count(more)} older keys are not shown.` : ""}</p>${makeCommandBox(commandLine("keys rotate"))}`;
}

export function renderWebhooks(state: ConsoleState): Markup {
  const { readings, commandLine } = state;
  if (readings === null) return makeNote(unread);
  const { endpoints, backlog } = readings;
  // A removal that was killed between its two commits leaves deliveries without an endpoint, which the operator must see.
  const orphans = backlog.filter(({ partnerId }) => !endpoints.some((one) => one.partnerId === partnerId));
  if (endpoints.length + orphans.length === 0)
    return html`${makeNote("No partner has a webhook endpoint.")}${makeCommandBox(commandLine("partners webhook set --help"))}`;
  const backlogOf = (id: string) => backlog.find(({ partnerId }) => partnerId === id);
  const noEndpoint = makeBadge("quiet", "no endpoint");
  const rows = [
    ...endpoints.map((one) => endpointRow(one, backlogOf(one.partnerId), state)),
    ...orphans.map((one) => [one.partnerId, "–", noEndpoint, ...backlogCells(one, state), "–"]),
  ];
  return html`${renderTable("Webhook endpoints", {
    head: ["Partner", "Host", "State", "Pending", "Dead", "Oldest due", "Last error"],
    rows,
  })}${makeCommandBox(commandLine("webhooks list"))}`;
}

function endpointRow(endpoint: EndpointFigures, backlog: PartnerBacklog | undefined, state: ConsoleState) {
  const { partnerId, host, lastError } = endpoint;
  const error =
    lastError === null
      ? "–"
      : html`<span class="prose"><b>${lastError}</b> ${explainDeliveryError(lastError)}</span>`;
  return [partnerId, host, endpointBadge(endpoint, state.now), ...backlogCells(backlog, state), error];
}

function endpointBadge({ disabledReason, failingSince }: EndpointFigures, now: number): Markup {
  if (disabledReason === "operator") return makeBadge("quiet", "disabled");
  if (disabledReason !== null)
    return makeBadge("bad", disabledReason === "gone" ? "gone (410)" : "disabled: failing");
  if (failingSince !== null) return makeBadge("warn", `failing for ${formatDuration(now - failingSince)}`);
  return makeBadge("good", "working");
}

function backlogCells(backlog: PartnerBacklog | undefined, { now }: ConsoleState): string[] {
  if (backlog === undefined) return ["0", "0", "–"];
  const { pending, dead, heldBy, oldestDueAt } = backlog;
  const held = heldBy === null || pending === 0 ? "" : " held";
  const due = oldestDueAt === null ? "–" : formatDuration(now - oldestDueAt);
  return [`${formatters.count(pending)}${held}`, formatters.count(dead), due];
}

export function renderImports({ readings, snapshot, now, commandLine }: ConsoleState): Markup {
  if (readings === null) return makeNote(unread);
  const { teachers, appliedAt } = readings;
  const age = appliedAt === null ? null : formatDuration(now - appliedAt);
  const applied = age === null ? "No extract was applied yet" : `The last extract was applied ${age} ago`;
  const summary = html`<p>${describeLicensedCount(teachers)}. ${applied}.</p>`;
  const { timeZone } = snapshot.settings;
  return html`${summary}${renderImportsTable(readings.imports, { timeZone, now, commandLine })}`;
}

export function renderEvidenceLog(state: ConsoleState): Markup {
  const { readings, commandLine } = state;
  if (readings === null) return makeNote(unread);
  if (readings.log === null) return makeNote("The log begins when the service has started.");
  return html`${treeTable(readings.log, state)}${makeCommandBox(commandLine("log audit"))}`;
}

function treeTable(log: LogFigures, { now, snapshot }: ConsoleState): Markup {
  const { signedAt } = log;
  const late = checkpointDelayOf(log, now);
  const signed =
    signedAt === null
      ? "none yet"
      : `${formatters.time(signedAt, snapshot.settings.timeZone)}, ${formatDuration(now - signedAt)} ago`;
  return renderTable("The evidence log", {
    head: ["Log", "State", "Newest checkpoint", "Leaves", "Waiting", "Covered"],
    numbersFrom: 3,
    rows: [
      [
        log.origin,
        late === null ? makeBadge("good", "covered") : makeBadge("bad", `late by ${formatDuration(late)}`),
        signed,
        ...[log.size, log.waiting, log.signedSize].map(formatters.count),
      ],
    ],
  });
}

/** A failed check, with the command that solves the problem or shows more about it. */
type Concern = { readonly level: "bad" | "warn"; readonly text: string; readonly command: string };

/** How long the console reports the death of a signer thread, in milliseconds. */
const deathConcernMs = 60 * 60_000;

export function findConcerns(state: ConsoleState): Concern[] {
  const { readings, snapshot, commandLine } = state;
  const { timeZone } = snapshot.settings;
  const checks = [...checkProcess(state)];
  if (readings !== null) {
    const areWebhooksHeld = readings.backlog.some(({ heldBy }) => heldBy === "restore");
    const { keys, credentials } = snapshot;
    checks.push(...runHealthChecks({ ...state, readings, keys, credentials, areWebhooksHeld }));
  }
  const concerns = checks
    .filter(({ result }) => result !== "ok")
    .map(({ result, found, advice, command, isUrgent }) => ({
      level: result === "fail" || isUrgent ? ("bad" as const) : ("warn" as const),
      text: formatters.timesIn(
        [found, advice].flatMap((part) => (part === null ? [] : [sentence(part)])).join(" "),
        timeZone,
      ),
      command: commandLine((command ?? ["doctor"]).map((word) => quoteShellWord(word)).join(" ")),
    }));
  const of = (wanted: Concern["level"]) => concerns.filter(({ level }) => level === wanted);
  return [...of("bad"), ...of("warn")];
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${words.endsWith(".") ? "" : "."}`;
}

function checkProcess(state: ConsoleState): Finding[] {
  const { hasFailed, readings, isDiskRefusing, history, signers, clockAheadMs, now } = state;
  const checks: Finding[] = [checkClockDifference(clockAheadMs())];
  if (hasFailed) {
    const since =
      readings === null ? "" : `; the figures below are ${formatDuration(now - readings.readAt)} old`;
    checks.push(fail(`the database does not answer${since}`));
  }
  if (isDiskRefusing()) {
    const advice = "partners are answered 503 until it takes some again";
    checks.push(fail("the disk refused the evidence of an answer", advice));
  }
  if (history.points(now - 60_000).some(({ failedRate }) => failedRate > 0))
    checks.push(fail("requests were answered with 5xx in the last minute; the log says why"));
  const { lastDeathAt, deaths } = signers();
  if (lastDeathAt !== null && now - lastDeathAt <= deathConcernMs) {
    const times = deaths === 1 ? "once" : `${formatters.count(deaths)} times`;
    const found = `a signer thread died ${formatDuration(now - lastDeathAt)} ago (${times} since the start)`;
    const advice = "it was replaced, and other threads made its signatures. The service's log says why";
    checks.push(warn(found, advice));
  }
  return checks;
}
