/** What `tvs service install` writes: the service as systemd runs it, and what runs beside it now and then. */

import { lstatSync, readFileSync } from "node:fs";
import { TvsError } from "../../src/domain/errors.ts";
import { option } from "../command.ts";
import hardening from "./hardening.in" with { type: "text" };
import jobService from "./job.service.in" with { type: "text" };
import jobTimer from "./job.timer.in" with { type: "text" };
import settings from "./tvs.env.in" with { type: "text" };
import service from "./tvs.service.in" with { type: "text" };

export type UnitOptions = {
  /** The path of the executable when the service runs. */
  readonly executable: string;
  /** The service's own user; also the unit's name. */
  readonly user: string;
  readonly dataDir: string;
  /** What wrote the unit; `service install` unless it is told. */
  readonly origin?: "command" | "package";
};

/** The last parts of the names of the units that timers start. */
export const jobNames = ["backup", "anchor", "alert", "import"] as const;

/** A command of this program that a timer starts now and then, as the service's user. */
export type TimerJob = {
  /** The last part of its units' names. */
  readonly name: (typeof jobNames)[number];
  readonly description: string;
  /** The command's words, none of which systemd would read in its own way. */
  readonly words: readonly string[];
  /** When, as systemd's calendar says it, or how often. */
  readonly at: string | { readonly everyMs: number };
  /** The folder that it writes into; null when it writes to none outside the data folder. */
  readonly folder: string | null;
  /** A file that only root can read, which it finds as `sourceAuth` says. */
  readonly sourceAuth?: string | undefined;
};

/** Where a unit finds what `LoadCredential` brings; older systemd has the variable and no specifier for it. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: systemd fills it in
export const sourceAuthPath = "${CREDENTIALS_DIRECTORY}/source-auth";

/** The first line of each file that this program may replace without asking. */
const ownMark = "# Written by `tvs service install`.";

export const userArg = {
  ...option("NAME", "The service's user and name (default tvs)", readUser),
  default: "tvs",
} as const;

/** What was done to each file, and the commands that are left to do. @param more lines between them */
export function reportOf(
  files: readonly { path: string; state: string }[],
  next: readonly string[],
  more: readonly string[] = [],
): string {
  const done = files.map(({ path, state }) => `${state.padEnd(9)}  ${path}`);
  const steps = next.length === 0 ? [] : ["", "Next:", ...next.map((words) => `  ${words}`)];
  return [...done, ...more, ...steps].join("\n");
}

function readUser(user: string, flag: string): string {
  if (/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) return user;
  throw new TvsError("USAGE", `${flag} must be a name of lower-case letters, digits, - and _`);
}

/**
 * @throws TvsError REFUSED for a file that somebody else wrote, and for a link: whose file is at its end cannot be
 * said
 */
export function requireOurs(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isFile() && readFileSync(path, "utf8").startsWith(ownMark)) return;
  const message = `${path} was not written by this command; move it away, or choose another --user`;
  throw new TvsError("REFUSED", message);
}

export const defaultDataDir = (user: string) => `/var/lib/${user}`;

/** The unit's folders. systemd makes and owns /var/lib/NAME itself; any other folder the operator must have made. */
function folders({ user, dataDir }: UnitOptions): string[] {
  if (dataDir === defaultDataDir(user)) return [`StateDirectory=${user}`, "StateDirectoryMode=0700"];
  return [`ReadWritePaths=${dataDir}`];
}

/** A template of this folder with its places (`@user@`) filled in. What the service may not do and use, its jobs may not either. */
function filled(template: string, values: Readonly<Record<string, string>>): string {
  const all: typeof values = { mark: ownMark, hardening: hardening.trimEnd(), ...values };
  return template.replace(/@(\w+)@/g, (_, name: string) => all[name] ?? "");
}

/**
 * The unit. Settings stand in the environment file, so that an update of this program can replace the unit.
 *
 * `MemoryDenyWriteExecute` is missing because a JavaScript engine writes the code that it runs. The private /tmp
 * takes the database engine, which the executable unpacks at its start.
 */
export function unitFile(options: UnitOptions): string {
  const mark = options.origin === "package" ? "# Of the package tvs." : ownMark;
  const { user, executable } = options;
  return filled(service, { mark, user, executable, folders: folders(options).join("\n") });
}

/** The settings file, written once and never replaced: from then on it is the operator's. */
export function environmentFile({ user, dataDir }: UnitOptions): string {
  return filled(settings, { user, dataDir });
}

/** The file with which systemd makes the user (sysusers.d). */
export function usersFile({ user, dataDir }: UnitOptions): string {
  return `${ownMark}\nu ${user} - "Teacher Verification Service" ${dataDir}\n`;
}

/** The unit of a job: it runs once, under what holds for the service too, and its failure shows in systemctl. */
export function jobFile(options: UnitOptions, job: TimerJob): string {
  const { name, description, words, folder, sourceAuth } = job;
  const { user, executable } = options;
  const written = folder === null ? [] : [`ReadWritePaths=${folder}`];
  const credential = sourceAuth === undefined ? [] : [`LoadCredential=source-auth:${sourceAuth}`];
  return filled(jobService, {
    ...{ user, name, description },
    mounts: folder === null ? "" : `\nRequiresMountsFor=${folder}`,
    command: [executable, ...words].join(" ").replaceAll("%", "%%"),
    folders: [...folders(options), ...written, ...credential].join("\n"),
  });
}

/**
 * The timer of a job: what was missed while the machine was off is made up for. One that counts from the last run begins
 * a while after the start, or at once when that is past.
 */
export function timerFile({ user }: UnitOptions, { name, description, at }: TimerJob): string {
  const when =
    typeof at === "string"
      ? `OnCalendar=${at}\nPersistent=true`
      : `OnBootSec=5min\nOnUnitActiveSec=${at.everyMs / 1000}s`;
  return filled(jobTimer, { user, name, description, when });
}
