/** Where extracts come from by themselves, and what the register remembers of it (decision D7.14). */

/** The timer that imports by itself. */
export type ImportTimer = {
  /** What is imported, as a register may remember and show it. */
  readonly source: string;
  readonly everyMs: number;
  /** When it was first heard of, in milliseconds since the epoch. */
  readonly since: number;
};

/** An extract that was applied, by which the same one is known again. */
export type AppliedExtract = {
  readonly etag: string | null;
  readonly sha256: string;
  /** How it was read and applied: in another way, the same bytes may say something else. */
  readonly how: string;
  /** When its import ended; another one that was applied later makes it worth applying again. */
  readonly finishedAt: number;
};

/** How a source did. */
export type SourceState = {
  readonly seenAt: number | null;
  readonly applied: AppliedExtract | null;
  /** What became of the last run; null where it went well. */
  readonly failed: { readonly at: number; readonly what: string } | null;
};

/** The timer, and how its source did. */
export type ImportWatch = ImportTimer & Pick<SourceState, "seenAt" | "failed">;

/** The setting of the timer, empty when it was removed. */
export const importTimerName = "import_timer";
/** The setting of how sources did, by their names. */
export const importSourcesName = "import_sources";

/** Exports take their time, and may begin late: only what is missed for longer is told. */
const graceMs = 2 * 3_600_000;
/** The sources whose state is kept: whoever tries one after the other shall not fill a setting. */
const maxSources = 8;

export function readTimer(stored: ReadonlyMap<string, string>): ImportTimer | null {
  const text = stored.get(importTimerName) ?? "";
  return text === "" ? null : (JSON.parse(text) as ImportTimer);
}

const unknownState: SourceState = { seenAt: null, applied: null, failed: null };

export function readSourceState(stored: ReadonlyMap<string, string>, source: string): SourceState {
  return new Map(readStates(stored)).get(source) ?? unknownState;
}

function readStates(stored: ReadonlyMap<string, string>): [source: string, state: SourceState][] {
  return JSON.parse(stored.get(importSourcesName) ?? "[]") as [string, SourceState][];
}

/** The setting's value after a source did something; what was longest untouched goes. */
export function withSourceState(
  stored: ReadonlyMap<string, string>,
  source: string,
  change: Partial<SourceState>,
): string {
  const state = { ...readSourceState(stored, source), ...change };
  const others = readStates(stored).filter(([name]) => name !== source);
  return JSON.stringify([[source, state], ...others].slice(0, maxSources));
}

export function readImportWatch(stored: ReadonlyMap<string, string>): ImportWatch | null {
  const timer = readTimer(stored);
  if (timer === null) return null;
  const { seenAt, failed } = readSourceState(stored, timer.source);
  return { ...timer, seenAt, failed };
}

/** When a source was last seen; before the first time, since when it could have been. */
export function lastSeenAt({ seenAt, since }: ImportWatch): number {
  return Math.max(seenAt ?? 0, since);
}

/** For how long nothing was seen of a source that is late; null while it is not. */
export function sourceLateness(watch: ImportWatch, now: number): number | null {
  const age = now - lastSeenAt(watch);
  return age > watch.everyMs + graceMs ? age : null;
}
