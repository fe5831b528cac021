/** The console's sections on traffic: current figures, charts, answers, requests and refusals. */

import { html, raw } from "hono/html";
import { formatDuration } from "../domain/clock.ts";
import { teacherOperations } from "../metrics/counters.ts";
import { estimatePercentileMs } from "../metrics/durations.ts";
import { type HistoryPoint, historyIntervalMs, maxHistoryPoints } from "../metrics/history.ts";
import { licenseStatuses } from "../partner/contract.ts";
import type { ConsoleState } from "./console-state.ts";
import { formatters, type Markup, makeNote, renderIdCell, renderTable } from "./markup.ts";

export function renderCurrentFigures(state: ConsoleState): Markup {
  const { history, readings, now, startedAt } = state;
  const last = history.points(now - 10_000).at(-1);
  const partner = history.percentiles("partner");
  const publicly = history.percentiles("public");
  const waiting = (readings?.backlog ?? []).reduce((sum, { pending }) => sum + pending, 0);
  const rate = last === undefined ? null : last.publicRate + last.partnerRate + last.otherRate;
  const all: readonly [name: string, value: string, unit: string][] = [
    ["Requests", formatters.figure(rate), "/s"],
    ["Partner p50 · p99", `${formatters.figure(partner.p50)} · ${formatters.figure(partner.p99)}`, "ms"],
    ["Public p50 · p99", `${formatters.figure(publicly.p50)} · ${formatters.figure(publicly.p99)}`, "ms"],
    ["Signatures", formatters.figure(last?.signatureRate ?? null), "/s"],
    ["Webhooks waiting", readings === null ? "–" : formatters.count(waiting), ""],
    ["CPU", formatters.figure(last?.cpuPercent ?? null), "%"],
    ["Memory", last === undefined ? "–" : formatters.bytes(last.residentBytes), ""],
    ["Running for", formatDuration(now - startedAt), ""],
  ];
  return html`<dl class="figures">${all.map(
    ([name, value, unit]) =>
      html`<div><dt>${name}</dt><dd>${value}${unit === "" ? "" : html` <span class="unit">${unit}</span>`}</dd></div>`,
  )}</dl>`;
}

export function renderAnswerCounts({ totals: { answers } }: ConsoleState): Markup {
  if (sum(answers.map(({ value }) => value)) === 0)
    return makeNote("No partner has asked about a teacher since the service started.");
  const perOperation = Map.groupBy(answers, ({ labels }) => labels.operation);
  const rows = [...teacherOperations, "all"].flatMap((operation) => {
    const own = operation === "all" ? answers : (perOperation.get(operation) ?? []);
    const counts = [...licenseStatuses, null].map((status) =>
      sum(own.filter(({ labels }) => status === null || labels.status === status).map(({ value }) => value)),
    );
    return counts.at(-1) === 0 ? [] : [[operation, ...counts.map(formatters.count)]];
  });
  return renderTable("Answers by licence status", {
    head: ["Endpoint", ...licenseStatuses, "All"],
    numbersFrom: 1,
    rows,
  });
}

export function renderRequestCounts({ counters, totals: { requests } }: ConsoleState): Markup {
  if (requests.length === 0) return makeNote("The service has answered no request since it started.");
  const rows = [...counters.routes].flatMap(([route, { durations }]) => {
    const own = requests.filter(({ labels }) => labels.route === route);
    if (own.length === 0) return [];
    const perStatus = new Map<number, number>();
    for (const { labels, value } of own)
      perStatus.set(Number(labels.status), (perStatus.get(Number(labels.status)) ?? 0) + value);
    const [good, refused, failed] = [200, 400, 500].map((from) => inClass(perStatus, from));
    const latencies = [0.5, 0.99].map((share) => formatters.figure(estimatePercentileMs(durations, share)));
    return [[route, good ?? "", refused ?? "", failed ?? "", ...latencies]];
  });
  return renderTable("Requests by route and HTTP status", {
    head: ["Route", "2xx, 3xx", "4xx", "5xx", "p50 ms", "p99 ms"],
    numbersFrom: 1,
    rows,
  });
}

const shownCallers = 20;

/** Makes the table of refused partner calls by API key, in the last 15 minutes and since the start. */
export function renderRefusedCalls(state: ConsoleState): Markup {
  const { refusals, snapshot } = state;
  const callers = refusals.callers();
  const { timeZone } = snapshot.settings;
  const rows = callers
    .slice(0, shownCallers)
    .map(({ partnerId, keyId, lastAt, sinceStart, recent }) => [
      partnerId ?? html`<span class="unit">no valid credential</span>`,
      listed(recent),
      listed(sinceStart),
      renderIdCell(keyId),
      formatters.time(lastAt, timeZone),
    ]);
  const more = callers.length - shownCallers;
  const shown =
    rows.length === 0
      ? makeNote("No partner call was refused since the service started.")
      : html`${renderTable("Refused calls by partner and key", { head: ["Partner", "Last 15 minutes", "Since the start", "Key", "Last refused"], rows })}
${more > 0 ? html`<p>${formatters.count(more)} more callers were refused earlier.</p>` : ""}`;
  return html`${shown}${limitedLookups(state)}`;
}

/** Writes how many public lookups got 429. On routes that are not for partners, only the limit of IP addresses answers 429. */
function limitedLookups({ counters, totals }: ConsoleState): Markup {
  const limited = totals.requests.filter(
    ({ labels: { route, status } }) =>
      status === 429 && counters.routes.get(String(route))?.traffic !== "partner",
  );
  const times = sum(limited.map(({ value }) => value));
  return times === 0
    ? html`<p>The limit of IP addresses has refused no public lookup since the start.</p>`
    : html`<p>The limit of IP addresses has refused ${formatters.count(times)} public lookups since the start. Thousands of phones can share the address of a mobile operator: <code>--public-per-minute</code> raises the limit.</p>`;
}

function listed(counts: ReadonlyMap<string | number, number>): string {
  return counts.size === 0
    ? "–"
    : [...counts].map(([kind, times]) => `${kind}: ${formatters.count(times)}`).join(", ");
}

/** Counts the requests of a class: 2xx and 3xx for `from` 200, 4xx for 400, 5xx for 500. If not all are 200, lists each status. */
function inClass(perStatus: ReadonlyMap<number, number>, from: number): string {
  const until = from === 200 ? 400 : from + 100;
  const own = [...perStatus].filter(([status]) => status >= from && status < until).sort(([a], [b]) => a - b);
  if (own.length === 0) return "0";
  if (own.length === 1 && own[0]?.[0] === 200) return formatters.count(own[0][1]);
  return listed(new Map(own));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

type SeriesKey = Exclude<keyof HistoryPoint, "at">;
type Chart = readonly [title: string, unit: string, series: Partial<Record<SeriesKey, string>>];

const charts: readonly Chart[] = [
  [
    "Traffic",
    "requests/s",
    { publicRate: "public lookup", partnerRate: "partner API", otherRate: "pages, documents" },
  ],
  ["Refused and failed", "requests/s", { refusedRate: "4xx", failedRate: "5xx" }],
  ["Latency, partner API", "ms", { partnerP50: "half within", partnerP99: "99 % within" }],
  ["Latency, public lookup", "ms", { publicP50: "half within", publicP99: "99 % within" }],
  [
    "Signing and storing",
    "",
    { signatureRate: "signatures/s", signingPeak: "longest queue", groupSize: "writes a commit" },
  ],
  ["Webhooks", "attempts/s", { deliveredRate: "delivered", undeliveredRate: "failed" }],
];

const spanMs = maxHistoryPoints * historyIntervalMs;
const [width, height] = [600, 120];

export function renderCharts({ history, snapshot }: ConsoleState): Markup {
  const points = history.points(0);
  return html`${charts.map((chart) => chartFigure(chart, points, snapshot.settings.timeZone))}`;
}

function chartFigure([title, unit, series]: Chart, points: HistoryPoint[], timeZone: string): Markup {
  const all = Object.entries(series) as [key: SeriesKey, label: string][];
  const last = points.at(-1);
  const from = (last?.at ?? 0) - spanMs;
  const highest = (point: HistoryPoint) => Math.max(0, ...all.map(([key]) => point[key] ?? 0));
  const top = Math.max(0.01, ...points.map(highest));
  const peak = points.find((point) => highest(point) === top);
  const position = (at: number, value: number) =>
    `${((width * (at - from)) / spanMs).toFixed(1)},${(height - 2 - (height - 4) * (value / top)).toFixed(1)}`;
  const lines = all.map(([key], index) => {
    const positions = points.flatMap((point) =>
      point[key] === null ? [] : [position(point.at, point[key])],
    );
    return `<polyline class="s${index + 1}" points="${positions.join(" ")}"/>`;
  });
  const legend = all.map(
    ([key, label], index) => html`<li><span class="key s${index + 1}" aria-hidden="true"></span>${label}
<b>${formatters.figure(last?.[key] ?? null)}</b></li>`,
  );
  return html`<figure class="panel chart">
<figcaption><h3>${title}${unit === "" ? "" : html` <span class="unit">${unit}</span>`}</h3><ul class="legend">${legend}</ul></figcaption>
<div class="plot" role="img" aria-label="${title}, the last 15 minutes; the figures above are the newest"><svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true">${raw(lines.join(""))}</svg><span class="peak">${peak === undefined ? "" : `peak ${formatters.figure(top)} at ${formatters.time(peak.at, timeZone).slice(11)}`}</span></div>
</figure>`;
}
