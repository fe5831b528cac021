/**
 * The fast path for calls that need no page: from the socket's request to the handler and back, without the Request,
 * Response and stream objects in between, which cost more than a lookup. It takes only plain requests; whatever is
 * unusual goes the Hono path, and gets the same answer from the same handler.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { getQueryParam } from "hono/utils/url";
import type { CallObserver } from "../domain/calls.ts";
import { log } from "../logger.ts";
import {
  beginTrace,
  bodyBrokenOff,
  bodyTooLarge,
  endTrace,
  type Handler,
  type HttpCall,
  hasTwice,
  maxBodyBytes,
  type Reply,
} from "./http-call.ts";
import { connectionInfo } from "./peer.ts";
import { replyTo } from "./problem.ts";

type FastRoute = {
  readonly method: string;
  /** The pattern under which its calls are counted. */
  readonly path: string;
  /** The same as Hono's router writes it. */
  readonly routerPath: string;
  /** Whether who asks must say who he is. */
  readonly asksCredential: boolean;
  readonly handler: Handler;
};

/** The fast path: it takes a request, or returns false and leaves it untouched. */
export type FastPath = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/** Characters of a plain authority (RFC 3986, 3.2): the Hono path finds out what is wrong with others. */
const plainHost = /^[\w.:[\]-]+$/;

/**
 * Characters of a plain path: what they mean does not depend on who decodes it, in which order, or which segments it
 * takes for `.` and `..`. Registration numbers come with encoded slashes.
 */
const plainPath = /^(?:[\w/~-]|%2F)+$/i;

const credential = ["authorization"];

/**
 * The fast path over the routes whose handlers need no page.
 * @param observe told of each call that was answered here
 */
export function createFastPath(routes: readonly FastRoute[], observe?: CallObserver): FastPath {
  const find = createFinder(routes);
  return (incoming, outgoing) => {
    const { method = "", url = "" } = incoming;
    const queryAt = url.indexOf("?");
    const found = find(method, queryAt < 0 ? url : url.slice(0, queryAt));
    if (found === null || !isPlain(incoming, found.route)) return false;
    answer(found, { incoming, outgoing, observe }).catch((error) => {
      // Handlers answer their own failures. What is left is an answer that cannot be written: nobody waits for it
      // longer than needed, and it must not end the service, as a rejection that nobody takes would.
      log.error("an answer could not be written", { detail: String(error) });
      outgoing.destroy();
    });
    return true;
  };
}

/** A route, and the variable parts of the path that it was found for, decoded. */
type Found = { readonly route: FastRoute; readonly pathPart: (name: string) => string };

/** Finds routes with Hono's own router over the same paths, so that both paths find the same ones. */
function createFinder(routes: readonly FastRoute[]): (method: string, path: string) => Found | null {
  const router = new RegExpRouter<FastRoute>();
  for (const route of routes) router.add(route.method, route.routerPath, route);
  return (method, path) => {
    if (!plainPath.test(path)) return null;
    const [[first], parts] = router.match(method, path);
    if (first === undefined) return null;
    const [route, places] = first;
    const pathPart = (name: string) => decodeURIComponent(parts?.[places[name] as number] ?? "");
    return { route, pathPart };
  };
}

function isPlain(
  { method, url = "", headers, rawHeaders }: IncomingMessage,
  { asksCredential }: FastRoute,
): boolean {
  const { host, expect, "transfer-encoding": coding, "content-length": length } = headers;
  const hasPlainBody =
    method === "GET" ? length === undefined : length !== undefined && Number(length) <= maxBodyBytes;
  const isOdd = expect !== undefined || coding !== undefined || url.includes("#");
  if (!hasPlainBody || isOdd || host === undefined || !plainHost.test(host)) return false;
  // Of two `Authorization` headers node:http shows the first alone; the Hono path sees both, and takes neither.
  return !asksCredential || !hasTwice(rawHeaders, credential);
}

async function answer(
  { route, pathPart }: Found,
  to: { incoming: IncomingMessage; outgoing: ServerResponse; observe: CallObserver | undefined },
): Promise<void> {
  const { incoming, outgoing, observe } = to;
  const trace = beginTrace(route.method, route.path);
  const call = createCall(incoming, { trace, pathPart });
  const reply = await replyTo(route.handler, call);
  send(reply, outgoing);
  endTrace(trace, reply.status, observe);
  // A body that nobody wanted must still pass, or the connection's next request would not be seen.
  if (!call.bodyTaken) incoming.resume();
}

function createCall(
  incoming: IncomingMessage,
  known: Pick<HttpCall, "trace" | "pathPart">,
): HttpCall & { bodyTaken: boolean } {
  const { method = "", url = "", headers } = incoming;
  return {
    ...known,
    connection: connectionInfo(incoming.socket as Socket),
    header: (name) => textOf(headers[name]),
    query: (name) => textOf(getQueryParam(url, name)),
    bodyTaken: method === "GET",
    body() {
      this.bodyTaken = true;
      return readBody(incoming);
    },
  };
}

/**
 * A header's or parameter's text. What is asked for by one name is one text; only `Set-Cookie`, which no handler
 * reads, comes as a list.
 */
function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The body of a request whose length was declared, most often in one piece. */
function readBody(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let isWhole = false;
    incoming.on("data", (part: Uint8Array) => {
      bytes += part.length;
      if (bytes > maxBodyBytes) reject(bodyTooLarge());
      else parts.push(part);
    });
    incoming.on("end", () => {
      isWhole = true;
      resolve(parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts));
    });
    // Every request is closed in the end, and to make an error costs more than to read the body did.
    const breakOff = () => {
      if (!isWhole) reject(bodyBrokenOff());
    };
    incoming.on("error", breakOff);
    incoming.on("close", breakOff);
  });
}

function send({ status, headers, body }: Reply, outgoing: ServerResponse): void {
  if (outgoing.destroyed) return;
  // Of a 304 it would be the length of what is not sent.
  if (status !== 304) headers["Content-Length"] = String(Buffer.byteLength(body));
  outgoing.writeHead(status, headers);
  outgoing.end(body);
}
