/** `tvs service install`: the service as systemd runs it. */

import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import { TvsError } from "../../src/domain/errors.ts";
import { placeOver, writeBeside } from "../../src/store/driver/files.ts";
import { command, flag, group, option } from "../command.ts";
import { programFlaw } from "../doctor/alerts.ts";
import { isExecutable } from "../program.ts";
import { note, print } from "../terminal/output.ts";
import { rememberImportTimer } from "./import-timer.ts";
import { absolute, checkImport, importTimerOf, isHidden, readTimerJobs, timerArgs } from "./timers.ts";
import {
  defaultDataDir,
  environmentFile,
  jobFile,
  jobNames,
  reportOf,
  requireOurs,
  type TimerJob,
  timerFile,
  type UnitOptions,
  unitFile,
  userArg,
  usersFile,
} from "./units.ts";

// `tvs service uninstall`: what `service install` wrote is taken away again, and nothing else.

const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** The units of a service; those of its jobs alone with `timersOnly`. */
function unitsOf(user: string, timersOnly: boolean): string[] {
  const jobs = jobNames.flatMap((job) => [`${user}-${job}.timer`, `${user}-${job}.service`]);
  return timersOnly ? jobs : [...jobs, `${user}.service`];
}

/** Where systemd has a link to a unit while it is enabled. */
const wanting = ["timers.target.wants", "multi-user.target.wants"];

const uninstallCommand = command({
  ...words["service uninstall"],
  args: { user: userArg, root: option("DIR"), timers: flag(), print: flag() },
  async run({ args }) {
    const { user, root = "/" } = args;
    const units = unitsOf(user, args.timers === true);
    const folder = join(root, "etc/systemd/system");
    const paths = [
      ...units.map((name) => join(folder, name)),
      ...(args.timers === true ? [] : [join(root, `etc/sysusers.d/${user}.conf`)]),
    ].filter(isThere);
    for (const path of paths) requireOurs(path);
    requireDisabled(folder, units);
    if (args.print !== true) for (const path of paths) remove(path);
    const state = args.print === true ? "found" : "removed";
    const files = paths.map((path) => ({ path, state }));
    const next = args.print === true || files.length === 0 ? [] : ["sudo systemctl daemon-reload"];
    if (args.print !== true) await rememberImportTimer(user, root, null);
    const kept = `kept       /etc/tvs/${user}.env, the data, the backups and the user`;
    const nothing = "nothing of this service is installed";
    print(args, { files, next }, () => (files.length === 0 ? nothing : reportOf(files, next, [kept])));
  },
});

/** @throws TvsError REFUSED: what systemd has a link to, it would look for at the next start */
function requireDisabled(folder: string, units: readonly string[]): void {
  const enabled = units.filter((name) => wanting.some((target) => isThere(join(folder, target, name))));
  if (enabled.length === 0) return;
  throw new TvsError("REFUSED", `still enabled; first: sudo systemctl disable --now ${enabled.join(" ")}`);
}

function remove(path: string): void {
  try {
    rmSync(path);
  } catch (cause) {
    throw new TvsError("REFUSED", `${path} cannot be removed; run this as root, or give --root DIR`, {
      cause,
    });
  }
}

const installCommand = command({
  ...words["service install"],
  args: {
    user: userArg,
    executable: option("FILE", absolute),
    root: option("DIR"),
    print: flag(),
    ...timerArgs,
  },
  async run({ args }) {
    const { user, data = defaultDataDir(user), root = "/", print: isPrinted = false } = args;
    const executable = args.executable ?? absolute(thisExecutable(isPrinted), "--executable");
    const options = { user, dataDir: absolute(data, "--data"), executable };
    const jobs = readTimerJobs(args);
    if (isPrinted) {
      const unit = unitFile(options);
      const timers = Object.fromEntries(timerFiles(options, jobs));
      print(args, { unit, environment: environmentFile(options), users: usersFile(options), timers }, () =>
        [unit, ...Object.entries(timers).map(([name, content]) => `# ${name}\n${content}`)].join("\n"),
      );
      return;
    }
    if (args["alert-command"] !== undefined) requireProgram(args["alert-command"], root);
    checkImport(args);
    const files = await install(options, jobs, root);
    const isPackaged = packagedUnit(options, root) !== undefined;
    const next = nextCommands(options, jobs, isPackaged);
    const timer = importTimerOf(args);
    if (timer !== null) await rememberImportTimer(user, root, timer);
    print(args, { files, next }, () => reportOf(files, next));
  },
});

export const serviceCommand = group("Install tvs as a systemd service, or remove it", {
  install: async () => installCommand,
  uninstall: async () => uninstallCommand,
});

/**
 * Where the service finds this executable. What is only printed may name where it is to be.
 * @throws TvsError USAGE for what the service could not run
 */
function thisExecutable(isPrinted: boolean): string {
  const path = process.execPath;
  if (!isExecutable(path)) {
    throw new TvsError(
      "USAGE",
      "run this with the tvs executable, or name it: --executable /usr/local/bin/tvs",
    );
  }
  if (isHidden(path)) {
    const installed = "/usr/local/bin/tvs";
    const copy = `\`sudo install -m 755 ${path} ${installed}\``;
    if (!isPrinted)
      throw new TvsError("USAGE", `the service cannot see ${path}; copy it first, ${copy}, and use that one`);
    note(`the service cannot see ${path}: this names ${installed}, which ${copy} makes`);
    return installed;
  }
  return path;
}

/** @throws TvsError USAGE for a program that the alerts' unit could not run */
function requireProgram(path: string, root: string): void {
  const flaw = isHidden(path) ? "is where the service sees nothing" : programFlaw(join(root, path));
  if (flaw !== null) throw new TvsError("USAGE", `--alert-command ${path} ${flaw}`);
}

type Written = { readonly path: string; readonly state: "written" | "unchanged" | "kept" };

function timerFiles(options: UnitOptions, jobs: readonly TimerJob[]): [name: string, content: string][] {
  return jobs.flatMap((job): [string, string][] => [
    [`${options.user}-${job.name}.service`, jobFile(options, job)],
    [`${options.user}-${job.name}.timer`, timerFile(options, job)],
  ]);
}

/**
 * The unit that the Debian package has brought; undefined where there is none. One of ours below /etc would hide it, and
 * the next upgrade could not replace that.
 */
function packagedUnit({ user, executable }: UnitOptions, root: string): string | undefined {
  const path = join(root, "usr/lib/systemd/system", `${user}.service`);
  const isOurs = existsSync(path) && readFileSync(path, "utf8").includes(`\nExecStart=${executable} serve\n`);
  return isOurs ? path : undefined;
}

async function install(options: UnitOptions, jobs: readonly TimerJob[], root: string): Promise<Written[]> {
  const packaged = packagedUnit(options, root);
  const service = packaged === undefined ? [[`${options.user}.service`, unitFile(options)]] : [];
  const units = [...service, ...timerFiles(options, jobs)].map(([name = "", content = ""]) => ({
    path: join(root, "etc/systemd/system", name),
    content,
  }));
  const users = join(root, `etc/sysusers.d/${options.user}.conf`);
  const environment = join(root, `etc/tvs/${options.user}.env`);
  for (const path of [...units.map(({ path }) => path), users]) requireOurs(path);
  // systemd's files are read by everybody; only the settings, which may hold a key, are not.
  const umask = process.umask(0o022);
  try {
    const written: Written[] = [
      packaged === undefined
        ? await put(users, usersFile(options), 0o644)
        : { path: packaged, state: "kept" },
      lstatSync(environment, { throwIfNoEntry: false }) !== undefined
        ? { path: environment, state: "kept" }
        : await put(environment, environmentFile(options), 0o600),
    ];
    for (const { path, content } of units) written.push(await put(path, content, 0o644));
    return written;
  } catch (cause) {
    const message = `the files below ${join(root, "etc")} cannot be written; run this as root, or give --root DIR`;
    throw new TvsError("REFUSED", message, { cause });
  } finally {
    process.umask(umask);
  }
}

/** Writes a file whole: a reader finds the old one or the new one, never a half. */
async function put(path: string, content: string, mode: number): Promise<Written> {
  if (existsSync(path) && readFileSync(path, "utf8") === content) return { path, state: "unchanged" };
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  placeOver(await writeBeside(path, content, mode), path);
  return { path, state: "written" };
}

/** The commands that are left to do. The package has made the user, the folder and the settings. */
function nextCommands(
  { user, executable, dataDir }: UnitOptions,
  jobs: readonly TimerJob[],
  isPackaged: boolean,
): string[] {
  const unlessPackaged = (...words: string[]) => (isPackaged ? [] : words);
  const folders = jobs.flatMap(({ folder }) => folder ?? []);
  return [
    ...unlessPackaged(
      "sudo systemd-sysusers",
      `sudo chgrp ${user} /etc/tvs/${user}.env   # so that commands find the register by it`,
      `sudo chmod 640 /etc/tvs/${user}.env`,
      `sudo install -d -o ${user} -g ${user} -m 700 ${dataDir}`,
      `sudo -u ${user} ${executable} init   # where there is no register yet: its public URL, its name and more`,
    ),
    ...folders.map((folder) => `sudo install -d -o ${user} -g ${user} -m 750 ${folder}`),
    "sudo systemctl daemon-reload",
    ...[user, ...jobs.map(({ name }) => `${user}-${name}.timer`)].map(
      (unit) => `sudo systemctl enable --now ${unit}`,
    ),
    ...unlessPackaged(`journalctl -u ${user} -n 20 -o cat`, `sudo -u ${user} ${executable} status`),
  ];
}
