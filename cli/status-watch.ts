/** `tvs status --watch`: the same figures again and again, until Ctrl-C. */

import { setTimeout as sleep } from "node:timers/promises";
import { TvsError } from "../src/domain/errors.ts";
import { exitCodes } from "./terminal/output.ts";

const defaultSeconds = 2;
const maxSeconds = 86_400;

/** Home, so that the next lines are written over the last ones; each line and the screen are cleared behind them. */
const [home, clearLine, clearBelow, clearAll] = ["\u001b[H", "\u001b[K", "\u001b[J", "\u001b[2J"];
const [hideCursor, showCursor] = ["\u001b[?25l", "\u001b[?25h"];

export type WatchArgs = {
  readonly watch?: boolean | undefined;
  readonly seconds?: string | undefined;
  readonly json?: boolean | undefined;
};

/**
 * How often to look; null when nothing is to be watched.
 * @returns milliseconds
 * @throws TvsError USAGE
 */
export function watchEveryMs({ watch, seconds, json }: WatchArgs): number | null {
  if (watch !== true) {
    if (seconds === undefined) return null;
    throw new TvsError("USAGE", "the seconds go with --watch: tvs status --watch 5");
  }
  if (json !== true && process.stdout.isTTY !== true)
    throw new TvsError(
      "USAGE",
      "--watch redraws a terminal; elsewhere give --json too, for one value a line",
    );
  const every = seconds === undefined ? defaultSeconds : Number(seconds);
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(seconds ?? "2") || every < 0.1 || every > maxSeconds)
    throw new TvsError("USAGE", `--watch takes seconds from 0.1 to ${maxSeconds}, such as --watch 5`);
  return every * 1_000;
}

/**
 * Reads and shows until Ctrl-C, SIGTERM or the end of who reads, which end it with 0.
 * @param options `read` is asked anew each time; `text` also gets what was read before, for what changed since
 */
export async function watch<T>(options: {
  everyMs: number;
  json: boolean;
  read: () => Promise<T>;
  text: (now: T, before: T | null) => string;
}): Promise<void> {
  const { everyMs, json, read, text } = options;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  // Nobody reads any more.
  process.stdout.once("error", stop);
  if (!json) process.stdout.write(`${hideCursor}${clearAll}`);
  try {
    for (let before: T | null = null; !stopped.signal.aborted; ) {
      const now = await read();
      process.stdout.write(json ? `${JSON.stringify(now)}\n` : screen(text(now, before), everyMs));
      before = now;
      await sleep(everyMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    process.stdout.off("error", stop);
    if (!json) process.stdout.write(showCursor);
  }
  process.exitCode = exitCodes.done;
}

function screen(text: string, everyMs: number): string {
  const lines = [...text.split("\n"), ""];
  // What does not fit the screen would scroll it, and the next drawing would begin in the wrong place. How to end it
  // is said on the smallest screen too.
  const room = Math.max((process.stdout.rows ?? 50) - 2, 0);
  const fitting = [...lines.slice(0, room), `every ${everyMs / 1_000} s; Ctrl-C ends`];
  return `${home}${fitting.map((line) => `${line}${clearLine}\n`).join("")}${clearBelow}`;
}
