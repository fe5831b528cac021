/** The progress of a long command: a bar with rate and remaining time, at a terminal only. */

import { Presets, SingleBar } from "cli-progress";

export type ProgressBar = {
  /** Shows the progress. @param more `total` if unknown before; `counted` is what the rate counts (default: `done`) */
  show(done: number, more?: { readonly total?: number; readonly counted?: number }): void;
  stop(): void;
};

const silent: ProgressBar = { show: () => {}, stop: () => {} };

/** Whether a progress bar is shown: only if stderr is a terminal, so never in a log. */
export const isProgressShown = (): boolean => process.stderr.isTTY === true;

type BarOptions = {
  readonly label: string;
  /** The unit of the rate. With `MB` the numbers are bytes. */
  readonly unit: string;
  readonly total?: number;
};

export function createProgressBar({ label, unit, total: known = 0 }: BarOptions): ProgressBar {
  if (!isProgressShown()) return silent;
  const startedAt = performance.now();
  let bar: SingleBar | undefined;
  return {
    show(done, { total = known, counted = done } = {}) {
      if (total === 0) return;
      bar ??= startBar(label, total);
      const perSecond = counted / Math.max(0.001, (performance.now() - startedAt) / 1_000);
      // Without any progress the remaining time cannot be computed.
      if (done > 0) bar.update(Math.min(done, total), { text: rateText(perSecond, unit) });
    },
    stop: () => bar?.stop(),
  };
}

function startBar(label: string, total: number): SingleBar {
  const bar = new SingleBar(
    {
      format: `${label} [{bar}] {percentage} %  {text}  {eta_formatted} left`,
      stream: process.stderr,
      // With this size the longest line fits into 80 columns.
      barsize: 20,
      clearOnComplete: true,
      hideCursor: true,
      etaBuffer: 100,
    },
    Presets.legacy,
  );
  bar.start(total, 0, { text: "" });
  return bar;
}

function rateText(perSecond: number, unit: string): string {
  const count = unit === "MB" ? (perSecond / 1e6).toFixed(1) : Math.round(perSecond).toLocaleString("en");
  return `${count} ${unit}/s`;
}
