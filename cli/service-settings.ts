/** What `tvs service install` has written, for a command that was not told where its register is. */

import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Environment, Flags } from "../src/config.ts";
import { TvsError } from "../src/domain/errors.ts";

const settingsFolder = "/etc/tvs";
/** Where the register is, and what opens it. All else the database remembers, from the service itself. */
const placeNames = ["TVS_DATA", "TVS_DATABASE", "TVS_DATABASE_TOKEN", "TVS_MASTER_KEY", "TVS_SANDBOX"];

export type ServiceSettings = {
  /** The settings file; undefined when the command goes by its own flags and environment. */
  readonly file: string | undefined;
  readonly environment: Environment;
};

/**
 * Adds the installed service's settings to the environment of a command that was told neither by a flag nor by a
 * variable where the register is. The file is the one that `TVS_SERVICE_SETTINGS` names, else the only one in
 * /etc/tvs. Where the current folder has a register too, nobody can know which one is meant.
 * @param all every setting, as the service itself has them, and not only where the register is
 * @throws TvsError CONFIG_INVALID when it is not clear which register is meant, or the file cannot be trusted;
 *   REGISTER_CLOSED when this user may not read it
 */
export function serviceSettings(
  flags: Flags,
  environment: Environment,
  { all = false, folder = settingsFolder }: { all?: boolean; folder?: string } = {},
): ServiceSettings {
  const own = { file: undefined, environment };
  const isTold = ["data", "database", "sandbox"].some(
    (name) => (flags[name] || environment[`TVS_${name.toUpperCase()}`] || "") !== "",
  );
  if (isTold) return own;
  const named = environment.TVS_SERVICE_SETTINGS;
  const file = named || theOnlyFile(folder);
  if (file === undefined) return own;
  if (!named && existsSync(resolve("data", "tvs.db"))) {
    const message = `there is a register in ./data, and one of the service that ${file} describes; --data or TVS_DATA says which is meant`;
    throw new TvsError("CONFIG_INVALID", message);
  }
  const found = parse(readTrusted(file)).filter(([name]) => all || placeNames.includes(name));
  const settings = Object.fromEntries(found);
  if (settings.TVS_DATA === undefined && settings.TVS_DATABASE === undefined) return own;
  // An empty variable tells nothing (config.ts), so it must not hide what the file tells.
  const told = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  return { file, environment: { ...settings, ...told } };
}

function theOnlyFile(folder: string): string | undefined {
  const names = existsSync(folder)
    ? readdirSync(folder)
        .sort()
        .filter((name) => name.endsWith(".env"))
    : [];
  if (names.length < 2) return names[0] === undefined ? undefined : join(folder, names[0]);
  const message = `${folder} has the settings of several services (${names.join(", ")}); --data or TVS_DATA says which register is meant`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** Whoever can write the file could send every command to a register of their own. */
function readTrusted(file: string): string {
  const descriptor = openSettings(file);
  try {
    const { uid, mode } = fstatSync(descriptor);
    const isOurs = uid === 0 || uid === process.geteuid?.();
    if (isOurs && (mode & 0o022) === 0) return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
  const message = `${file} is not used, because others than root can write it: chown root ${file}; chmod go-w ${file}`;
  throw new TvsError("CONFIG_INVALID", message);
}

function openSettings(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (cause) {
    const user = basename(file, ".env");
    if (!["EACCES", "EPERM"].includes((cause as { code?: string }).code ?? "")) {
      throw new TvsError("CONFIG_INVALID", `${file} cannot be read; it must be a file and no link`, {
        cause,
      });
    }
    const message = `this user may not read ${file}, the settings of the service on this machine: sudo -u ${user} tvs …, or say --data`;
    throw new TvsError("REGISTER_CLOSED", message, { cause });
  }
}

/** As systemd reads it: a setting a line, comments from `#` or `;`, quotes around a value. Paths start at the root. */
function parse(text: string): (readonly [name: string, value: string])[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*(TVS_[A-Z_]+)\s*=\s*(.*?)\s*$/.exec(line);
    if (match === null) return [];
    const [, name = "", written = ""] = match;
    const value = /^(["'])(.*)\1$/.exec(written)?.[2] ?? written;
    if (value === "") return [];
    if (name === "TVS_DATA") return [[name, resolve("/", value)] as const];
    if (name === "TVS_DATABASE") return [[name, value.replace(/^file:(?!\/)/, "file:/")] as const];
    return [[name, value] as const];
  });
}
