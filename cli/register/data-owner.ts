/** Root over another user's data folder becomes that user: nothing there is ever done with root's rights (D1.11). */

import { accessSync, constants, lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, isAbsolute, join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { codeOf } from "../../src/store/driver/files.ts";
import { isExecutable } from "../program.ts";
import { note } from "../terminal/output.ts";

/** More links than this on the way to a folder lead in a circle; Linux gives up at the same number. */
const maxLinks = 40;
const [othersMayWrite, sticky] = [0o022, 0o1000];

/** Somebody who owns a data folder, as /etc/passwd has them. */
type User = { readonly name: string; readonly gid: number };
/** A folder, or a link, on the way to a data folder. */
type Step = { readonly path: string; readonly found: Stats };
/** The runtime's calls; the types that we have do not know all of them. */
type Becoming = {
  readonly initgroups?: (name: string, gid: number) => void;
  readonly setgid?: (gid: number) => void;
  readonly setuid?: (uid: number) => void;
};
type Acting = { readonly name: string; readonly folder: string };

let acting: Acting | undefined;

/** What a failure that root would not have had is to say as well; empty where root has become nobody. */
export function ownerRemark(error: Error): string {
  if (acting === undefined) return "";
  const { name, folder } = acting;
  const isDenied = [error, error.cause].some((one) => ["EACCES", "EPERM"].includes(codeOf(one)));
  if (!isDenied && !/cannot (open|be (created|entered|read|written))/.test(error.message)) return "";
  return `; root acts as ${name} here, the owner of ${folder}, so the user ${name} must be allowed to do that`;
}

/**
 * Becomes the owner of the folders that hold the register, when root runs the command and they are not root's. What
 * such a user has put there, a link for example, then leads no further than that user can go. Called before anything
 * there is opened, and again when a folder was made.
 * @throws TvsError REGISTER_CLOSED where that cannot be done, or where nobody can say whose the register is
 */
export function becomeOwner(...configs: readonly Config[]): void {
  if (process.geteuid?.() !== 0) return;
  const owners = new Map<number, string>();
  for (const folder of configs.flatMap(foldersOf)) {
    const uid = holderOf(folder);
    if (uid !== 0 && !owners.has(uid)) owners.set(uid, folder);
  }
  const [first, second] = owners;
  if (first === undefined) return;
  if (second !== undefined)
    throw closed(`${first[1]} belongs to ${nameOf(first[0])} and ${second[1]} to ${nameOf(second[0])}`);
  become(...first);
}

function foldersOf({ dataDir, database }: Config): string[] {
  return database.kind === "file" ? [dataDir, dirname(database.file)] : [dataDir];
}

/**
 * Who decides what stands at a path: its owner, or the owner of the folder in which it will be made. Whoever else owns a
 * folder or a link on the way could put another folder there at any moment, so then nobody can tell.
 * @returns the user id; 0 when root alone decides
 */
function holderOf(folder: string): number {
  const { steps, isThere } = stepsTo(folder);
  const last = steps.at(-1);
  const uid = last?.found.uid ?? 0;
  const other = steps.find(({ found }) => found.uid !== 0 && found.uid !== uid);
  if (other !== undefined) {
    const whose = `${folder} belongs to ${nameOf(uid)}, but ${other.path} to ${nameOf(other.found.uid)}`;
    throw closed(`${whose}, who can put something else in its place`);
  }
  const open = steps.find((step) => isOpen(step, isThere && step === last));
  if (uid === 0 && open !== undefined) {
    const advice = `chmod go-w ${open.path}, or chown ${folder} to the service's user`;
    throw closed(`${folder} belongs to root, and others can write in ${open.path}`, advice);
  }
  return uid;
}

/** In a folder with the sticky bit others can make names, but not take one away: it may only be on the way. */
function isOpen({ found }: Step, isEnd: boolean): boolean {
  if (found.isSymbolicLink() || (found.mode & othersMayWrite) === 0) return false;
  return isEnd || (found.mode & sticky) === 0;
}

/** The folders and links that lead to a folder, from the root on, as far as they exist; at last the folder itself. */
function stepsTo(folder: string): { steps: Step[]; isThere: boolean } {
  const { root } = parse(folder);
  const steps: Step[] = [];
  const names = folder.slice(root.length).split("/");
  let [at, links] = [root, 0];
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    steps.push({ path: at, found: lstatSync(at) });
    const path = join(at, name);
    const found = look(path);
    if (found === undefined) return { steps, isThere: false };
    if (!found.isSymbolicLink()) at = path;
    else if (++links > maxLinks) throw closed(`the links on the way to ${folder} lead in a circle`);
    else {
      steps.push({ path, found });
      const target = readlinkSync(path);
      if (isAbsolute(target)) at = parse(target).root;
      names.unshift(...target.split("/").filter((one) => one !== ""));
      steps.push({ path: at, found: lstatSync(at) });
    }
  }
  return { steps: [...steps, { path: at, found: lstatSync(at) }], isThere: true };
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(cause))) return undefined;
    throw closed(`nobody can tell whose ${path} is`, undefined, cause);
  }
}

/** Gives up root's groups, group and user for this process and all that it starts, for good. */
function become(uid: number, folder: string): void {
  const user = userOf(uid);
  const whose = `${folder} belongs to ${nameOf(uid)}`;
  if (user === undefined)
    throw closed(`${whose}, whom /etc/passwd does not name, so root cannot become that user`);
  const { initgroups, setgid, setuid } = process as Becoming;
  // Deno has only the last two, and root's groups would stay.
  if (initgroups === undefined || setgid === undefined || setuid === undefined)
    throw closed(`${whose}, and on this runtime root cannot become that user`, adviceFor(user.name));
  try {
    initgroups(user.name, user.gid);
    setgid(user.gid);
    setuid(uid);
  } catch (cause) {
    throw closed(`${whose}, and root may not become that user here`, adviceFor(user.name), cause);
  }
  requireSource(user.name);
  acting = { name: user.name, folder };
  note(`root becomes ${user.name}, the owner of ${folder}, for this command`);
}

/** The source is loaded piece by piece, from a folder that may be root's alone. */
function requireSource(name: string): void {
  if (isExecutable()) return;
  const source = dirname(fileURLToPath(import.meta.url));
  try {
    accessSync(source, constants.R_OK | constants.X_OK);
  } catch (cause) {
    throw closed(`root became ${name}, who may not read this program in ${source}`, "move it", cause);
  }
}

const adviceFor = (name: string) => `sudo -u ${name} tvs …`;

function closed(problem: string, advice = "run this command as the register's user", cause?: unknown) {
  return new TvsError("REGISTER_CLOSED", `${problem}; ${advice}`, { cause });
}

/** Finds a user in /etc/passwd; undefined where it has none of that number, or there is no such file, and where users are kept elsewhere. */
export function userOf(uid: number): User | undefined {
  try {
    const lines = readFileSync("/etc/passwd", "utf8").split("\n");
    const [name, , , gid] = lines.map((line) => line.split(":")).find((one) => one[2] === String(uid)) ?? [];
    return name === undefined ? undefined : { name, gid: Number(gid) };
  } catch {
    return undefined;
  }
}

/** A user's name, or what stands for it where sudo and chown take one. */
export function nameOf(uid: number): string {
  return userOf(uid)?.name ?? `'#${uid}'`;
}
