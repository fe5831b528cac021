/** Access to the console: from this machine alone, by a session that a one-time link begins. */

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { html } from "hono/html";
import type { Clock } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { equalBytes, type Secrets } from "../domain/secrets.ts";
import type { ConnectionInfo } from "../http/context.ts";
import { type NotLocalReason, whyNotLocal } from "../http/local-caller.ts";
import { acceptsPage } from "../site/error-page.ts";
import { ownFilesPolicy } from "../site/shell.ts";
import { plainPage } from "./console-page.ts";

export const linkLifeMs = 5 * 60_000;

/**
 * Where a running service has its console. The id is new at each start. A link's MAC covers port and id, so that a changed
 * file cannot lead a token to another listener.
 */
export type ConsolePlace = { readonly port: number; readonly id: string };

type LinkVerdict = "good" | "expired" | "unknown";

/** Reads the file of {@link writePlace}; null for no file. @throws TvsError REFUSED */
export function readPlace(text: string | null): ConsolePlace {
  const match = /^(\d{1,5}) ([0-9a-f-]{36})\n$/.exec(text ?? "");
  if (match !== null) return { port: Number(match[1]), id: match[2] ?? "" };
  const message =
    "the running service has no console, or keeps its data elsewhere; restart it with `tvs serve --admin-port 9464`";
  throw new TvsError("REFUSED", message);
}

export const writePlace = ({ port, id }: ConsolePlace): string => `${port} ${id}\n`;

/** Makes a link that opens the console once. Its token has a MAC, so nothing is stored for the link. */
export function mintLink(secrets: Secrets, place: ConsolePlace, now: number) {
  const expiresAt = now + linkLifeMs;
  const content = `${expiresAt.toString(36)}.${randomBytes(12).toString("base64url")}`;
  const token = `${content}.${macOf(secrets, place, content)}`;
  return { url: `http://127.0.0.1:${place.port}/open?token=${token}`, expiresAt };
}

/** Checks a token, but not whether it was used. @returns `expired` for a token that was good before */
export function checkToken(token: string, { secrets, place, now }: CheckOptions): LinkVerdict {
  const match = /^([0-9a-z]{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token);
  if (match === null) return "unknown";
  const [, expiry = "", nonce = "", mac = ""] = match;
  const expected = macOf(secrets, place, `${expiry}.${nonce}`);
  // Compared as text: base64 has several spellings of the same bytes, and each would open the console once.
  if (!equalBytes(Buffer.from(expected), Buffer.from(mac))) return "unknown";
  return now < Number.parseInt(expiry, 36) ? "good" : "expired";
}

type CheckOptions = { readonly secrets: Secrets; readonly place: ConsolePlace; readonly now: number };

function macOf(secrets: Secrets, { id, port }: ConsolePlace, content: string): string {
  return Buffer.from(secrets.mac("console-link", `${id}.${port}.${content}`)).toString("base64url");
}

/** Each session's secret folder is its cookie's path, because browsers send cookies of 127.0.0.1 to all its ports. */
export const sessionPath = "/s/:folder";
/** The path inside the session's folder; an address outside a folder is unchanged. */
export const pathInSession = (path: string): string => path.replace(/^\/s\/[^/]+/, "");

export const searchPath = "/teachers";

export type AdminEnv = { Bindings: ConnectionInfo };

const refusals: Readonly<Record<NotLocalReason, string>> = {
  address: "the console answers this machine only",
  name: "the console answers under 127.0.0.1 and localhost only",
  proxy: "the console answers this machine only, not through a proxy; use an SSH tunnel",
};

/** Refuses requests from other machines and from pages of other sites in a browser on this machine. */
export function guarded(): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    protect(c);
    const reason = whyNotLocal(c);
    if (reason !== null) return failed(c, 403, refusals[reason]);
    // A search is POST, because its term may be a personal number, which no address contains.
    if (!["GET", "HEAD"].includes(c.req.method) && !(c.req.method === "POST" && isSearch(c.req.path))) {
      c.header("Allow", "GET, HEAD");
      return failed(c, 405, "the console only reads: GET and HEAD");
    }
    return next();
  };
}

const isSearch = (path: string) => path !== searchPath && pathInSession(path) === searchPath;

const titles = {
  403: "Not from here",
  404: "Page not found",
  405: "This cannot be done here",
  500: "Sorry, something went wrong",
} as const;

/** Answers a failure with a page for browsers (decision D8.5), else with JSON. */
export function failed(c: Context<AdminEnv>, status: keyof typeof titles, message: string): Response {
  if (!acceptsPage(c)) return c.json({ statusCode: status, message }, status);
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  const { path } = c.req;
  const home = path.slice(0, path.length - pathInSession(path).length);
  const more = status === 403 ? html`` : html`<p><a href="${home}/">Go to the console</a></p>`;
  return c.html(String(plainPage(titles[status], { text, more })), status);
}

function protect(c: Context<AdminEnv>): void {
  c.header("Content-Security-Policy", ownFilesPolicy);
  c.header("Referrer-Policy", "no-referrer");
  c.header("X-Content-Type-Options", "nosniff");
  c.header("Cross-Origin-Resource-Policy", "same-origin");
  c.header("Cross-Origin-Opener-Policy", "same-origin");
  c.header("Cache-Control", "no-store");
}

/** The life of a session: a working day. */
export const sessionLifeMs = 12 * 3_600_000;
/** The most sessions; a further one signs the oldest out. */
const maxSessions = 32;

/** A session's folder and the secret of its cookie, which are only valid together. */
type Session = { readonly folder: string; readonly secret: string };
type OfferedSession = { [Part in keyof Session]: string | undefined };

export type Opening =
  | { readonly verdict: "good"; readonly session: Session }
  | { readonly verdict: "used" | Exclude<LinkVerdict, "good"> };

/** The signed-in browsers. A link begins one session. */
export type Sessions = ReturnType<typeof createSessions>;

/** Sessions live in memory: a restart signs everybody out, and its new id invalidates earlier links. */
export function createSessions(dependencies: { secrets: Secrets; place: ConsolePlace; clock: Clock }) {
  const { secrets, place, clock } = dependencies;
  /** Used tokens, with their end. */
  const used = new Map<string, number>();
  /** The end of each session, by folder and secret together, so that no answer reveals whether a folder exists. */
  const sessions = new Map<string, number>();

  function forgetWhatEnded(now: number): void {
    for (const ends of [used, sessions]) {
      for (const [name, end] of ends) if (end <= now) ends.delete(name);
    }
  }

  return {
    open(token: string): Opening {
      const now = clock.now();
      forgetWhatEnded(now);
      const verdict = checkToken(token, { secrets, place, now });
      if (verdict !== "good") return { verdict };
      if (used.has(token)) return { verdict: "used" };
      used.set(token, Number.parseInt(token, 36));
      const session = {
        folder: randomBytes(16).toString("base64url"),
        secret: randomBytes(32).toString("base64url"),
      };
      sessions.set(nameOf(session), now + sessionLifeMs);
      const [oldest] = sessions.keys();
      if (sessions.size > maxSessions && oldest !== undefined) sessions.delete(oldest);
      return { verdict, session };
    },
    has(session: OfferedSession): boolean {
      const end = sessions.get(nameOf(session));
      return end !== undefined && end > clock.now();
    },
  };
}

const nameOf = ({ folder = "", secret = "" }: OfferedSession): string => `${folder}/${secret}`;
