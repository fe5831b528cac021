/** Where an extract comes from: a file of this machine, or one that another machine hands out (decision D7.14). */

import { Buffer } from "node:buffer";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { type ArgsOf, flag, option } from "../command.ts";
import { parseDuration } from "../terminal/output.ts";

export type ImportSource = {
  readonly kind: "file" | "https" | "sftp";
  /** As messages and the register call it: without a user and without a query, which may be secrets. */
  readonly name: string;
  /** What the import is recorded as, and by which its format is told. */
  readonly fileName: string;
  /** The file's path, or the address. */
  readonly place: string;
};

/** The options of who imports from a source, and of who installs a timer for it. */
export const sourceArgs = {
  "source-auth": option(
    "FILE",
    "What an https source asks for: a file of mode 0600 with one line, user:password or Bearer TOKEN",
  ),
  "allow-private-source": flag("Take an extract from a private or loopback address"),
} as const;

/** @throws TvsError USAGE, which never repeats what may be secret */
export function parseSource(text: string, args: Partial<ArgsOf<typeof sourceArgs>> = {}): ImportSource {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  const kind = scheme?.toLowerCase() ?? "file";
  if (kind !== "file" && kind !== "https" && kind !== "sftp")
    throw usage(`an extract is not fetched by ${kind}; give a file, or an https or sftp address`);
  if (kind !== "https" && args["source-auth"] !== undefined)
    throw usage("--source-auth goes with an https address; sftp takes its key from the system's ssh");
  if (kind !== "file") return addressOf(kind, text);
  if (scheme !== undefined) throw usage("an extract on this machine is named by its path, without file://");
  if (args["allow-private-source"] === true)
    throw usage("--allow-private-source goes with an https or sftp address");
  return { kind: "file", name: resolve(text), fileName: basename(text), place: text };
}

function addressOf(kind: "https" | "sftp", text: string): ImportSource {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === "" || url.port === "0") throw usage("the address cannot be read");
  if (url.password !== "") throw usage("an address with a password in it is refused; --source-auth takes it");
  if (kind === "https" && url.username !== "")
    throw usage("an https address with a user in it is refused; --source-auth takes user and password");
  if (url.hash !== "") throw usage("the address has a fragment; leave # and what follows away");
  if (kind === "sftp") requirePlain(url);
  const path = decodedPath(url);
  const fileName = path.slice(path.lastIndexOf("/") + 1);
  if (fileName === "" && kind === "sftp") throw usage("the sftp address names no file");
  const name = `${url.protocol}//${url.host}${url.pathname}`;
  return { kind, name, fileName: fileName === "" ? url.hostname : fileName, place: url.href };
}

/** What stands in a command line of ssh or is read by sftp: nothing there may be an option, a pattern or a quote. */
function requirePlain(url: URL): void {
  const { hostname, search } = url;
  if (!/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/i.test(hostname))
    throw usage("the host of an sftp address is a name of letters, digits, - and dots, or an IP address");
  if (!/^([a-z0-9_][a-z0-9_.@-]*)?$/i.test(decodeURIComponent(url.username)))
    throw usage("the user of an sftp address is of letters, digits, and _ . @ -");
  if (search !== "" || /[\p{Cc}"'\\*?[\]{}]/u.test(decodedPath(url)))
    throw usage("the path of an sftp address has a character that is a pattern or a quote there");
}

function decodedPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw usage("the path of the address cannot be read; a % begins two hexadecimal digits");
  }
}

/** More often no registry's file changes, and each run asks its server. */
const leastEveryMs = 5 * 60_000;

/** @returns milliseconds. @throws TvsError USAGE */
export function parseEvery(text: string, flag: string): number {
  const everyMs = parseDuration(text, flag);
  if (everyMs < leastEveryMs) throw usage(`${flag} must be at least 5m`);
  return everyMs;
}

/** More than any password or token. */
const maxAuthBytes = 4096;

/**
 * Reads what a source asks for, from a file that nobody else can read.
 * @returns the value of `Authorization`
 * @throws TvsError INPUT_UNREADABLE
 */
export function readSourceAuth(file: string): string {
  const line = readPrivate(file).replace(/\r?\n$/, "");
  if (/^Bearer [\x21-\x7e]+$/.test(line)) return line;
  if (!/^[^:\p{Cc}]+:[^\p{Cc}]+$/u.test(line))
    throw unusable(file, "it must have one line, user:password or Bearer TOKEN");
  return `Basic ${Buffer.from(line).toString("base64")}`;
}

function readPrivate(file: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw unusable(file, "it is not a file");
    requirePrivate(file, found);
    const bytes = Buffer.alloc(maxAuthBytes + 1);
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    if (length > maxAuthBytes) throw unusable(file, "it is too long");
    return bytes.toString("utf8", 0, length);
  } catch (cause) {
    if (cause instanceof TvsError) throw cause;
    throw unusable(file, "it cannot be read by this user", cause);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** What systemd hands to a unit shows the mode of its access list, and lies where nobody else can look. */
function requirePrivate(file: string, { uid, mode }: { uid: number; mode: number }): void {
  const credentials = process.env.CREDENTIALS_DIRECTORY ?? "";
  if (credentials !== "" && resolve(file) === join(credentials, basename(file))) return;
  if ((mode & 0o077) !== 0)
    throw unusable(file, `others may read it (mode ${(mode & 0o777).toString(8)}); chmod 600 ${file}`);
  if (uid !== 0 && uid !== process.geteuid?.())
    throw unusable(file, "it belongs neither to root nor to this user");
}

function unusable(file: string, why: string, cause?: unknown): TvsError {
  return new TvsError("INPUT_UNREADABLE", `--source-auth ${file}: ${why}`, { cause });
}

function usage(message: string): TvsError {
  return new TvsError("USAGE", message);
}
