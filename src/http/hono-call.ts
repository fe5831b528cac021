import { Buffer } from "node:buffer";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isTvsError } from "../domain/errors.ts";
import {
  bodyBrokenOff,
  bodyTooLarge,
  type CallTrace,
  type ConnectionInfo,
  type HttpCall,
} from "./http-call.ts";
import { problemReply } from "./problem.ts";

/** What the pages' handlers find in their Hono context. */
export type AppEnv = {
  Bindings: ConnectionInfo;
  Variables: { trace: CallTrace; issuer: () => string };
};

/** What answers a request for a page or a document: it needs more of Hono's than calls of the API do. */
export type PageHandler = (c: Context<AppEnv>) => Response | Promise<Response>;

/** The answer to a failure of a page, and to what is neither a page nor a call: no such path, no such method. */
export function problemResponse(error: Error, c: Context<AppEnv>): Response {
  const { header } = honoCaller(c);
  const reply = problemReply(error, { trace: c.get("trace"), issuer: c.get("issuer"), header });
  setHeaders(c, reply.headers);
  return c.body(reply.body, reply.status as ContentfulStatusCode);
}

/** Sets headers that a handler of calls would have put into its reply. */
export function setHeaders(c: Context<AppEnv>, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}

/** What is asked of a request to find where it comes from. */
export function honoCaller(c: Context<AppEnv>): Pick<HttpCall, "connection" | "header"> {
  return { connection: c.env, header: (name) => c.req.header(name) };
}

/** Forms have a field or two; a term that is too long is told so in words, and what is larger is no form of ours. */
const maxFormBytes = 16 * 1024;

/**
 * Reads the body of a form, once, counted while it arrives.
 * @throws TvsError BODY_TOO_LARGE; REQUEST_INVALID for one that breaks off, because the caller left or what came is no
 * HTTP: nobody's fault but the caller's, and nothing for the log
 */
export async function readForm(c: Pick<Context, "req">): Promise<URLSearchParams> {
  if (Number(c.req.header("content-length")) > maxFormBytes) throw bodyTooLarge(maxFormBytes);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of c.req.raw.body ?? []) {
      bytes += part.length;
      if (bytes > maxFormBytes) throw bodyTooLarge(maxFormBytes);
      parts.push(part);
    }
  } catch (error) {
    throw isTvsError(error) ? error : bodyBrokenOff();
  }
  return new URLSearchParams(new TextDecoder().decode(Buffer.concat(parts)));
}
