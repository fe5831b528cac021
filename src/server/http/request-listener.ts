import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { type ConnectionInfo, connectionInfo } from "./connection-info.ts";
import type { DirectListener } from "./fast-path.ts";
import { isWellFramed } from "./framing.ts";
import { refusal, sendRefusal } from "./refusal.ts";

/** What answers requests: `app.fetch` of Hono fits. */
export type Fetch = (request: Request, env: ConnectionInfo) => Response | Promise<Response>;

export type RequestListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void | Promise<void>;

/**
 * Turns a fetch handler into a listener for node:http requests. A head that can be read in two ways (framing.ts), a
 * request target or a `Host` that is no URL is 400 and never reaches the handler; what the handler throws is 500.
 *
 * @param options.onError told of what the handler throws, unless the client had left by then
 * @param options.direct takes the requests it knows before they become objects of the fetch handler
 */
export function createRequestListener(
  fetch: Fetch,
  {
    onError,
    direct = () => false,
  }: { onError: (error: unknown) => void; direct?: DirectListener | undefined },
): RequestListener {
  function fail(error: unknown, socket?: Socket): Response {
    if (error instanceof RequestError) return refusal(400);
    // A body that breaks off because the client left is thrown by the handler, yet no failure of it.
    if (socket?.destroyed !== true) onError(error);
    return refusal(500);
  }

  const listener = getRequestListener(
    (request, { incoming }) => {
      const socket = incoming.socket as Socket;
      const response = fetch(request, connectionInfo(socket));
      return response instanceof Promise ? response.catch((error) => fail(error, socket)) : response;
    },
    { overrideGlobalObjects: false, hostname: "localhost", errorHandler: (error) => fail(error) },
  );
  return (incoming, outgoing) => {
    if (!isWellFramed(incoming)) return sendRefusal(outgoing, 400);
    return direct(incoming, outgoing) ? undefined : listener(incoming, outgoing);
  };
}
