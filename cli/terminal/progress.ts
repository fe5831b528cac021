/** The progress of a long command: one bar, with its rate and the time left, on a terminal only. */

import { Presets, SingleBar } from "cli-progress";

export type Bar = {
  /** @param more `total` is of how much, where that was not known; `counted` what its rate goes by, unless by `done` */
  show(done: number, more?: { readonly total?: number; readonly counted?: number }): void;
  stop(): void;
};

const silent: Bar = { show: () => {}, stop: () => {} };

/** Whether a bar is shown: at a terminal only, so that logs of scripts and timers stay free of it. */
export const hasProgress = (): boolean => process.stderr.isTTY === true;

type BarOptions = {
  readonly label: string;
  /** What its rate counts; MB for bytes. */
  readonly unit: string;
  readonly total?: number;
};

/** A bar that is there from the first step on. */
export function createBar({ label, unit, total: known = 0 }: BarOptions): Bar {
  if (!hasProgress()) return silent;
  const startedAt = performance.now();
  let bar: SingleBar | undefined;
  return {
    show(done, { total = known, counted = done } = {}) {
      if (total === 0) return;
      bar ??= startBar(label, total);
      const perSecond = counted / Math.max(0.001, (performance.now() - startedAt) / 1_000);
      // Before the first step nobody knows how long there is left.
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
      // With the longest text the line still fits eighty columns.
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
