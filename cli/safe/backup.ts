import { lstatSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../src/config.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import {
  type BackupFacts,
  backupPathOf,
  hasSqliteHeader,
  inspectBackup,
  lockPartialFile,
  makeBackup,
} from "../../src/store/driver/backup.ts";
import { openDatabaseFile } from "../../src/store/driver/file.ts";
import { syncFolderOf } from "../../src/store/driver/files.ts";
import { byName, configOf, operand, option, type TvsCommand, toggle } from "../command.ts";
import { requireRegister, runAndCloseDriver } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import {
  exitCodes,
  formatMembers,
  hint,
  parseCount,
  printNote,
  printResult,
  wrapAtTerminal,
} from "../terminal/output.ts";
import { isProgressShown } from "../terminal/progress.ts";
import { prepareOutputFile } from "./output-file.ts";
import { describeMasterKeyLocation, findMasterKey } from "./vault.ts";

/** Gets the path of a command's database file. @throws TvsError REFUSED for a libSQL server */
export function requireDatabaseFile({ database }: Config): string {
  if (database.kind === "file") return database.file;
  throw new TvsError(
    "REFUSED",
    "backup and restore work on a database file; tvs help libsql says how a libSQL server is backed up",
  );
}

export function compareMasterKey(config: Config, { masterKeyCheck }: BackupFacts) {
  const text = findMasterKey(config);
  if (text === undefined) return "absent";
  if (masterKeyCheck === null) return "unrecorded";
  return deriveSecrets(text).check === masterKeyCheck ? "matches" : "differs";
}

export function describeBackup({ counts, newestAttestation, log, masterKeyCheck: _, ...facts }: BackupFacts) {
  const { signing_keys: signingKeys, ...others } = counts;
  return {
    ...facts,
    ...others,
    signingKeys,
    newestAttestation: isoTime(newestAttestation),
    logOrigin: log?.origin ?? null,
    logEntries: log?.entries ?? null,
  };
}

const makeCommand = defineTvsCommand("backup", {
  args: { file: operand(), force: toggle(), keep: option("N", readKeep) },
  async run({ args }) {
    const config = configOf(args);
    const source = requireDatabaseFile(config);
    await requireRegister(config);
    const replace = args.force === true;
    const { keep } = args;
    if (keep === undefined) requireNoFolder(args.file);
    const path = keep === undefined ? args.file : await chooseBackupPath(args.file, config);
    const { path: file } = prepareOutputFile({ flag: "FILE", path, force: replace, config });
    const unfinished = keep === undefined ? [] : await deleteUnfinished(file);
    announceWork("copying and checking", source);
    // Opens only the file, because a backup needs no master key.
    const driver = await openDatabaseFile({ file: source });
    const facts = await runAndCloseDriver(driver, () => makeBackup(driver, file, replace));
    const masterKey = { included: false, place: describeMasterKeyLocation(config) };
    const dropped = keep === undefined ? {} : { ...deleteOlder(file, keep, Date.now()), unfinished };
    printResult(args, { file, ...describeBackup(facts), masterKey, ...dropped }, () =>
      backupText(file, facts, masterKey.place),
    );
    printDeleted(dropped);
    hint(args, `tvs backup verify ${file} checks it, also on another machine`);
  },
});

/** The size, in bytes, from which work on a file is announced. */
const leastBytes = 32 * 1024 * 1024;

/** Announces long work at a terminal. The work blocks the process, so a progress bar could not move. */
function announceWork(work: string, file: string): void {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (isProgressShown() && bytes >= leastBytes) printNote(`${work} ${Math.round(bytes / 1e6)} MB`);
}

/** Prints the deleted files. A file with a future time also sets exit code 1, which a timer reports to the operator. */
function printDeleted(dropped: { deleted?: string[]; ahead?: string[]; unfinished?: string[] }): void {
  const { deleted = [], ahead = [], unfinished = [] } = dropped;
  if (unfinished.length > 0)
    printNote(`deleted, because a killed backup had left them: ${unfinished.join(", ")}`);
  if (deleted.length > 0) printNote(`deleted: ${deleted.join(", ")}`);
  if (ahead.length === 0) return;
  const advice = "find out which clock is wrong, then rename or delete them";
  printNote(
    `not counted and not deleted, because their time is still to come: ${ahead.join(", ")}; ${advice}`,
  );
  process.exitCode = exitCodes.refused;
}

function backupText(file: string, facts: BackupFacts, place: string): string {
  const notes = [
    `The master key is NOT in this backup; it is in ${place}.`,
    "Keep a copy of it somewhere else: without it the signing keys, API keys and lookups by NIN in this backup are lost.",
  ];
  return [formatMembers({ file, ...describeBackup(facts) }), "", ...notes.map(wrapAtTerminal)].join("\n");
}

const verifyCommand = defineTvsCommand("backup verify", {
  args: { file: operand() },
  async run({ args }) {
    const config = configOf(args);
    requireDatabaseFile(config);
    const file = resolve(args.file);
    announceWork("checking every page of", file);
    const facts = await inspectBackup(file);
    const masterKey = compareMasterKey(config, facts);
    const ok = masterKey !== "differs";
    printResult(args, { ok, file, ...describeBackup(facts), masterKey }, () =>
      formatMembers({
        backup: ok ? "good" : "good, but not for this master key",
        file,
        ...describeBackup(facts),
        "master key": masterKey,
      }),
    );
    if (masterKey === "absent")
      printNote(`the master key was not checked: there is none in ${config.masterKeyFile}`);
    if (ok) return;
    printNote(
      `the master key in ${describeMasterKeyLocation(config)} is not the one that this backup was made with`,
    );
    process.exitCode = exitCodes.refused;
  },
});

export const backupCommand: TvsCommand = {
  ...makeCommand,
  subCommands: byName(verifyCommand),
};

/** Chooses a backup's path, named by the time in seconds. If a file has that name, the function waits a second. */
export async function chooseBackupPath(dir: string, config: Config): Promise<string> {
  const folder = resolve(dir);
  // A missing folder is not created, because it may be a share that is not mounted.
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new TvsError("USAGE", `FILE: there is no folder ${folder}; create it, or choose another`);
  for (;;) {
    const time = new Date().toISOString().replace(/[:-]|\.\d+(?=Z$)/g, "");
    const path = join(folder, `${config.sandbox ? "sandbox" : "tvs"}-${time}.db`);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
    await sleep(100);
  }
}

function requireNoFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  const message = `FILE: ${path} is a folder; name a file in it, or give --keep N as well, which names it by its time`;
  throw new TvsError("USAGE", message);
}

function readKeep(text: string, flag: string): number {
  const keep = parseCount(text, flag);
  if (keep > 0) return keep;
  throw new TvsError("USAGE", `${flag} must be at least 1`);
}

/** Finds the file names that {@link chooseBackupPath} made, oldest first, with the times in the names (ms). */
function findOwnBackups(names: Iterable<string>, path: string): { name: string; at: number }[] {
  const [start] = basename(path).split("-", 1);
  const form = new RegExp(`^${start}-(\\d{4})(\\d\\d)(\\d\\d)T(\\d\\d)(\\d\\d)(\\d\\d)Z\\.db$`);
  return [...names]
    .filter((name) => form.test(name))
    .sort()
    .map((name) => ({ name, at: Date.parse(name.replace(form, "$1-$2-$3T$4:$5:$6Z")) }));
}

/** Deletes the partial files of killed backups, but not of running backups. @returns the paths of the killed backups */
async function deleteUnfinished(path: string): Promise<string[]> {
  const names = readdirSync(dirname(path)).flatMap((name) => backupPathOf(name) ?? []);
  const dropped: string[] = [];
  for (const { name } of findOwnBackups(new Set(names), path)) {
    const unfinished = join(dirname(path), name);
    try {
      await (await lockPartialFile(unfinished)).release();
      dropped.push(unfinished);
    } catch (error) {
      if (!isTvsError(error, "REFUSED")) throw error;
    }
  }
  return dropped;
}

/**
 * Deletes all but the newest `keep` backups, by the times in their names, and never the new backup at `path`. Files
 * that do not begin as a database, or whose time is in the future, are neither counted nor deleted.
 */
function deleteOlder(path: string, keep: number, now: number): { deleted: string[]; ahead: string[] } {
  const folder = dirname(path);
  const pathsOf = (those: { name: string }[]) => those.map(({ name }) => join(folder, name));
  const others = findOwnBackups(readdirSync(folder), path).filter(({ name }) => name !== basename(path));
  const older = pathsOf(others.filter(({ at }) => at <= now)).filter(hasSqliteHeader);
  const deleted = older.slice(0, Math.max(0, older.length - keep + 1));
  for (const one of deleted) rmSync(one);
  if (deleted.length > 0) syncFolderOf(path);
  return { deleted, ahead: pathsOf(others.filter(({ at }) => at > now)) };
}
