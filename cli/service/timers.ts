/** The options of `tvs service install` for what runs by timers: backups, checkpoints that are handed out, alerts. */

import { isAbsolute } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import type { ImportTimer } from "../../src/domain/import/source.ts";
import { type ArgsOf, option } from "../command.ts";
import { parseEvery, parseSource, readSourceAuth, sourceArgs } from "../register/import-source.ts";
import { readKeep } from "../safe/backup-folder.ts";
import { readHttpUrl } from "../verify/bounded-fetch.ts";
import { sourceAuthPath, type TimerJob } from "./units.ts";

const defaults = { backupAt: "02:30", backupKeep: 14, anchorAt: "hourly", importEvery: "24h" } as const;

export const timerArgs = {
  "backup-to": option(
    "DIR",
    "Also write a timer for backups into this folder, which the service's user must be able to write",
    absolute,
  ),
  "backup-at": option(
    "CALENDAR",
    `When, as systemd.time(7) writes it: daily, Mon 03:00 (default ${defaults.backupAt}, every day)`,
    calendar,
  ),
  "backup-keep": option(
    "N",
    `How many backups are kept there; older ones are deleted (default ${defaults.backupKeep})`,
    readKeep,
  ),
  "anchor-to": option(
    "PLACE",
    "Also write a timer that hands the evidence log's newest checkpoint out, as `tvs log anchor PLACE` does: to an " +
      "existing folder, or to the address of a time-stamp authority",
    readPlace,
  ),
  "anchor-at": option("CALENDAR", `When (default ${defaults.anchorAt})`, calendar),
  "alert-command": option(
    "PATH",
    "Also write a timer that runs this program every five minutes for what has begun or ended, as `tvs doctor " +
      "--alert-command PATH` does",
    absolute,
  ),
  import: option(
    "SOURCE",
    "Also write a timer that imports this file, https or sftp address when it has changed, as `tvs teachers import` " +
      "does; the service's user must be able to read the file",
  ),
  every: option("DURATION", `How often, 5m at least (default ${defaults.importEvery})`),
  ...sourceArgs,
} as const;

type TimerValues = ArgsOf<typeof timerArgs>;

/** The jobs that the options ask for. @throws TvsError USAGE */
export function readTimerJobs(args: TimerValues): TimerJob[] {
  requireTogether(args, "backup-to", ["backup-at", "backup-keep"]);
  requireTogether(args, "anchor-to", ["anchor-at"]);
  requireTogether(args, "import", ["every", "source-auth", "allow-private-source"]);
  const { "backup-to": backupTo, "backup-keep": keep = defaults.backupKeep, import: source } = args;
  const { "anchor-to": anchorTo, "alert-command": alertCommand } = args;
  const jobs: (TimerJob | false)[] = [
    backupTo !== undefined && {
      name: "backup",
      description: "Backup of the Teacher Verification Service",
      words: ["backup", backupTo, "--keep", String(keep)],
      at: args["backup-at"] ?? defaults.backupAt,
      folder: backupTo,
    },
    anchorTo !== undefined && {
      name: "anchor",
      description: "Checkpoints of the Teacher Verification Service, handed out",
      words: ["log", "anchor", anchorTo],
      at: args["anchor-at"] ?? defaults.anchorAt,
      folder: isUrl(anchorTo) ? null : anchorTo,
    },
    alertCommand !== undefined && {
      name: "alert",
      description: "Alerts of the Teacher Verification Service",
      words: ["doctor", "--alert-command", alertCommand],
      at: "*:0/5",
      folder: null,
    },
    source !== undefined && importJob(args, source),
  ];
  return jobs.filter((job) => job !== false);
}

function requireTogether(args: TimerValues, main: keyof typeof timerArgs, more: (keyof typeof timerArgs)[]) {
  const alone = more.find((name) => args[name] !== undefined);
  if (alone !== undefined && args[main] === undefined)
    throw new TvsError("USAGE", `--${alone} goes with --${main}`);
}

function isUrl(place: string): boolean {
  return /^https?:/i.test(place);
}

/** An authority's address, or a folder. @throws TvsError USAGE */
function readPlace(text: string, flag: string): string {
  return isUrl(text) ? plainUrl(readHttpUrl(text, flag).href, flag) : absolute(text, flag);
}

/** What the register is to remember of the timer that imports; null where there is none. */
export function importTimerOf(args: TimerValues): Omit<ImportTimer, "since"> | null {
  const { import: source, every = defaults.importEvery } = args;
  return source === undefined
    ? null
    : { source: parseSource(source, args).name, everyMs: parseEvery(every, "--every") };
}

/**
 * Checks what a timer that is written for this machine needs, as far as it can be seen now.
 * @throws TvsError USAGE, INPUT_UNREADABLE
 */
export function checkImport({ import: source, "source-auth": authFile }: TimerValues): void {
  if (source !== undefined && isHidden(source))
    throw new TvsError("USAGE", `the service cannot see ${source}; choose a folder outside of home and /tmp`);
  if (authFile !== undefined) readSourceAuth(authFile);
}

function importJob(args: TimerValues, text: string): TimerJob {
  const { every = defaults.importEvery, "source-auth": authFile } = args;
  const source = parseSource(text, args);
  const place = source.kind === "file" ? absolute(text, "--import") : plainUrl(source.place, "--import");
  const sourceAuth = authFile === undefined ? undefined : absolute(authFile, "--source-auth");
  return {
    name: "import",
    description: "Import into the Teacher Verification Service",
    words: [
      ...["teachers", "import", place, "--if-changed", "--every", every],
      ...(sourceAuth === undefined ? [] : ["--source-auth", sourceAuthPath]),
      ...(args["allow-private-source"] === true ? ["--allow-private-source"] : []),
    ],
    at: { everyMs: parseEvery(every, "--every") },
    folder: null,
    sourceAuth,
  };
}

/** Whether the hardened units do not see a path, or another folder in its place. */
export function isHidden(path: string): boolean {
  return /^\/(home|root|run\/user|tmp|var\/tmp)\//.test(path);
}

/** An absolute path: systemd has no current folder, and reads white space and % in its own way. @throws TvsError USAGE */
export function absolute(path: string, flag: string): string {
  if (isAbsolute(path) && /^[^\s%"'\\$]+$/.test(path)) return path;
  throw new TvsError(
    "USAGE",
    `${flag} must be an absolute path without white space, quotes, $ or %: ${path}`,
  );
}

/** An address without what systemd reads in its own way; a % is written twice in the unit. */
function plainUrl(href: string, flag: string): string {
  if (/^[^\s"'\\$]+$/.test(href)) return href;
  throw new TvsError("USAGE", `${flag} must be an address without white space, quotes or $`);
}

/** systemd itself says what is wrong with a calendar; only what would be another line or setting is refused here. */
function calendar(text: string, flag: string): string {
  if (/^[A-Za-z0-9*:,./~ -]{1,100}$/.test(text)) return text;
  throw new TvsError("USAGE", `${flag} must be a calendar of systemd, such as daily or Mon 03:00`);
}
