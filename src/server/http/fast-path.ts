/**
 * The short way for the endpoints that are called most: from the socket's request to the endpoint and back, without
 * the Request, Response and stream objects in between, which cost more than a look-up. It takes only plain requests;
 * whatever is unusual goes the long way through Hono, and gets the same answer from the same endpoint.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getQueryParam } from "hono/utils/url";
import type { CallObserver } from "../../domain/calls.ts";
import { log } from "../../log.ts";
import { replyTo } from "../problem.ts";
import { connectionInfo } from "./connection-info.ts";
import {
  beginTrace,
  bodyBrokenOff,
  bodyTooLarge,
  type CallTrace,
  endTrace,
  type Handler,
  type HttpCall,
  maxBodyBytes,
  type Reply,
} from "./http-call.ts";
import { hasTwice } from "./request-listener.ts";

/** Endpoints by method and path, for example `POST /v1/inter-agency/batch`. */
export type DirectRoutes = ReadonlyMap<string, Handler>;

/** Takes a request, or returns false and leaves it untouched. */
export type FastPath = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/** Characters of a plain authority (RFC 3986, 3.2): the long way finds out what is wrong with others. */
const plainHost = /^[\w.:[\]-]+$/;

const credential = ["authorization"];

/** @param observe told of each call that was answered here */
export function createFastPath(routes: DirectRoutes, observe?: CallObserver): FastPath {
  return (incoming, outgoing) => {
    const { method = "", url = "" } = incoming;
    const queryAt = url.indexOf("?");
    const path = queryAt < 0 ? url : url.slice(0, queryAt);
    const endpoint = routes.get(`${method} ${path}`);
    if (endpoint === undefined || !isPlain(incoming)) return false;
    // A path that was found among the routes is one of them, and so its own pattern.
    const trace = beginTrace(method, path);
    answer(endpoint, { incoming, outgoing, trace, observe }).catch((error) => {
      // Endpoints answer their own failures. What is left is an answer that cannot be written: nobody waits for it
      // longer than needed, and it must not end the service, as a rejection that nobody takes would.
      log.error("an answer could not be written", { detail: String(error) });
      outgoing.destroy();
    });
    return true;
  };
}

function isPlain({ method, url = "", headers, rawHeaders }: IncomingMessage): boolean {
  const { host, expect, "transfer-encoding": coding, "content-length": length } = headers;
  const hasPlainBody =
    method === "GET" ? length === undefined : length !== undefined && Number(length) <= maxBodyBytes;
  const isOdd = expect !== undefined || coding !== undefined || url.includes("#");
  if (!hasPlainBody || isOdd || host === undefined || !plainHost.test(host)) return false;
  // Of two `Authorization` headers node:http shows the first alone; the long way sees both, and takes neither.
  return method === "GET" || !hasTwice(rawHeaders, credential);
}

type Exchange = {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly trace: CallTrace;
  readonly observe: CallObserver | undefined;
};

async function answer(endpoint: Handler, { incoming, outgoing, trace, observe }: Exchange): Promise<void> {
  const call = createCall(incoming, trace);
  const reply = await replyTo(endpoint, call);
  send(reply, outgoing);
  endTrace(trace, reply.status, observe);
  // A body that nobody wanted must still pass, or the connection's next request would not be seen.
  if (!call.bodyTaken) incoming.resume();
}

function createCall(incoming: IncomingMessage, trace: CallTrace): HttpCall & { bodyTaken: boolean } {
  const { method = "", url = "", headers } = incoming;
  return {
    trace,
    connection: connectionInfo(incoming.socket as Socket),
    header: (name) => textOf(headers[name]),
    query: (name) => textOf(getQueryParam(url, name)),
    pathPart: () => "",
    bodyTaken: method === "GET",
    body() {
      this.bodyTaken = true;
      return readBody(incoming);
    },
  };
}

/** What is asked for by one name is one text; only `Set-Cookie`, which no endpoint reads, comes as a list. */
function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The body of a request whose length was declared, most often in one piece. */
function readBody(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    incoming.on("data", (part: Uint8Array) => {
      bytes += part.length;
      if (bytes > maxBodyBytes) reject(bodyTooLarge());
      else parts.push(part);
    });
    incoming.on("end", () => resolve(parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts)));
    const breakOff = () => reject(bodyBrokenOff());
    incoming.on("error", breakOff);
    incoming.on("close", breakOff);
  });
}

function send({ status, headers, body }: Reply, outgoing: ServerResponse): void {
  if (outgoing.destroyed) return;
  headers["Content-Length"] = String(Buffer.byteLength(body));
  outgoing.writeHead(status, headers);
  outgoing.end(body);
}
