/** The charts of the last quarter of an hour. */

import { html, raw } from "hono/html";
import { maxPoints, type Point, sampleMs } from "../metrics/history.ts";
import type { ConsoleState } from "./console-state.ts";
import { figure, type Markup, moment } from "./markup.ts";

type SeriesKey = Exclude<keyof Point, "at">;
type Chart = {
  readonly title: string;
  readonly unit: string;
  /** What is drawn of each point, with its label. */
  readonly series: Readonly<Partial<Record<SeriesKey, string>>>;
};

/** What the console draws. */
const charts: readonly Chart[] = [
  {
    title: "Traffic",
    unit: "requests/s",
    series: { publicRate: "public lookup", partnerRate: "partner API", otherRate: "pages, documents" },
  },
  {
    title: "Refused and failed",
    unit: "requests/s",
    series: { refusedRate: "4xx", failedRate: "5xx" },
  },
  {
    title: "Latency, partner API",
    unit: "ms",
    series: { partnerP50: "half within", partnerP99: "99 % within" },
  },
  {
    title: "Latency, public lookup",
    unit: "ms",
    series: { publicP50: "half within", publicP99: "99 % within" },
  },
  {
    title: "Signing and storing",
    unit: "",
    series: { signatureRate: "signatures/s", signingPeak: "longest queue", groupSize: "acts a commit" },
  },
  {
    title: "Webhooks",
    unit: "attempts/s",
    series: { deliveredRate: "delivered", undeliveredRate: "failed" },
  },
];

/** The charts, drawn anew each time that the page asks: the script puts them in their place as it does every section. */
export function chartFigures({ history, snapshot }: ConsoleState): Markup {
  const points = history.points(0);
  const { timeZone } = snapshot.settings;
  return html`${charts.map((chart) => chartFigure(chart, points, timeZone))}`;
}

function seriesOf({ series }: Chart) {
  return Object.entries(series) as [key: SeriesKey, label: string][];
}

function chartFigure(chart: Chart, points: readonly Point[], timeZone: string): Markup {
  const { title, unit } = chart;
  const last = points.at(-1);
  const legend = seriesOf(chart).map(
    ([key, label], index) => html`<li><span class="key s${index + 1}" aria-hidden="true"></span>${label}
<b>${figure(last?.[key] ?? null)}</b></li>`,
  );
  const said = `${title}, the last 15 minutes; the figures above are the newest`;
  return html`<figure class="panel chart">
<figcaption><h3>${title}${unit === "" ? "" : html` <span class="unit">${unit}</span>`}</h3><ul class="legend">${legend}</ul></figcaption>
<div class="plot" role="img" aria-label="${said}">${drawing(chart, points, timeZone)}</div>
</figure>`;
}

const spanMs = maxPoints * sampleMs;
const width = 600;
const height = 120;

/** The shape, and how high it goes, and when. */
function drawing(chart: Chart, points: readonly Point[], timeZone: string): Markup {
  const keys = seriesOf(chart).map(([key]) => key);
  const to = points.at(-1)?.at ?? 0;
  const from = to - spanMs;
  const top = Math.max(0.01, ...keys.flatMap((key) => points.map((point) => point[key] ?? 0)));
  const peakAt = points.find((point) => keys.some((key) => point[key] === top))?.at;
  const peak = peakAt === undefined ? "" : `peak ${figure(top)} at ${moment(peakAt, timeZone).slice(11)}`;
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
  return html`<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true">${raw(lines.join(""))}</svg><span class="peak">${peak}</span>`;
}
