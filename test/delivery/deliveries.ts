/** Deliveries to an endpoint on loopback, and ways for the endpoint to answer. */
import type { Socket } from "node:net";
import {
  createWebhookHttpClient,
  type WebhookHttpClient,
  type WebhookHttpClientOptions,
  type WebhookRequest,
} from "../../src/delivery/exchange.ts";
import { type Receiver, type ReceiverOptions, startReceiver } from "./receiver.ts";

export const body = '{"eventId":"évt_1"}';
export const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const open: { close(): void }[] = [];

/** For `afterEach`: closes every receiver and exchange that the test started. */
export function closeAll(): void {
  for (const each of open.splice(0)) each.close();
}

/** Registers something that {@link closeAll} closes. */
export function closeLater<T extends { close(): void }>(each: T): T {
  open.push(each);
  return each;
}

export async function receive(
  answer: (socket: Socket, request: string) => void,
  options: ReceiverOptions = {},
): Promise<Receiver> {
  return closeLater(await startReceiver(answer, options));
}

export function makeExchange(options: WebhookHttpClientOptions = {}): WebhookHttpClient {
  return closeLater(createWebhookHttpClient(options));
}

export function requestTo(to: number | string, overrides: Partial<WebhookRequest> = {}): WebhookRequest {
  const url = new URL(typeof to === "string" ? to : `http://hooks.example.test:${to}/hook?x=1`);
  const { signal } = new AbortController();
  const limits = { allowPrivate: true, deadlineMs: 15_000, signal };
  return { url, address: "127.0.0.1", headers: {}, body, ...limits, ...overrides };
}

/** Sends one delivery to an endpoint that answers with `answer`. */
export async function deliverTo(answer: (socket: Socket) => void, overrides: Partial<WebhookRequest> = {}) {
  const receiver = await receive(answer);
  return makeExchange().deliver(requestTo(receiver.port, overrides));
}

/** Writes the chunk repeatedly, as fast as the other side reads, until the socket closes. */
export function writeEndlessly(socket: Socket, chunk: Uint8Array | string): void {
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
}

/** Writes the text every five milliseconds until the socket closes. */
export function writeSlowly(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 5);
  socket.on("close", () => clearInterval(timer));
}
