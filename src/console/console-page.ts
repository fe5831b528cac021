/** The HTML of the console's first page and the frame of its other pages. */

import { html, raw } from "hono/html";
import type { ConsoleState } from "./console-state.ts";
import { formatters, type Markup, makeBadge, makeCommandBox } from "./markup.ts";
import {
  renderConcerns,
  renderEvidenceLog,
  renderImports,
  renderKeys,
  renderQuotas,
  renderWebhooks,
} from "./state-sections.ts";
import {
  renderAnswerCounts,
  renderCharts,
  renderCurrentFigures,
  renderRefusedCalls,
  renderRequestCounts,
} from "./traffic-sections.ts";

const destinations = [
  ["/", "Now"],
  ["/teachers", "Teachers"],
  ["/attestations", "Attestations"],
  ["/deliveries", "Deliveries"],
  ["/imports", "Imports"],
  ["/changes", "Changes"],
] as const;

const parents: Readonly<Record<string, string>> = { "/teacher": "/teachers", "/import": "/imports" };

function consoleNav(path: string): Markup {
  const here = parents[path] ?? path;
  return html`<nav aria-label="Console"><ul>${destinations.map(
    ([to, name]) =>
      html`<li><a href=".${to}"${to === here ? html` aria-current="page"` : ""}>${name}</a></li>`,
  )}</ul></nav>`;
}

/** Puts a page's main part between header and footer. The first page (`renderConsoleHome`) has its own header and footer. */
export function renderFrame({ title, path, main }: { title: string; path: string; main: Markup }): Markup {
  const body = html`<header><h1>${title}</h1> ${consoleNav(path)}</header>
<main>${main}</main>
<footer><p>This page only reads. To act, paste a command into a terminal on this machine.</p></footer>`;
  return consoleDocument(`${title} – tvs console`, body);
}

function consoleDocument(title: string, body: Markup, head: Markup = html``): Markup {
  return html`${raw("<!doctype html>")}
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/console.css">
${head}</head><body>${body}</body></html>`;
}

/** The sections of the first page, by id. The page's script refreshes them. */
const sections = {
  figures: { title: "Just now", render: renderCurrentFigures },
  charts: { title: "The last 15 minutes", render: renderCharts },
  attention: { title: "Needs attention", render: renderConcerns },
  webhooks: { title: "Webhooks", render: renderWebhooks },
  quotas: { title: "Quotas", render: renderQuotas },
  keys: { title: "Signing keys", render: renderKeys },
  log: { title: "Evidence log", render: renderEvidenceLog },
  imports: { title: "Imports", render: renderImports },
  refusals: { title: "Refused calls", render: renderRefusedCalls },
  answers: { title: "Answers since the start", render: renderAnswerCounts },
  statuses: { title: "Requests since the start", render: renderRequestCounts },
} as const;

export async function renderSections(state: ConsoleState): Promise<Record<string, string>> {
  const all = Object.entries(sections).map(async ([id, { render }]) => [id, String(await render(state))]);
  return Object.fromEntries(await Promise.all(all));
}

function panel(id: keyof typeof sections, state: ConsoleState): Markup {
  const { title, render } = sections[id];
  return html`<section class="panel" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
<div data-section="${id}">${render(state)}</div></section>`;
}

/** Makes the console's first page. The page is complete without its script, which only refreshes the sections. */
export function renderConsoleHome(state: ConsoleState): Markup {
  const { snapshot, build, now, signingEngine } = state;
  const { issuer, timeZone, policy } = snapshot.settings;
  const environment = build.environment === "live" ? makeBadge("good", "live") : makeBadge("warn", "sandbox");
  const body = html`<header>
<h1>tvs console</h1> ${environment} ${consoleNav("/")}
<p class="about">${issuer} <span class="unit">tvs ${build.version} on ${build.runtime}, signing with ${signingEngine()}, policy ${policy.version}, times in ${timeZone}</span></p>
<p id="freshness" role="status"><span class="dot" aria-hidden="true"></span><span data-text>as of ${formatters.time(now, timeZone)}</span></p>
<noscript><p><a href="./">Refresh</a></p></noscript>
</header>
<main data-time-zone="${timeZone}">
${panel("attention", state)}
<section class="strip" aria-labelledby="figures-title"><h2 id="figures-title">Just now</h2><div data-section="figures">${renderCurrentFigures(state)}</div></section>
<section aria-labelledby="charts-title"><h2 id="charts-title">The last 15 minutes</h2><div class="charts" data-section="charts">${renderCharts(state)}</div></section>
${panel("webhooks", state)}
<div class="pair">${panel("quotas", state)}${panel("keys", state)}</div>
${panel("log", state)}
${panel("refusals", state)}
${panel("imports", state)}
<div class="pair">${panel("answers", state)}${panel("statuses", state)}</div>
</main>
<footer><p>This page only reads. To act, paste a command into a terminal on this machine. Percentiles cover the last five minutes. The same figures for Prometheus: <a href="/metrics">/metrics</a>. <a href="${issuer}/v1/inter-agency/help/">The operator’s manual</a>, or <code>tvs help</code></p></footer>`;
  const head = html`<noscript><meta http-equiv="refresh" content="10"></noscript>
<script type="module" src="/console.js"></script>`;
  return consoleDocument("tvs console", body, head);
}

type PlainPage = { readonly text: string; readonly command?: string; readonly more?: Markup };

export function renderMessagePage(title: string, { text, command, more }: PlainPage): Markup {
  const body = html`<main class="plain"><h1>${title}</h1><p>${text}</p>${command === undefined ? "" : makeCommandBox(command)}${more ?? ""}</main>`;
  return consoleDocument(`${title} – tvs console`, body);
}
