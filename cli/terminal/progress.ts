/** The progress of a long command: one bar, with its rate and the time left, on a terminal only. */

import { Presets, SingleBar } from "cli-progress";

export type Bar = {
  /** @param text what stands behind the percentage, the rate as a rule */
  show(done: number, text: string): void;
  stop(): void;
};

const silent: Bar = { show: () => {}, stop: () => {} };

/** Whether a bar is shown: at a terminal only, so that logs of scripts and timers stay free of it. */
export function hasProgress(): boolean {
  return process.stderr.isTTY === true;
}

/**
 * @param options `label` is what is being done; `from` is where it began, when part was done before
 */
export function createBar({ label, total, from = 0 }: { label: string; total: number; from?: number }): Bar {
  if (!hasProgress() || total <= from) return silent;
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
  bar.start(total, from, { text: "" });
  return {
    show(done, text) {
      // Before the first step nobody knows how long there is left.
      if (done > from) bar.update(Math.min(done, total), { text });
    },
    stop: () => bar.stop(),
  };
}

/** A rate since the start, as text: `1,234 rows/s`. */
export function createRate(unit: string, from = 0): (done: number) => string {
  const startedAt = performance.now();
  return (done) => {
    const perSecond = (done - from) / Math.max(0.001, (performance.now() - startedAt) / 1_000);
    return unit === "MB"
      ? `${(perSecond / 1e6).toFixed(1)} MB/s`
      : `${Math.round(perSecond).toLocaleString("en")} ${unit}/s`;
  };
}
