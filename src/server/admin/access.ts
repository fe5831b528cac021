/** Access to the console: from this machine alone, by a session that a one-time link begins. */

import { randomBytes } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import type { Clock } from "../../domain/clock.ts";
import { checkToken, type LinkVerdict } from "../../domain/console-link.ts";
import type { Secrets } from "../../domain/secrets.ts";
import type { ConnectionInfo } from "../http/peer.ts";
import { type NotLocal, notLocal } from "../local-caller.ts";
import { ownFilesPolicy } from "../pages/shell.ts";

export type AdminEnv = { Bindings: ConnectionInfo };

const refusals: Readonly<Record<NotLocal, string>> = {
  address: "the console answers this machine only",
  name: "the console answers under 127.0.0.1 and localhost only",
  proxy: "the console answers this machine only, not through a proxy; use an SSH tunnel",
};

/** Refuses what does not come from this machine, and what a page of another site makes a browser on it send. */
export function guarded(): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    protect(c);
    const reason = notLocal(c);
    if (reason !== null) return c.json({ statusCode: 403, message: refusals[reason] }, 403);
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      c.header("Allow", "GET, HEAD");
      return c.json({ statusCode: 405, message: "the console only reads: GET and HEAD" }, 405);
    }
    return next();
  };
}

function protect(c: Context<AdminEnv>): void {
  c.header("Content-Security-Policy", ownFilesPolicy);
  c.header("Referrer-Policy", "no-referrer");
  c.header("X-Content-Type-Options", "nosniff");
  c.header("Cross-Origin-Resource-Policy", "same-origin");
  c.header("Cross-Origin-Opener-Policy", "same-origin");
  c.header("Cache-Control", "no-store");
}

/** How long a browser stays signed in: a working day; afterwards another link is needed. */
export const sessionLifeMs = 12 * 3_600_000;
/** Browsers that may be signed in at once; one more, and the oldest is signed out. */
const maxSessions = 32;

/** What became of a link that was opened. */
export type Opening =
  | { readonly verdict: "good"; readonly session: string }
  | { readonly verdict: "used" | Exclude<LinkVerdict, "good"> };

/** The browsers that are signed in. A good link begins one session, and is then used up. */
export type Sessions = {
  open(token: string): Opening;
  has(session: string | undefined): boolean;
};

/** Everything is in memory: a restart signs everybody out, and its new node id makes every earlier link unknown. */
export function createSessions(dependencies: { secrets: Secrets; nodeId: string; clock: Clock }): Sessions {
  const { secrets, nodeId, clock } = dependencies;
  /** Tokens that were used, until when they would have been good. */
  const used = new Map<string, number>();
  const sessions = new Map<string, number>();

  function forgetWhatEnded(now: number): void {
    for (const ends of [used, sessions]) {
      for (const [name, end] of ends) if (end <= now) ends.delete(name);
    }
  }

  return {
    open(token) {
      const now = clock.now();
      forgetWhatEnded(now);
      const verdict = checkToken(token, { secrets, nodeId, now });
      if (verdict !== "good") return { verdict };
      if (used.has(token)) return { verdict: "used" };
      used.set(token, Number.parseInt(token, 36));
      const session = randomBytes(32).toString("base64url");
      sessions.set(session, now + sessionLifeMs);
      const [oldest] = sessions.keys();
      if (sessions.size > maxSessions && oldest !== undefined) sessions.delete(oldest);
      return { verdict, session };
    },
    has(session) {
      const end = session === undefined ? undefined : sessions.get(session);
      return end !== undefined && end > clock.now();
    },
  };
}
