/** Test endpoints: raw sockets on loopback, which can send any bytes as an answer. */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { withTimeout } from "../harness/eventually.ts";

export type Receiver = {
  readonly port: number;
  /** The complete requests received so far, as Latin-1 text. */
  readonly requests: string[];
  /** Returns the number of accepted connections. */
  readonly connections: () => number;
  /** Resolves when either side has closed a connection. */
  readonly closed: Promise<void>;
  close(): void;
};

export type ReceiverOptions = {
  readonly host?: string;
  readonly port?: number;
  /** The TLS options; undefined for a receiver without TLS. */
  readonly tls?: TlsOptions;
};

/** Starts a receiver that calls `answer` once for every whole request. */
export async function startReceiver(
  answer: (socket: Socket, request: string) => void,
  options: ReceiverOptions = {},
): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let connections = 0;
  const closed = Promise.withResolvers<void>();
  const accept = (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    let pending = "";
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      closed.resolve();
    });
    socket.on("data", (chunk: Buffer) => {
      pending += chunk.toString("latin1");
      for (let end = endOfRequest(pending); end > 0; end = endOfRequest(pending)) {
        requests.push(pending.slice(0, end));
        pending = pending.slice(end);
        answer(socket, requests.at(-1) ?? "");
      }
    });
  };
  const server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept);
  server.on("tlsClientError", () => {});
  await listen(server, options);
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const { port } = server.address() as AddressInfo;
  const open = () => `none of ${connections} connections was closed, after ${requests.length} requests`;
  return { port, requests, connections: () => connections, closed: withTimeout(closed.promise, open), close };
}

function listen(server: Server, { host = "127.0.0.1", port = 0 }: ReceiverOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
}

/** Returns the index at which the first request of `text` ends, or 0 if the request is incomplete. */
function endOfRequest(text: string): number {
  const bodyStart = text.indexOf("\r\n\r\n") + 4;
  if (bodyStart < 4) return 0;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.length >= bodyStart + length ? bodyStart + length : 0;
}
