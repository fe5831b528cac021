/** The building blocks of the console's HTML: tables, bars, badges and formatted numbers. */

import { html } from "hono/html";
import type { Markup } from "../site/shell.ts";

export type { Markup };
export type Cell = string | Markup;

/** The longest text of a table cell, in characters, that stays on one line. A time with its zone's name is shorter. */
const maxOneLine = 24;

/** Lets a long text break into lines, so that a small screen shows the table's last columns. */
function fitted(cell: Cell | undefined): Cell | undefined {
  const isLong = typeof cell === "string" && cell.length > maxOneLine;
  return isLong ? html`<span class="long">${cell}</span>` : cell;
}

export const renderIdCell = (id: string | null): Markup => html`<span class="id">${id ?? "–"}</span>`;

type Parts = { head: readonly string[]; rows: readonly (readonly Cell[])[]; numbersFrom?: number };

/** Makes a table that scrolls if it is too wide. @param numbersFrom the index of the first column of numbers */
export function renderTable(label: string, { head, rows, numbersFrom = head.length }: Parts): Markup {
  const kind = (index: number) => (index >= numbersFrom ? "number" : "word");
  return html`<div class="scroll" role="region" aria-label="${label}, table" tabindex="0"><table>
<thead><tr>${head.map((name, index) => html`<th scope="col" class="${kind(index)}">${name}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row">${fitted(first)}</th>${others.map((cell, index) => html`<td class="${kind(index + 1)}" data-label="${head[index + 1]}">${fitted(cell)}</td>`)}</tr>`)}</tbody>
</table></div>`;
}

export const makeNote = (text: string): Markup => html`<p class="none">${text}</p>`;

/** Makes a box with a command that the operator can paste into a terminal. The page's script adds a copy button. */
export const makeCommandBox = (command: string): Markup =>
  html`<p class="paste"><code class="command">${command}</code></p>`;

export function renderShareBar(share: number): Markup {
  const width = Math.round(100 * Math.min(1, Math.max(0, share)));
  const level = share >= 1 ? "bad" : share >= 0.9 ? "warn" : "good";
  return html`<svg class="bar ${level}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="all" width="100" height="6"/><rect class="part" width="${width}" height="6"/></svg>`;
}

export const makeBadge = (level: "good" | "warn" | "bad" | "quiet", text: string): Markup =>
  html`<span class="badge ${level}">${text}</span>`;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const formatters = {
  count: (value: number): string => whole.format(value),
  use: ({ used, limit }: { used: number; limit: number }): string =>
    `${formatters.count(used)} of ${formatters.count(limit)}`,
  percent: (share: number): string => `${formatters.count(Math.min(999, share * 100))} %`,
  bytes: (value: number): string =>
    value < 1e9 ? `${formatters.count(value / 1e6)} MB` : `${(value / 1e9).toFixed(1)} GB`,

  /** Rounds to at most two decimals, or from 10 on to a whole number: 0.04, 3.2, 47, 1,260. */
  figure(value: number | null): string {
    if (value === null || !Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    if (value < 0.995) return value.toFixed(2);
    return value < 9.95 ? value.toFixed(1) : formatters.count(value);
  },

  /** Formats milliseconds since the epoch to the minute, in the service's time zone: 2026-03-01 09:30 WAT. */
  time(at: number, timeZone: string): string {
    const time = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
    // Only the locale en-NG names Nigeria's time zone WAT; other English locales name it GMT+1.
    const named = new Intl.DateTimeFormat("en-NG", { timeZone, timeZoneName: "short" }).formatToParts(at);
    return `${time.format(at)} ${named.find(({ type }) => type === "timeZoneName")?.value ?? timeZone}`;
  },

  /** Converts each ISO 8601 time in a text from UTC to the service's time zone. */
  timesIn: (text: string, timeZone: string): string =>
    text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => formatters.time(Date.parse(time), timeZone)),
};
