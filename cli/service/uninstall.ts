/** `tvs service uninstall`: what `service install` wrote is taken away again, and nothing else. */

import { lstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { command, flag, option } from "../command.ts";
import { print } from "../terminal/output.ts";
import { rememberImportTimer } from "./import-timer.ts";
import { jobNames, reportOf, requireOurs, userArg } from "./units.ts";

const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** The units of a service; those of its jobs alone with `timersOnly`. */
function unitsOf(user: string, timersOnly: boolean): string[] {
  const jobs = jobNames.flatMap((job) => [`${user}-${job}.timer`, `${user}-${job}.service`]);
  return timersOnly ? jobs : [...jobs, `${user}.service`];
}

/** Where systemd has a link to a unit while it is enabled. */
const wanting = ["timers.target.wants", "multi-user.target.wants"];

export const uninstallCommand = command({
  description:
    "Remove the units that `service install` wrote. Refused while one of them is enabled; settings, data, backups and the " +
    "user stay",
  example: "sudo tvs service uninstall\n  sudo tvs service uninstall --timers",
  args: {
    user: userArg,
    root: option("DIR", "Remove below DIR instead of /"),
    timers: flag("Only the timers of backups, anchors, alerts and imports"),
    print: flag("Print what would be removed and remove nothing"),
  },
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
