/** Finds a command's register, and explains why it is missing or cannot be opened. */

import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { CommandLineOptions, Config, Environment } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { envVariableOf, optionNameOf, registerAccessSettings } from "../../src/domain/settings.ts";
import { errorCodeOf } from "../../src/store/driver/files.ts";

/** Describes the location of the register: the data directory, or the value of `--database`. */
export function describeRegisterLocation({ dataDir, database }: Config): string {
  if (database.kind === "file") return dirname(database.file) === dataDir ? dataDir : database.file;
  const { protocol, host } = new URL(database.url);
  return `${protocol}//${host}`;
}

export function missingRegisterError(config: Config): TvsError {
  const location = describeRegisterLocation(config);
  const maker = config.sandbox ? "tvs serve --sandbox" : "tvs init";
  const sandbox = join(config.dataDir, "sandbox.db");
  const isSandboxThere = !config.sandbox && config.database.kind === "file" && existsSync(sandbox);
  const more = isSandboxThere ? "; --sandbox uses the sandbox there" : "";
  return new TvsError("REGISTER_MISSING", `there is no register at ${location}; ${maker} makes one${more}`);
}

/** Whether a database file exists; true for a libSQL server. @throws TvsError REGISTER_CLOSED for an unreadable folder */
export function hasDatabase({ dataDir, database }: Config): boolean {
  if (database.kind === "server") return true;
  try {
    const found = statSync(database.file);
    return !found.isFile() || found.size > 0;
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes(errorCodeOf(cause))) return false;
    const folder = dirname(database.file);
    const owner = ownerOf(folder) ?? ownerOf(dataDir);
    const advice = owner === undefined ? "run this command as its owner" : sudoCommand(owner);
    throw new TvsError("REGISTER_CLOSED", `this user may not read ${folder}; ${advice}`, { cause });
  }
}

/** Refuses root in another user's folder, where a link could lead root to any file. @throws TvsError REGISTER_CLOSED */
export function refuseForeignFolder({ dataDir, database }: Config): void {
  if (process.geteuid?.() !== 0) return;
  for (const folder of database.kind === "file" ? [dataDir, dirname(database.file)] : [dataDir]) {
    const owner = ownerOf(folder) ?? 0;
    if (owner === 0) continue;
    const message = `${folder} belongs to ${nameOf(owner)}, not to root; ${sudoCommand(owner)}`;
    throw new TvsError("REGISTER_CLOSED", message);
  }
}

function ownerOf(folder: string): number | undefined {
  try {
    return statSync(folder).uid;
  } catch {
    return undefined;
  }
}

/** Returns the running command for `sudo -u`, up to the first word that has more than a-z and `-`: the word can be a NIN. */
function sudoCommand(uid: number): string {
  const words = process.argv.slice(2);
  const value = words.findIndex((word) => !/^[a-z-]+$/.test(word));
  const shown = value < 0 ? words : [...words.slice(0, value), "…"];
  return ["sudo -u", nameOf(uid), "tvs", ...shown].join(" ");
}

/** Returns a user's name. If the user has no name, returns the user id in the form that sudo accepts. */
const nameOf = (uid: number) => findUserName(uid) ?? `'#${uid}'`;

export function findUserName(uid: number): string | undefined {
  try {
    const users = readFileSync("/etc/passwd", "utf8").split("\n");
    return users.map((line) => line.split(":")).find((one) => one[2] === String(uid))?.[0];
  } catch {
    return undefined;
  }
}

/**
 * Explains why a folder with only a master key gets no database: a new one could be mistaken for the lost database.
 * @returns null if the folder has no master key, or for a sandbox
 */
export function lostDatabaseError({ database, masterKeyFile, sandbox }: Config): TvsError | null {
  if (sandbox || !existsSync(masterKeyFile)) return null;
  const name = basename(masterKeyFile);
  const lost =
    database.kind === "server"
      ? `the database at ${database.url} is empty`
      : `its database ${basename(database.file)} is missing`;
  const remedy = `put the database back, or restore a backup; for a new register, move ${name} to another place first`;
  return new TvsError("REFUSED", `${masterKeyFile} exists, but ${lost}: ${remedy}`);
}

const settingsFile = "/etc/tvs/tvs.env";
const registerVariables = Object.keys(registerAccessSettings).map((name) =>
  envVariableOf(optionNameOf(name)),
);

/**
 * Adds the installed service's settings to the environment, unless the command names a register. The settings are
 * read from the file that `TVS_SERVICE_SETTINGS` names, else from /etc/tvs/tvs.env.
 * @param all true adds every setting; false adds only the register's location
 * @returns the environment, and the file of the added settings; undefined if none were added
 * @throws TvsError CONFIG_INVALID if ./data has a register too or other users can write the file; REGISTER_CLOSED if
 *   this user may not read the file
 */
export function addServiceSettings(
  flags: CommandLineOptions,
  environment: Environment,
  { all = false, usual = settingsFile }: { all?: boolean; usual?: string } = {},
): { file: string | undefined; environment: Environment } {
  const own = { file: undefined, environment };
  const namesRegister = ["data", "database", "sandbox"].some(
    (name) => (flags[name] || environment[`TVS_${name.toUpperCase()}`] || "") !== "",
  );
  if (namesRegister) return own;
  const named = environment.TVS_SERVICE_SETTINGS;
  const file = named || (existsSync(usual) ? usual : undefined);
  if (file === undefined) return own;
  if (!named && existsSync(resolve("data", "tvs.db"))) {
    const message = `there is a register in ./data, and another one of the service that ${file} describes; choose one with --data or TVS_DATA`;
    throw new TvsError("CONFIG_INVALID", message);
  }
  const found = parseEnvironmentFile(readTrustedFile(file)).filter(
    ([name]) => all || registerVariables.includes(name),
  );
  const settings = Object.fromEntries(found);
  if (settings.TVS_DATA === undefined && settings.TVS_DATABASE === undefined) return own;
  // Drops empty variables: config.ts treats them as unset, so they must not replace a setting of the file.
  const filled = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  return { file, environment: { ...settings, ...filled } };
}

/** Reads a settings file. A file that other users can write is refused, because they could name another register. */
function readTrustedFile(file: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const { uid, mode } = fstatSync(descriptor);
    const isOurs = uid === 0 || uid === process.geteuid?.();
    if (isOurs && (mode & 0o022) === 0) return readFileSync(descriptor, "utf8");
  } catch (cause) {
    if (!["EACCES", "EPERM"].includes(errorCodeOf(cause))) {
      const message = `${file} cannot be read; it must be a file, not a link`;
      throw new TvsError("CONFIG_INVALID", message, { cause });
    }
    const user = basename(file, ".env");
    const message = `this user may not read ${file}, the settings of the service on this machine; use sudo -u ${user} tvs …, or give --data`;
    throw new TvsError("REGISTER_CLOSED", message, { cause });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  const message = `${file} is not used, because users other than root can write it: chown root ${file}; chmod go-w ${file}`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** Parses an environment file of systemd. Relative paths start at /, the folder in which systemd starts services. */
function parseEnvironmentFile(text: string): (readonly [name: string, value: string])[] {
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
