import { TvsError } from "../../domain/errors.ts";
import { problemReply } from "../problem.ts";
import type { CallTrace } from "./call-trace.ts";
import type { ConnectionInfo } from "./connection-info.ts";
import type { Reply } from "./reply.ts";

/** The largest body of a request, in bytes. */
export const maxBodyBytes = 256 * 1024;

/**
 * What an endpoint needs to know of a request, whichever way it came: through Hono's routes (hono-call.ts) or, for
 * the endpoints that are called most, straight from the socket (direct.ts).
 */
export type HttpCall = {
  /** Its id, its route, and what becomes known of it. */
  readonly trace: CallTrace;
  readonly connection: ConnectionInfo;
  /** @param name in lower case */
  header(name: string): string | undefined;
  /** A member of the query, decoded; the first one where it is repeated. */
  query(name: string): string | undefined;
  /** A variable part of the path, decoded. @throws TvsError REQUEST_INVALID for what is no percent-encoded UTF-8 */
  pathPart(name: string): string;
  /** Reads the body, once. @throws TvsError BODY_TOO_LARGE beyond {@link maxBodyBytes}, REQUEST_INVALID where it breaks off */
  body(): Promise<Uint8Array>;
};

/** What answers calls. What it throws becomes the answer of its code (problem.ts). */
export type Endpoint = (call: HttpCall) => Promise<Reply>;

/** Answers a call, whatever happens. */
export async function replyTo(endpoint: Endpoint, call: HttpCall): Promise<Reply> {
  const reply = await endpoint(call).catch((error) => problemReply(error, call));
  reply.headers["X-Request-Id"] = call.trace.requestId;
  reply.headers["X-Content-Type-Options"] = "nosniff";
  return reply;
}

export function bodyTooLarge(maxBytes = maxBodyBytes): TvsError {
  return new TvsError("BODY_TOO_LARGE", `the body must be at most ${maxBytes} bytes`);
}

export function bodyBrokenOff(): TvsError {
  return new TvsError("REQUEST_INVALID", "the body broke off");
}
