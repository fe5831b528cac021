import { randomUUID } from "node:crypto";
import { closeSync, lstatSync, openSync, realpathSync, rmSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Config } from "../../src/config.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { errorCodeOf, placeNewFile, replaceFile, writeTemporaryFile } from "../../src/store/driver/files.ts";

type OutputFile = {
  readonly path: string;
  /** Writes the file, which gets its name only when the content is complete. @throws TvsError REFUSED */
  write(content: string | AsyncIterable<string>): Promise<void>;
};

type OutputRequest = {
  readonly flag: string;
  readonly path: string;
  readonly force: boolean | undefined;
  readonly config: Config;
  readonly inputs?: readonly string[];
};

/** Matches what a file of the database has in its name after the database's own name: nothing, `-wal` or `.lock`, for example. */
const sideNames = /^(-wal|-shm|-journal|\.lock(-journal)?|\.(replaced|restoring)-.*)?$/;
const keyNames = ["master.key", "sandbox-master.key"];

/** Checks that a file can be written, and replaces no master key, database or input (decision D1.6). @throws TvsError USAGE */
export function prepareOutputFile(request: OutputRequest): OutputFile {
  const path = withoutLinks(request);
  refuseOwnFiles(path, request);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined) refuseExisting(path, found, request);
  tryFolder(path, request.flag);
  return { path, write: (content) => write(path, content, request) };
}

/** Checks a path like {@link prepareOutputFile}. @returns undefined if no path was given */
export function prepareOptionalOutputFile(
  request: Omit<OutputRequest, "path"> & { path: string | undefined },
) {
  const { path } = request;
  return path === undefined ? undefined : prepareOutputFile({ ...request, path });
}

function withoutLinks({ flag, path }: OutputRequest): string {
  const folder = dirname(resolve(path));
  if (path === "-") throw new TvsError("USAGE", `${flag} must be the path of a file; - is none`);
  if (/(^|[\\/])\.{0,2}$/.test(path))
    throw new TvsError("USAGE", `${flag} must be the path of a file, not of a folder`);
  try {
    return join(realpathSync(folder), basename(resolve(path)));
  } catch (cause) {
    const problem =
      errorCodeOf(cause) === "EACCES"
        ? `${folder} cannot be entered by this user; choose another folder`
        : `there is no folder ${folder}; create it, or choose another`;
    throw new TvsError("USAGE", `${flag}: ${problem}`, { cause });
  }
}

function refuseOwnFiles(path: string, { flag, config }: OutputRequest): void {
  const { dataDir, database, masterKeyFile } = config;
  const [folder, name] = [dirname(path), basename(path)];
  const isKey = keyNames.includes(name) && folder === realOf(dirname(masterKeyFile));
  const file = database.kind === "file" ? database.file : null;
  const files = file === null ? [] : [join(realOf(dirname(file)), basename(file)), realOf(file)];
  const isBesideDatabase = files.some(
    (one) => path.startsWith(one) && sideNames.test(path.slice(one.length)),
  );
  if (!isKey && !isBesideDatabase && !isWithin(dataDir, path)) return;
  const message = `${flag}: ${path} belongs to the register; write to a file outside ${dataDir}`;
  throw new TvsError("USAGE", message);
}

/** Whether a path is within a folder. Inodes are compared, because a mount can give a folder a second name. */
function isWithin(folder: string, path: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  for (let above = dirname(path), below = path; above !== below; [above, below] = [dirname(above), above]) {
    const { ino, dev } = statSync(above);
    if (ino === found?.ino && dev === found.dev) return true;
  }
  return false;
}

/** Resolves symbolic links in the part of a path that exists. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
}

function refuseExisting(path: string, found: Stats, { flag, force, inputs = [] }: OutputRequest): void {
  const refusal = (problem: string) => new TvsError("USAGE", `${flag}: ${path} ${problem}`);
  if (found.isSymbolicLink()) throw refusal("is a symbolic link; name the file itself, or another one");
  if (!found.isFile()) throw refusal("is not a file; choose another name");
  for (const input of inputs) {
    const read = statSync(input, { throwIfNoEntry: false });
    if (read?.ino === found.ino && read.dev === found.dev)
      throw refusal("is a file that the command reads; choose another name");
  }
  if (!force) throw refusal("already exists; choose another name, or replace it with --force");
}

function tryFolder(path: string, flag: string): void {
  const probe = join(dirname(path), `.tvs-${randomUUID()}`);
  try {
    closeSync(openSync(probe, "wx", 0o600));
    rmSync(probe);
  } catch (cause) {
    const message = `${flag}: ${path} cannot be written; check its folder (${errorCodeOf(cause)})`;
    throw new TvsError("USAGE", message, { cause });
  }
}

/** Writes the file. If another program took the file's name during the work, the output keeps its temporary name. */
async function write(path: string, content: string | AsyncIterable<string>, { force }: OutputRequest) {
  const temporary = await writeTemporaryFile(path, content).catch((cause) => {
    const code = errorCodeOf(cause);
    // An error from the making of the content is passed on. Only an error of the file gets the message below.
    if (code === "" || isTvsError(cause)) throw cause;
    const message = `${path} could not be written (${code}); check its folder and the disk`;
    throw new TvsError("REFUSED", message, { cause });
  });
  try {
    if (force) replaceFile(temporary, path);
    else placeNewFile(temporary, path);
  } catch (cause) {
    const message = `${path} was created by another program; the output is in ${temporary}`;
    throw new TvsError("REFUSED", message, { cause });
  }
}
