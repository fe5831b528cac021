import type { AccessLogFigures } from "../domain/calls.ts";
import type { Clock } from "../domain/clock.ts";
import type { Configuration, Snapshot } from "../domain/configuration.ts";
import type { Readings, ReadingsNow } from "../domain/readings.ts";
import type { History } from "../metrics/history.ts";
import type { Refusals } from "../metrics/refusals.ts";
import type { RequestCounters } from "../metrics/requests.ts";
import type { NodeFigures, ThreadFigures } from "../metrics/state-families.ts";
import type { WorkCounters } from "../metrics/work.ts";
import { shellWord } from "../shell-word.ts";

/** Writes a command that can be pasted into any shell, whatever folder it is in. */
type CommandLine = (words: string) => string;

/** What the console is made from; the composition root gives it. */
export type ConsoleSources = {
  readonly requests: RequestCounters;
  readonly work: WorkCounters;
  readonly refusals: Refusals;
  /** Null when no access log is kept. */
  readonly accessLog: () => AccessLogFigures | null;
  readonly history: History;
  readonly readings: () => Promise<ReadingsNow>;
  readonly configuration: Pick<Configuration, "current">;
  readonly clock: Clock;
  readonly startedAt: number;
  /** What signs just now, in words. */
  readonly signingEngine: () => string;
  readonly threads: () => ThreadFigures;
  /** All nodes, as this one last saw them. */
  readonly node: () => NodeFigures;
  /** Whether the disk refused the evidence of the last answer. */
  readonly isDiskRefusing: () => boolean;
  readonly build: { readonly version: string; readonly runtime: string; readonly environment: string };
  readonly commandLine: CommandLine;
  /** A sentence for the code of a failed delivery, such as `BAD_STATUS 503`. */
  readonly explainError: (lastError: string) => string;
};

/** One look at everything, from which the sections of the page are made. */
export type ConsoleState = Omit<ConsoleSources, "readings" | "configuration" | "clock"> & {
  readonly now: number;
  readonly readings: Readings | null;
  readonly hasFailed: boolean;
  readonly snapshot: Snapshot;
};

export async function readConsoleState(sources: ConsoleSources): Promise<ConsoleState> {
  const { readings, configuration, clock, ...rest } = sources;
  const { readings: read, hasFailed } = await readings();
  return { ...rest, readings: read, hasFailed, snapshot: configuration.current(), now: clock.now() };
}

/** @param options the words that make a command mean the running service's data, for example `["--data", "/srv/tvs"]` */
export function createCommandLine(options: readonly string[]): CommandLine {
  const suffix = options.map((word) => ` ${shellWord(word)}`).join("");
  return (words) => `tvs ${words}${suffix}`;
}
