import { Buffer } from "node:buffer";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isTvsError, TvsError } from "../domain/errors.ts";
import {
  bodyBrokenOff,
  bodyTooLarge,
  type CallTrace,
  type ConnectionInfo,
  type Handler,
  type HttpCall,
  maxBodyBytes,
} from "./http-call.ts";
import { problemReply, replyTo } from "./problem.ts";

/** What handlers of this app find in their Hono context. */
export type AppEnv = {
  Bindings: ConnectionInfo;
  Variables: { trace: CallTrace };
};

/** What answers a call for a page or a document: it needs more of Hono's than calls of the API do. */
export type PageHandler = (c: Context<AppEnv>) => Response | Promise<Response>;

/** A handler of calls as a handler of a Hono route. */
export function routed(handler: Handler): PageHandler {
  return async (c) => {
    const { status, headers, body } = await replyTo(handler, honoCall(c));
    // Where there can be none, not even an empty one is taken.
    return new Response(status === 304 ? null : body, { status, headers });
  };
}

/** The answer to a failure outside the handlers of calls: no such path, no such method, a page that failed. */
export function problemResponse(error: Error, c: Context<AppEnv>): Response {
  const reply = problemReply(error, { trace: c.get("trace") });
  setHeaders(c, reply.headers);
  return c.body(reply.body, reply.status as ContentfulStatusCode);
}

/** Sets headers that a handler of calls would have put into its reply. */
export function setHeaders(c: Context<AppEnv>, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}

export function honoCall(c: Context<AppEnv>): HttpCall {
  return {
    trace: c.get("trace"),
    connection: c.env,
    header: (name) => c.req.header(name),
    query: (name) => c.req.query(name),
    pathPart: (name) => decodablePart(c, name),
    body: () => readBody(c),
  };
}

/** A part of the path. What cannot be decoded would be handed on as it is, and attested as a number that nobody has. */
function decodablePart(c: Context<AppEnv>, name: string): string {
  try {
    decodeURIComponent(new URL(c.req.url).pathname);
  } catch {
    throw new TvsError("REQUEST_INVALID", `${name} must be percent-encoded UTF-8`);
  }
  return c.req.param(name) ?? "";
}

/**
 * Reads the body, once.
 * @throws TvsError BODY_TOO_LARGE; REQUEST_INVALID for one that breaks off, because the caller left or what came is no
 * HTTP: nobody's fault but the caller's, and nothing for the log
 */
export async function readBody(c: Context<AppEnv>, maxBytes = maxBodyBytes): Promise<Uint8Array> {
  const length = c.req.header("content-length");
  const isDeclared = length !== undefined && c.req.header("transfer-encoding") === undefined;
  if (isDeclared && Number(length) > maxBytes) throw bodyTooLarge(maxBytes);
  try {
    return isDeclared
      ? new Uint8Array(await c.req.arrayBuffer())
      : await readAtMost(c.req.raw.body, maxBytes);
  } catch (error) {
    throw isTvsError(error) ? error : bodyBrokenOff();
  }
}

/** Reads a body in pieces: nobody says how long it is, so it is counted while it arrives. */
async function readAtMost(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts, bytes);
}
