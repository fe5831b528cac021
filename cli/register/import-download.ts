/** An extract is fetched into the data folder, and is gone from there when it was imported (decision D7.14). */

import type { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  createWriteStream,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import type { IncomingMessage } from "node:http";
import * as https from "node:https";
import { isIP } from "node:net";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { EndpointRefused, hostOf, resolveHost } from "../../src/delivery/address-guard.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { codeOf } from "../../src/store/driver/files.ts";
import type { ImportSource } from "./import-source.ts";

type FetchRequest = {
  readonly source: ImportSource;
  /** What `Authorization` says; undefined for none. */
  readonly auth: string | undefined;
  readonly allowPrivate: boolean;
  /** The entity tag of the extract that need not be sent again. */
  readonly etag: string | null;
  /** Aborted, it ends the fetching. */
  readonly stop: AbortSignal;
};

/** Where a fetch goes: to the address that was checked, and nowhere else. */
type Connecting = FetchRequest & {
  readonly url: URL;
  readonly address: string;
  readonly file: string;
  /** Aborted when it takes too long, or was stopped. */
  readonly signal: AbortSignal;
};

type Fetched = { readonly isUnchanged: boolean; readonly etag: string | null };

const deadlineMs = 10 * 60_000;
const maxBytes = 4 * 1024 ** 3;
const lookMs = 250;
/** So much of what the system's client says is kept, and shown. */
const [maxSaid, shownSaid] = [2_000, 300];

/** A file for an extract, which holds NINs: it goes when the command ends, and what a kill left by the next one. */
export function makeExtractFile(dataDir: string): { readonly path: string; remove(): void } {
  const path = join(dataDir, `.extract-${process.pid}-${randomUUID()}`);
  let isNew = false;
  try {
    isNew = mkdirSync(dataDir, { recursive: true, mode: 0o700 }) !== undefined;
    removeLeft(dataDir);
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    throw new TvsError("STORE_READ_ONLY", `${dataDir} cannot be written; check --data`, { cause });
  }
  const remove = () => {
    process.off("exit", remove);
    rmSync(path, { force: true });
    if (isNew) removeEmpty(dataDir);
  };
  process.once("exit", remove);
  return { path, remove };
}

/** Removes the extracts of processes that are no more. */
function removeLeft(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const [, pid] = /^\.extract-(\d+)-[0-9a-f-]+$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(dataDir, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** A first extract that is refused leaves no folder behind. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // There is a register in it now.
  }
}

/**
 * Fetches an extract into a file that is there.
 * @throws TvsError INPUT_UNREADABLE when there is none in time, a half one or too much of it, REFUSED when it was stopped
 */
export async function fetchExtract(request: FetchRequest, file: string): Promise<Fetched> {
  const { source, allowPrivate, stop } = request;
  const late = new AbortController();
  // Not AbortSignal.timeout, which keeps Deno from ending.
  const timer = setTimeout(() => late.abort(), deadlineMs);
  const signal = AbortSignal.any([stop, late.signal]);
  try {
    const url = new URL(source.place);
    const words = { called: "source", allowedBy: "--allow-private-source" };
    const [address = ""] = await resolveHost(hostOf(url), { allowPrivate, words });
    const connecting = { ...request, url, address, file, signal };
    return source.kind === "sftp" ? await fetchBySftp(connecting) : await fetchByHttps(connecting);
  } catch (cause) {
    if (stop.aborted) throw new TvsError("REFUSED", "stopped before anything was changed", { cause });
    if (signal.aborted) throw unfetched(source, `took longer than ${deadlineMs / 60_000} minutes`, cause);
    if (cause instanceof EndpointRefused) throw new TvsError("INPUT_UNREADABLE", cause.message, { cause });
    if (isTvsError(cause)) throw cause;
    if (codeOf(cause) === "ENOSPC") throw unfetched(source, "does not fit on the disk", cause);
    throw unfetched(source, `could not be fetched whole (${codeOf(cause)}); nothing was changed`, cause);
  } finally {
    clearTimeout(timer);
  }
}

function unfetched({ name }: ImportSource, problem: string, cause?: unknown): TvsError {
  return new TvsError("INPUT_UNREADABLE", `${name} ${problem}`, { cause });
}

async function fetchByHttps(connecting: Connecting): Promise<Fetched> {
  const { source, file, signal } = connecting;
  const answer = await ask(connecting);
  try {
    const { statusCode = 0, headers } = answer;
    const etag = readEtag(headers.etag);
    if (statusCode === 304 && connecting.etag !== null) return { isUnchanged: true, etag };
    refuseAnswer(source, answer);
    // Only over the file that is there: opened late, it would come back after it was removed.
    await pipeline(answer, limited(source), createWriteStream(file, { flags: "r+" }), { signal });
    return { isUnchanged: false, etag };
  } finally {
    answer.destroy();
  }
}

async function ask({ url, address, auth, etag, signal }: Connecting): Promise<IncomingMessage> {
  const host = hostOf(url);
  const request = https.get({
    host: address,
    port: url.port === "" ? 443 : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: {
      ...{ Host: url.host, "Accept-Encoding": "identity" },
      ...(auth === undefined ? {} : { Authorization: auth }),
      ...(etag === null ? {} : { "If-None-Match": etag }),
    },
    // One that is made here reads no proxy from the environment, nor whether certificates are to be checked.
    agent: new https.Agent({ rejectUnauthorized: true, minVersion: "TLSv1.2" }),
    // A server name is never an address (RFC 6066, 3); the certificate is then checked against `host`.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    signal,
  });
  // One that comes once the answer has begun, the answer tells.
  request.on("error", () => {});
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return answer;
}

/** @throws TvsError INPUT_UNREADABLE for what is no whole extract, or would not be known to be one */
function refuseAnswer(source: ImportSource, { statusCode = 0, headers }: IncomingMessage): void {
  if (statusCode >= 300 && statusCode < 400)
    throw unfetched(source, "sends elsewhere, which is not followed; give the address itself");
  if (statusCode === 401 || statusCode === 403)
    throw unfetched(source, `answers ${statusCode}; see to --source-auth`);
  if (statusCode !== 200) throw unfetched(source, `answers ${statusCode}`);
  if ((headers["content-encoding"] ?? "identity") !== "identity")
    throw unfetched(source, "packed its answer unasked, which is not read");
  // The end of the connection could be the end of the file, or not.
  const isChunked = headers["transfer-encoding"] !== undefined;
  if (!isChunked && headers["content-length"] === undefined)
    throw unfetched(source, "does not say how long its answer is, so a half one could not be told");
}

/** An entity tag that may be sent back; null for none, and for what is none. */
function readEtag(value: string | undefined): string | null {
  return value !== undefined && /^(W\/)?"[\x21\x23-\x7e]{0,200}"$/.test(value) ? value : null;
}

function limited(source: ImportSource) {
  return async function* (chunks: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(source);
      yield chunk;
    }
  };
}

function tooLarge(source: ImportSource): TvsError {
  return unfetched(source, `is larger than ${maxBytes / 1024 ** 3} GiB`);
}

/**
 * Fetches by the system's own client: keys, known hosts and agents are those of its configuration. It is held to the
 * address that was checked, knows the host by its name, and asks nobody anything.
 */
async function fetchBySftp({ source, url, address, file, signal }: Connecting): Promise<Fetched> {
  const port = url.port === "" ? 22 : Number(url.port);
  const host = hostOf(url).toLowerCase();
  const options = [
    ...["BatchMode=yes", "StrictHostKeyChecking=yes", "LogLevel=ERROR", `HostName=${address}`],
    ...[`Port=${port}`, `HostKeyAlias=${port === 22 ? host : `[${host}]:${port}`}`],
    ...(url.username === "" ? [] : [`User=${decodeURIComponent(url.username)}`]),
  ];
  const words = [...options.map((one) => `-o${one}`), "-b", "-", "--", url.hostname];
  const child = spawn("sftp", words, { cwd: dirname(file), stdio: ["pipe", "ignore", "pipe"], signal });
  const watch = setInterval(() => statSync(file).size > maxBytes && child.kill(), lookMs);
  try {
    let said = "";
    child.stderr.on("data", (bytes: Buffer) => {
      said = `${said}${bytes}`.slice(0, maxSaid);
    });
    // A client that does not start, or ends early, tells why by its exit.
    child.stdin.on("error", () => {});
    // In its own quotes only what parseSource refuses is read in another way.
    child.stdin.end(`get "${decodeURIComponent(url.pathname)}" "${basename(file)}"\n`);
    const code = await ended(child);
    if (statSync(file).size > maxBytes) throw tooLarge(source);
    if (code !== 0) throw unfetched(source, `could not be fetched by sftp: ${whyItFailed(said)}`);
    return { isUnchanged: false, etag: null };
  } finally {
    clearInterval(watch);
  }
}

/** Resolves with the exit code; null when it was killed. */
async function ended(child: ChildProcess): Promise<number | null> {
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return code;
  } catch (cause) {
    if (codeOf(cause) !== "ENOENT") throw cause;
    const message = "there is no sftp on this machine; install the OpenSSH client (openssh-client)";
    throw new TvsError("INPUT_UNREADABLE", message, { cause });
  }
}

/** What the client said of its failure, as one line. */
function whyItFailed(said: string): string {
  const lines = said.split(/[\r\n]+/).map((line) => line.replace(/\p{Cc}/gu, " ").trim());
  const told = lines.filter((line) => line !== "" && !line.startsWith("Connection closed")).join("; ");
  return told === "" ? "the connection was closed" : told.slice(0, shownSaid);
}
