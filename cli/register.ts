/** Where the register is, whether there is one, and what to say where there is none. */

import { existsSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Config } from "../src/config.ts";
import { TvsError } from "../src/domain/errors.ts";

/** The place in words for a message: the data directory, or what `--database` named. */
export function placeOf(config: Config): string {
  return whereIs(config).place;
}

function whereIs({ dataDir, database }: Config): { place: string; options: string } {
  const options = "--database or TVS_DATABASE";
  if (database.kind === "server") {
    // The rest of an address may hold a password or a token.
    const { protocol, host } = new URL(database.url);
    return { place: `${protocol}//${host}`, options };
  }
  if (dirname(database.file) !== dataDir) return { place: database.file, options };
  return { place: dataDir, options: "--data or TVS_DATA" };
}

/** What every command says that does not make a register. */
export function noRegister(config: Config): TvsError {
  const { place, options } = whereIs(config);
  const sandbox = join(config.dataDir, "sandbox.db");
  const isSandboxThere = !config.sandbox && config.database.kind === "file" && existsSync(sandbox);
  const more = isSandboxThere ? ", --sandbox means the sandbox that is there" : "";
  return new TvsError(
    "REGISTER_MISSING",
    `there is no register at ${place}; ${options} says where it is${more}`,
  );
}

/**
 * Whether there is a database to open: opening a file that is missing would make it. A server always counts.
 * @throws TvsError REGISTER_CLOSED when this user may not look
 */
export function hasDatabase({ dataDir, database }: Config): boolean {
  if (database.kind === "server") return true;
  const found = look(database.file, dataDir);
  return found !== undefined && (!found.isFile() || found.size > 0);
}

function look(file: string, dataDir: string): Stats | undefined {
  try {
    return statSync(file);
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const owner = ownerOf(dirname(file)) ?? ownerOf(dataDir);
    const advice = owner === undefined ? "run this command as its owner" : `sudo -u ${owner} tvs …`;
    throw new TvsError("REGISTER_CLOSED", `this user may not look into ${dirname(file)}; ${advice}`, {
      cause,
    });
  }
}

/** The name of a folder's owner, or its number in the form that sudo takes. */
function ownerOf(folder: string): string | undefined {
  try {
    const { uid } = statSync(folder);
    const line = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((one) => one.split(":")[2] === String(uid));
    return line?.split(":")[0] ?? `'#${uid}'`;
  } catch {
    return undefined;
  }
}

/**
 * A master key without its database means that the database was moved away or lost, and a new one beside it would be
 * taken for it. A sandbox may be thrown away like that.
 * @throws TvsError REFUSED
 */
export function refuseLoneKey({ database, masterKeyFile, sandbox }: Config): void {
  if (sandbox || database.kind === "server" || !existsSync(masterKeyFile)) return;
  const name = basename(masterKeyFile);
  const message =
    `${masterKeyFile} is there and its database ${basename(database.file)} is not: put the database back, or ` +
    `restore a backup; for a new register, keep ${name} in another place first`;
  throw new TvsError("REFUSED", message);
}
