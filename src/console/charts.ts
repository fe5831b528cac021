/** The charts of the last quarter of an hour. */

import { html, raw } from "hono/html";
import { maxPoints, type Point, sampleMs } from "../metrics/history.ts";
import type { ConsoleState } from "./console-state.ts";
import type { Markup } from "./markup.ts";
import { figure } from "./markup.ts";

type SeriesKey = Exclude<keyof Point, "at">;
type Chart = {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  /** What is drawn of each point, with its label. */
  readonly series: Readonly<Partial<Record<SeriesKey, string>>>;
};

/** What the console draws; the script reads the same from the page. */
const charts: readonly Chart[] = [
  {
    id: "traffic",
    title: "Traffic",
    unit: "requests/s",
    series: { publicRate: "public lookup", partnerRate: "partner API", otherRate: "pages, documents" },
  },
  {
    id: "refusals",
    title: "Refused and failed",
    unit: "requests/s",
    series: { refusedRate: "4xx", failedRate: "5xx" },
  },
  {
    id: "partner-latency",
    title: "Latency, partner API",
    unit: "ms",
    series: { partnerP50: "half within", partnerP99: "99 % within" },
  },
  {
    id: "public-latency",
    title: "Latency, public lookup",
    unit: "ms",
    series: { publicP50: "half within", publicP99: "99 % within" },
  },
  {
    id: "signing",
    title: "Signing and storing",
    unit: "",
    series: { signatureRate: "signatures/s", signingPeak: "longest queue", groupSize: "acts a commit" },
  },
  {
    id: "webhooks",
    title: "Webhooks",
    unit: "attempts/s",
    series: { deliveredRate: "delivered", undeliveredRate: "failed" },
  },
];

/** The charts, drawn as far as a server can: the script puts live ones in their place. */
export function chartFigures({ history }: ConsoleState): Markup {
  const points = history.points(0);
  const last = points.at(-1);
  return html`${charts.map((chart) => chartFigure(chart, points, last))}`;
}

function seriesOf({ series }: Chart) {
  return Object.entries(series) as [key: SeriesKey, label: string][];
}

function chartFigure(chart: Chart, points: readonly Point[], last: Point | undefined): Markup {
  const { id, title, unit } = chart;
  const legend = seriesOf(chart).map(
    ([key, label], index) => html`<li><span class="key s${index + 1}" aria-hidden="true"></span>${label}
<b data-series="${key}">${figure(last?.[key] ?? null)}</b></li>`,
  );
  const said = `${title}, the last 15 minutes; the figures above are the newest`;
  return html`<figure class="panel chart" data-chart="${id}">
<figcaption><h3>${title}${unit === "" ? "" : html` <span class="unit">${unit}</span>`}</h3><ul class="legend">${legend}</ul></figcaption>
<div class="plot" role="img" aria-label="${said}">${drawing(chart, points)}</div>
</figure>`;
}

const spanMs = maxPoints * sampleMs;
const width = 600;
const height = 120;

/** A plain drawing for a browser without the script: the shape, and how high it goes. */
function drawing(chart: Chart, points: readonly Point[]): Markup {
  const keys = seriesOf(chart).map(([key]) => key);
  const to = points.at(-1)?.at ?? 0;
  const from = to - spanMs;
  const top = Math.max(0.01, ...keys.flatMap((key) => points.map((point) => point[key] ?? 0)));
  const lines = keys.map((key, index) => {
    const path = points
      .flatMap((point) => {
        const value = point[key];
        if (value === null) return [];
        const x = (width * (point.at - from)) / spanMs;
        return [`${x.toFixed(1)},${(height - 2 - (height - 4) * (value / top)).toFixed(1)}`];
      })
      .join(" ");
    return `<polyline class="s${index + 1}" points="${path}"/>`;
  });
  return html`<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true">${raw(lines.join(""))}</svg><span class="peak">peak ${figure(top)}</span>`;
}

/** Points as columns, which is a fifth of the bytes; rounded to what a chart can show. */
export function pointColumns(points: readonly Point[]): Record<string, (number | null)[]> {
  const keys = charts.flatMap((chart) => seriesOf(chart).map(([key]) => key));
  const columns: Record<string, (number | null)[]> = { at: points.map(({ at }) => at) };
  for (const key of keys) {
    columns[key] = points.map((point) => {
      const value = point[key];
      return value === null ? null : Number(value.toPrecision(4));
    });
  }
  return columns;
}
