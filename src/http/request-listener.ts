import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Api } from "./api-router.ts";
import { type ConnectionInfo, hasTwice } from "./http-call.ts";
import { connectionInfo } from "./peer.ts";
import { refusal, sendRefusal } from "./refusal.ts";
import { answerCall } from "./socket-call.ts";

/** What is listened for. */
export type App = {
  /** Answers calls of the API, which come to it alone. */
  readonly api?: Api;
  /** Answers everything else; Hono's apps fit. */
  readonly pages: {
    readonly fetch: (request: Request, env: ConnectionInfo) => Response | Promise<Response>;
  };
};

export type RequestListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void | Promise<void>;

/**
 * The listener for node:http requests. A head that can be read in two ways (`isWellFramed`), a request target or a
 * `Host` that is no URL is 400 and never reaches the app; what its pages throw is 500.
 *
 * @param app while it is only promised, requests wait for it
 * @param onError told of what is thrown, unless the client had left by then
 */
export function createRequestListener(
  app: App | Promise<App>,
  onError: (error: unknown) => void,
): RequestListener {
  let open: App | null = null;
  const opening = Promise.resolve(app).then((opened) => {
    open = opened;
    return opened;
  });
  opening.catch(() => {});

  function fail(error: unknown, socket?: Socket): Response {
    if (error instanceof RequestError) return refusal(400);
    // A body that breaks off because the client left is thrown by the handler, yet no failure of it.
    if (socket?.destroyed !== true) onError(error);
    return refusal(500);
  }

  const listener = getRequestListener(
    async (request, { incoming }) => {
      const socket = incoming.socket as Socket;
      try {
        const { pages } = open ?? (await opening);
        return await pages.fetch(request, connectionInfo(socket));
      } catch (error) {
        return fail(error, socket);
      }
    },
    { overrideGlobalObjects: false, hostname: "localhost", errorHandler: (error) => fail(error) },
  );

  function dispatch(incoming: IncomingMessage, outgoing: ServerResponse) {
    const answer = open?.api?.find(incoming) ?? null;
    return answer === null ? listener(incoming, outgoing) : answerCall(answer, incoming, outgoing);
  }

  return (incoming, outgoing) => {
    if (!isWellFramed(incoming)) return sendRefusal(outgoing, 400);
    if (open !== null) return dispatch(incoming, outgoing);
    const begin = () => dispatch(incoming, outgoing);
    return opening.then(begin, begin);
  };
}

/** Headers that say for whom a request is and where it ends. */
const decisive = ["host", "content-length", "transfer-encoding"];

/**
 * Whether a request's head can be read in one way only. Two readers that take different ones of two lines, one of
 * them a proxy, disagree about whose request it is or where the next one begins; and the runtimes' own parsers, which
 * are four here, do not refuse the same ones.
 *
 * - HTTP/1.0 or 1.1;
 * - one `Host`, which 1.0 may leave out, as health probes do (RFC 9112, 3.2);
 * - one `Content-Length` at most: equal ones may be refused too (RFC 9112, 6.3);
 * - no transfer coding but `chunked`, and none in HTTP/1.0, where whoever passed it on may not know it (RFC 9112, 6.1).
 */
function isWellFramed({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return false;
  if (headers.host === undefined && httpVersion === "1.1") return false;
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (httpVersion === "1.0" || coding.trim().toLowerCase() !== "chunked"))
    return false;
  return !hasTwice(rawHeaders, decisive);
}
