/** Access to the console: only from this machine, and only with a session. A one-time link begins a session. */

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { html } from "hono/html";
import type { Clock } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { areBytesEqual, type Secrets } from "../domain/secrets.ts";
import type { ConnectionInfo } from "../http/context.ts";
import { findNotLocalReason, type NotLocalReason } from "../http/local-caller.ts";
import { acceptsHtml } from "../site/error-page.ts";
import { cspWithoutInline } from "../site/shell.ts";
import { renderMessagePage } from "./console-page.ts";

export const consoleLinkLifeMs = 5 * 60_000;

/**
 * The port of a running service's console, and an id that is new at each start. The service writes both to a file. From this
 * file `tvs console` makes a link, whose token has a MAC over port and id. An attacker who changes the port in the file gets
 * a token for that port, which does not open the console.
 */
export type RunningConsole = { readonly port: number; readonly id: string };

type LinkVerdict = "good" | "expired" | "unknown";

/** Parses the file with the console's port and id. @param text null if the file is missing @throws TvsError REFUSED */
export function parseConsoleFile(text: string | null): RunningConsole {
  const match = /^(\d{1,5}) ([0-9a-f-]{36})\n$/.exec(text ?? "");
  if (match !== null) return { port: Number(match[1]), id: match[2] ?? "" };
  const message =
    "the running service has no console, or keeps its data elsewhere; restart it with `tvs serve --admin-port 9464`";
  throw new TvsError("REFUSED", message);
}

export const formatConsoleFile = ({ port, id }: RunningConsole): string => `${port} ${id}\n`;

/** Makes a link that opens the console once. The service checks the token's MAC, and remembers only used tokens. */
export function createConsoleLink(secrets: Secrets, location: RunningConsole, now: number) {
  const expiresAt = now + consoleLinkLifeMs;
  const content = `${expiresAt.toString(36)}.${randomText(12)}`;
  const token = `${content}.${macOf(secrets, location, content)}`;
  return { url: `http://127.0.0.1:${location.port}/open?token=${token}`, expiresAt };
}

const randomText = (bytes: number): string => randomBytes(bytes).toString("base64url");

/** Checks a token's MAC and expiry time, but not whether the token was used. @returns `expired` only if the MAC is right */
export function checkConsoleLinkToken(token: string, { secrets, location, now }: CheckOptions): LinkVerdict {
  const match = /^([0-9a-z]{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token);
  if (match === null) return "unknown";
  const [, expiry = "", nonce = "", mac = ""] = match;
  const expected = macOf(secrets, location, `${expiry}.${nonce}`);
  // The MACs are compared as texts: several base64 texts decode to the same bytes, and each would open the console once.
  if (!areBytesEqual(Buffer.from(expected), Buffer.from(mac))) return "unknown";
  return now < Number.parseInt(expiry, 36) ? "good" : "expired";
}

type CheckOptions = { readonly secrets: Secrets; readonly location: RunningConsole; readonly now: number };

function macOf(secrets: Secrets, { id, port }: RunningConsole, content: string): string {
  return Buffer.from(secrets.mac("console-link", `${id}.${port}.${content}`)).toString("base64url");
}

/** The route of a session. Its cookie is limited to the secret folder, because browsers send cookies to every port of a host. */
export const sessionRoute = "/s/:folder";
/** Removes the session's folder from a path: `/s/FOLDER/teachers` becomes `/teachers`. */
export const removeSessionFolder = (path: string): string => path.replace(/^\/s\/[^/]+/, "");

/** The admin app's Hono types. `title` is the page's title; undefined outside the pages of the register. */
export type AdminEnv = { Bindings: ConnectionInfo; Variables: { title: string | undefined } };

const refusals: Readonly<Record<NotLocalReason, string>> = {
  address: "the console answers this machine only",
  name: "the console answers under 127.0.0.1 and localhost only",
  proxy: "the console answers this machine only, not through a proxy; use an SSH tunnel",
};

/** Refuses requests from other machines, through a proxy, or with a `Host` that is not this machine (DNS rebinding). */
export function requireLocalRequest(): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    setConsoleHeaders(c);
    const reason = findNotLocalReason(c);
    if (reason !== null) return sendError(c, 403, refusals[reason]);
    // The search is the only POST, because its term can be a personal number, which no URL may contain.
    const isSearch = c.req.method === "POST" && /^\/s\/[^/]+\/teachers$/.test(c.req.path);
    if (!["GET", "HEAD"].includes(c.req.method) && !isSearch) {
      c.header("Allow", "GET, HEAD");
      return sendError(c, 405, "the console only reads: GET and HEAD");
    }
    return next();
  };
}

const titles = {
  403: "Not from here",
  404: "Page not found",
  405: "This cannot be done here",
  500: "Sorry, something went wrong",
} as const;

/** Answers a failure: a browser gets a page (decision D8.5), any other client gets JSON. */
export function sendError(c: Context<AdminEnv>, status: keyof typeof titles, message: string): Response {
  if (!acceptsHtml(c)) return c.json({ statusCode: status, message }, status);
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  const { path } = c.req;
  const home = path.slice(0, path.length - removeSessionFolder(path).length);
  const more = status === 403 ? html`` : html`<p><a href="${home}/">Go to the console</a></p>`;
  return c.html(String(renderMessagePage(titles[status], { text, more })), status);
}

function setConsoleHeaders(c: Context<AdminEnv>): void {
  c.header("Content-Security-Policy", cspWithoutInline);
  c.header("Referrer-Policy", "no-referrer");
  c.header("X-Content-Type-Options", "nosniff");
  c.header("Cross-Origin-Resource-Policy", "same-origin");
  c.header("Cross-Origin-Opener-Policy", "same-origin");
  c.header("Cache-Control", "no-store");
}

export const sessionLifeMs = 12 * 3_600_000;
/** The maximum number of open sessions. One more session ends the oldest. */
const maxSessions = 32;

/** The folder in a session's URL and the secret in its cookie. A request must have both. */
type Session = { readonly folder: string; readonly secret: string };
type OfferedSession = { [Part in keyof Session]: string | undefined };

export type LinkRefusalReason = "used" | Exclude<LinkVerdict, "good">;

export type SessionStore = ReturnType<typeof createSessionStore>;

/** Makes the store of sessions, in memory. A restart of the service ends all sessions and, by the new id, all links. */
export function createSessionStore(dependencies: {
  secrets: Secrets;
  location: RunningConsole;
  clock: Clock;
}) {
  const { secrets, location, clock } = dependencies;
  const used = new Map<string, number>();
  /** The time at which each session ends (ms), by folder and secret. A wrong folder and a wrong secret get the same response. */
  const sessions = new Map<string, number>();

  function removeEnded(now: number): void {
    for (const ends of [used, sessions]) {
      for (const [name, end] of ends) if (end <= now) ends.delete(name);
    }
  }

  return {
    open(token: string): Session | LinkRefusalReason {
      const now = clock.now();
      removeEnded(now);
      const verdict = checkConsoleLinkToken(token, { secrets, location, now });
      if (verdict !== "good") return verdict;
      if (used.has(token)) return "used";
      used.set(token, Number.parseInt(token, 36));
      const session = { folder: randomText(16), secret: randomText(32) };
      sessions.set(sessionKey(session), now + sessionLifeMs);
      const [oldest] = sessions.keys();
      if (sessions.size > maxSessions && oldest !== undefined) sessions.delete(oldest);
      return session;
    },
    has(session: OfferedSession): boolean {
      const end = sessions.get(sessionKey(session));
      return end !== undefined && end > clock.now();
    },
  };
}

const sessionKey = ({ folder = "", secret = "" }: OfferedSession): string => `${folder}/${secret}`;
