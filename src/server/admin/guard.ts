import type { Context, MiddlewareHandler } from "hono";
import type { ConnectionInfo } from "../http/connection-info.ts";
import { type NotLocal, notLocal } from "../loopback.ts";

export type AdminEnv = { Bindings: ConnectionInfo };

/** What a page of the console may load and do: only its own files, and nothing may frame it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

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
  c.header("Content-Security-Policy", contentSecurityPolicy);
  c.header("Referrer-Policy", "no-referrer");
  c.header("X-Content-Type-Options", "nosniff");
  c.header("Cross-Origin-Resource-Policy", "same-origin");
  c.header("Cross-Origin-Opener-Policy", "same-origin");
  c.header("Cache-Control", "no-store");
}
