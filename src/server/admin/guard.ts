import type { Context, MiddlewareHandler } from "hono";
import type { ConnectionInfo } from "../http/connection-info.ts";

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

/** Names under which this machine is reached from itself, or through an SSH tunnel, whatever the tunnel's port. */
const ourNames = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** A proxy that carries requests from elsewhere says so in one of these. */
const proxyHeaders = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"];

/**
 * Refuses what does not come from this machine, and what a page of another site makes a browser on this machine send:
 * a name that was pointed here (DNS rebinding) stands in `Host`, and never is ours.
 */
export function guarded(): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    protect(c);
    const reason = refusalOf(c);
    if (reason !== null) return c.json({ statusCode: 403, message: reason }, 403);
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

function refusalOf(c: Context<AdminEnv>): string | null {
  if (!isLoopback(c.env.remoteAddress)) return "the console answers this machine only";
  if (!ourNames.has(hostName(c.req.header("Host") ?? ""))) {
    return "the console answers under 127.0.0.1 and localhost only";
  }
  if (proxyHeaders.some((name) => c.req.header(name) !== undefined)) {
    return "the console answers this machine only, not through a proxy; use an SSH tunnel";
  }
  return null;
}

/** `Host` without its port, in lower case. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, "");
}

function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || address === "::1";
}
