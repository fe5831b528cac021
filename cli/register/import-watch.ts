/** An import of what has changed, and what the register remembers of its source (decision D7.14). */

import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import type { Config } from "../../src/config.ts";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import type { ImportResult } from "../../src/domain/import/report.ts";
import {
  type AppliedExtract,
  type ImportTimer,
  importSourcesName,
  importTimerName,
  readSourceState,
  readTimer,
  type SourceState,
  withSourceState,
} from "../../src/domain/import/source.ts";
import type { SettingsStore } from "../../src/domain/settings.ts";
import { createImportHistory } from "../../src/store/imports.ts";
import { type Operator, withOperator } from "../open.ts";
import { fetchExtract, makeExtractFile } from "./import-download.ts";
import { type ImportSource, readSourceAuth } from "./import-source.ts";
import { whyStopped } from "./import-summary.ts";

/** An extract as it lies on this machine. */
export type LocalExtract = { readonly path: string; readonly name: string };

type Unchanged = { readonly unchanged: true; readonly file: string; readonly sha256: string };

type WatchedImport = {
  readonly source: ImportSource;
  readonly config: Config;
  readonly authFile: string | undefined;
  readonly allowPrivate: boolean;
  readonly ifChanged: boolean;
  /** How often a timer runs it; undefined where none does. */
  readonly everyMs: number | undefined;
  /** What else decides what is written; the same bytes are the same extract only where it is the same. */
  readonly how: string;
  readonly dryRun: boolean;
  /** Aborted, it ends the fetching. */
  readonly stop: AbortSignal;
};

type Outcome = { readonly result: ImportResult | Unchanged; readonly etag: string | null };

/**
 * Imports what a source has, unless it is what it had when it was last applied. What became of a source that is fetched,
 * compared or due is remembered.
 * @param act imports the extract
 */
export async function importWatched(
  watched: WatchedImport,
  act: (extract: LocalExtract) => Promise<ImportResult>,
): Promise<ImportResult | Unchanged> {
  const { source, ifChanged, everyMs, dryRun } = watched;
  const isRemembered = !dryRun && (source.kind !== "file" || ifChanged || everyMs !== undefined);
  try {
    const applied = ifChanged ? await lastApplied(watched) : null;
    const outcome = await importOnce(watched, applied, act);
    if (isRemembered) await remember(watched, (operator) => stateAfter(watched, outcome, operator));
    return outcome.result;
  } catch (error) {
    const told = isTvsError(error) ? error.message : "an unexpected error; the command's own output tells it";
    // Whoever shows it names the source.
    const what = told.replace(`${source.name} `, "it ");
    // The failure itself is told above all: what stands against remembering it is often the same.
    if (isRemembered) await remember(watched, () => failure(what)).catch(() => {});
    throw error;
  }
}

/** The extract that was last applied of all, where it was this source's, read and applied in the same way. */
async function lastApplied({ config, source, how }: WatchedImport): Promise<AppliedExtract | null> {
  return withOperator(config, async ({ settings, driver }) => {
    const { applied } = readSourceState(await settings.read(), source.name);
    const last = await createImportHistory(driver).lastApplied();
    return applied?.how === how && applied.finishedAt === last?.finishedAt ? applied : null;
  });
}

async function importOnce(
  watched: WatchedImport,
  applied: AppliedExtract | null,
  act: (extract: LocalExtract) => Promise<ImportResult>,
): Promise<Outcome> {
  const { source, config, authFile, allowPrivate, stop } = watched;
  if (source.kind === "file") return importLocal({ path: source.place, name: source.fileName });
  const auth = authFile === undefined ? undefined : readSourceAuth(authFile);
  const file = makeExtractFile(config.dataDir);
  try {
    const request = { source, auth, allowPrivate, stop, etag: applied?.etag ?? null };
    const { isUnchanged, etag } = await fetchExtract(request, file.path);
    if (isUnchanged && applied !== null) return { result: unchanged(applied), etag: applied.etag };
    return await importLocal({ path: file.path, name: source.fileName }, etag);
  } finally {
    file.remove();
  }

  async function importLocal(extract: LocalExtract, etag: string | null = null): Promise<Outcome> {
    const isSame = applied !== null && (await hashOf(extract.path)) === applied.sha256;
    return { result: isSame ? unchanged(applied) : await act(extract), etag };
  }

  function unchanged({ sha256 }: AppliedExtract): Unchanged {
    return { unchanged: true, file: source.fileName, sha256 };
  }
}

/** The hash of a file; null for what can be read only once, such as a pipe, and for what is not there. */
async function hashOf(file: string): Promise<string | null> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(file)) digest.update(chunk as Uint8Array);
  return digest.digest("hex");
}

async function stateAfter(
  { source, how }: WatchedImport,
  { result, etag }: Outcome,
  { settings, driver, clock }: Operator,
): Promise<Partial<SourceState>> {
  const seen = { seenAt: clock.now(), failed: null };
  if (result.unchanged === true) {
    const { applied } = readSourceState(await settings.read(), source.name);
    return { ...seen, applied: applied && { ...applied, etag } };
  }
  if (result.stopped !== undefined) return failure(whyStopped(result.stopped));
  if (result.rows > 0 && result.rejected === result.rows) return failure("every row was rejected");
  const [last] = await createImportHistory(driver).latest(1);
  const finishedAt = last !== undefined && last.sha256 === result.sha256 ? last.finishedAt : null;
  const applied = finishedAt === null ? null : { etag, sha256: result.sha256, how, finishedAt };
  return { ...seen, applied };
}

function failure(what: string): Partial<SourceState> {
  return { failed: { at: systemClock.now(), what } };
}

/** Remembers how a source did, and the timer that runs this. */
async function remember(
  { config, source, everyMs }: WatchedImport,
  change: (operator: Operator) => Partial<SourceState> | Promise<Partial<SourceState>>,
): Promise<void> {
  await withOperator(config, async (operator) => {
    const { settings, clock } = operator;
    const changed = await change(operator);
    const stored = await settings.read();
    await settings.write({ [importSourcesName]: withSourceState(stored, source.name, changed) });
    if (everyMs !== undefined) await rememberTimer(settings, { source: source.name, everyMs }, clock);
  });
}

/** Remembers a timer, and since when it is there; null forgets it. */
export async function rememberTimer(
  settings: SettingsStore,
  timer: Omit<ImportTimer, "since"> | null,
  clock: Clock,
): Promise<void> {
  const known = readTimer(await settings.read());
  if (known?.source === timer?.source && known?.everyMs === timer?.everyMs) return;
  const value = timer === null ? "" : JSON.stringify({ ...timer, since: clock.now() });
  await settings.write({ [importTimerName]: value });
}
