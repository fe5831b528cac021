/** What the console and the metrics are made from, and one look at all of it. */

import type { Clock } from "../domain/clock.ts";
import type { Configuration, Snapshot } from "../domain/configuration.ts";
import type { Readings, ReadingsNow } from "../domain/readings.ts";
import type { History } from "./history.ts";
import type { Refusals } from "./refusals.ts";
import type { RequestCounters } from "./requests.ts";
import type { WorkCounters } from "./work.ts";

/** The threads that sign beside the one that answers. */
export type SignerFigures = {
  readonly running: number;
  /** Threads that died since the start. */
  readonly deaths: number;
  /** When the last one died, in milliseconds since the epoch; null when none has. */
  readonly lastDeathAt: number | null;
};

/** Given by the composition root. */
export type Sources = {
  readonly requests: RequestCounters;
  readonly work: WorkCounters;
  readonly refusals: Refusals;
  readonly history: History;
  readonly readings: () => Promise<ReadingsNow>;
  readonly configuration: Pick<Configuration, "current">;
  readonly clock: Clock;
  readonly startedAt: number;
  /** What signs just now, in words. */
  readonly signingEngine: () => string;
  readonly signers: () => SignerFigures;
  /** By how many milliseconds this machine's clock is ahead of the database's. */
  readonly clockAheadMs: () => number;
  /** Whether the disk refused the evidence of the last answer. */
  readonly isDiskRefusing: () => boolean;
  readonly build: Readonly<Record<"version" | "runtime" | "environment", string>>;
};

/** One look at everything, at one time. */
export type Look = Omit<Sources, "readings" | "configuration" | "clock"> & {
  readonly now: number;
  /** Null before the database was read for the first time. */
  readonly readings: Readings | null;
  /** Whether the readings could not be renewed, and so are older. */
  readonly hasFailed: boolean;
  readonly snapshot: Snapshot;
};

export async function look<S extends Sources>(
  sources: S,
): Promise<Omit<S, "readings" | "configuration" | "clock"> & Look> {
  const { readings, configuration, clock, ...rest } = sources;
  return { ...rest, ...(await readings()), snapshot: configuration.current(), now: clock.now() };
}
