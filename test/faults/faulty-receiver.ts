/** A webhook endpoint that fails at random one time in three, and records each request and its outcome. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../harness/endpoint.ts";

export type ReceivedWebhook = {
  /** The id of the partner, which is the path of its endpoint. */
  readonly partnerId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly deliveryId: string;
  readonly body: string;
  /** Whether a whole 2xx answer was written to the connection. */
  isAcknowledged: boolean;
};

export type FaultyReceiver = {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  close(): void;
};

type Answer = (response: ServerResponse) => void;

/** The ways in which the endpoint fails, with equal probability. */
const failures: readonly Answer[] = [
  (response) => response.writeHead(500).end("no"),
  (response) => response.writeHead(503, { "Retry-After": "1" }).end(),
  // Destroys the connection, because Bun answers 200 if the response is destroyed.
  ({ req }) => req.socket.destroy(),
  // Sends the headers and a part of the body only.
  (response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("a part");
    setTimeout(() => response.req.socket.destroy(), 20);
  },
  (response) => setTimeout(() => response.writeHead(502).end(), 200 + Math.random() * 800),
];

function acknowledge(response: ServerResponse, received: ReceivedWebhook): void {
  response.on("finish", () => {
    received.isAcknowledged = true;
  });
  // Some answers are slow, so that the sender is killed during attempts.
  const waitMs = Math.random() < 0.1 ? Math.random() * 1_000 : 0;
  setTimeout(() => response.writeHead(Math.random() < 0.5 ? 200 : 204).end(), waitMs);
}

export async function startFaultyReceiver(): Promise<FaultyReceiver> {
  const received: ReceivedWebhook[] = [];
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    const one = await readRequest(request).catch(() => undefined);
    if (one === undefined) return;
    received.push(one);
    if (Math.random() >= 1 / 3) return acknowledge(response, one);
    failures[Math.floor(Math.random() * failures.length)]?.(response);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: await listen(server), received, close };
}

async function readRequest(request: IncomingMessage): Promise<ReceivedWebhook> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const header = (name: string) => String(request.headers[name]);
  return {
    partnerId: String(request.url).slice(1),
    eventId: header("x-agency-event-id"),
    eventType: header("x-agency-event-type"),
    deliveryId: header("x-agency-delivery-id"),
    body: Buffer.concat(chunks).toString("utf8"),
    isAcknowledged: false,
  };
}
