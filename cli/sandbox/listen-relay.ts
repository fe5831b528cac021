/** The relay of `tvs listen`: takes deliveries on this machine, hands them on byte for byte, and the answer back. */

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import { TvsError } from "../../src/domain/errors.ts";
import { mayBeRelay } from "../../src/domain/sandbox/state.ts";
import type { WebhookEvent } from "../../src/partner/contract.ts";
import { readBounded } from "../safe/input-file.ts";
import { fetchBounded } from "../verify/bounded-fetch.ts";

/** One attempt of a delivery that came by, and what became of it. */
export type RelayedDelivery = {
  readonly at: number;
  readonly eventType: string;
  readonly eventId: string;
  readonly deliveryId: string;
  /** Counted from 1, of those that this relay has seen. */
  readonly attempt: number;
  readonly regNo: string | null;
  readonly tId: number | null;
  /** What the receiver answered; null when it did not, and then the service was answered 502. */
  readonly status: number | null;
  /** Why there is no answer. */
  readonly error: string | null;
  readonly ms: number;
  /** What the delivery says of who signed it. */
  readonly signature: string;
  /** As it was received. */
  readonly body: string;
};

type RelayOptions = {
  /** Where deliveries are handed on to; without it each is acknowledged here. */
  readonly target: URL | null;
  readonly onDelivery: (delivery: RelayedDelivery) => void;
};

type Answer = { readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly body: Buffer };

/** What a running relay answers to who asks whether it is there. */
const presence = "tvs listen";
const presenceMs = 1_000;
/** Far above any delivery, and above what the service reads of an answer. */
const maxBytes = 1024 * 1024;
/** Headers of one connection, which the other one has of its own. */
const ofConnection = /^(?:host|connection|keep-alive|transfer-encoding|content-length|upgrade|te|trailer)$/i;

/** @throws TvsError INTERNAL when this machine gives no port */
export async function startRelay({ target, onDelivery }: RelayOptions) {
  const path = `/${randomBytes(16).toString("hex")}`;
  const attempts = new Map<string, number>();
  const server = http.createServer((request, response) => {
    if (request.url !== path) return void response.writeHead(404).end();
    if (request.method !== "POST") return void response.end(presence);
    relay(request, response, { target, attempts })
      .then(onDelivery)
      .catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening").catch((cause) => {
    throw new TvsError("INTERNAL", "no port can be opened on 127.0.0.1", { cause });
  });
  return {
    /** Where deliveries are to be sent. The path is a secret: nothing else on this machine can post there. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      // A receiver that hangs must not keep who has pressed Ctrl-C waiting.
      server.closeAllConnections();
      return closed;
    },
  };
}

/** Whether a relay answers at its address; one that was killed does not. */
export async function isListening(url: string): Promise<boolean> {
  // The address is a row of the database: only one on this machine is asked, and no long answer is read.
  if (!mayBeRelay(url)) return false;
  return fetchBounded({ url: new URL(url), called: "the relay", timeoutMs: presenceMs }).then(
    ({ body }) => new TextDecoder().decode(body) === presence,
    () => false,
  );
}

async function relay(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { target, attempts }: { target: URL | null; attempts: Map<string, number> },
): Promise<RelayedDelivery> {
  const [at, startedMs] = [Date.now(), performance.now()];
  const body = await readAll(request);
  const deliveryId = headerOf(request, "x-agency-delivery-id");
  const attempt = (attempts.get(deliveryId) ?? 0) + 1;
  attempts.set(deliveryId, attempt);
  const answer =
    target === null ? acknowledged : await handOn(target, { request, response, body }).catch(reason);
  if (typeof answer === "string") response.writeHead(502, { "Content-Type": "text/plain" }).end(answer);
  else response.writeHead(answer.status, passed(answer.headers)).end(answer.body);
  return {
    at,
    eventType: headerOf(request, "x-agency-event-type"),
    eventId: headerOf(request, "x-agency-event-id"),
    deliveryId,
    attempt,
    ...subjectOf(body),
    status: typeof answer === "string" ? null : answer.status,
    error: typeof answer === "string" ? answer : null,
    ms: Math.round(performance.now() - startedMs),
    signature: headerOf(request, "x-agency-signature"),
    body: body.toString("utf8"),
  };
}

const acknowledged: Answer = { status: 204, headers: {}, body: Buffer.alloc(0) };

function headerOf({ headers }: http.IncomingMessage, name: string): string {
  return String(headers[name] ?? "");
}

/** Hands a delivery on with all of its headers; ends with it when the service gives up waiting. */
async function handOn(
  target: URL,
  { request, response, body }: { request: http.IncomingMessage; response: http.ServerResponse; body: Buffer },
): Promise<Answer> {
  const headers = { ...passed(request.headers), Host: target.host, "Content-Length": body.length };
  const { request: open } = target.protocol === "https:" ? https : http;
  const onward = open(target, { method: "POST", headers, agent: false });
  response.once("close", () => {
    if (!response.writableEnded) onward.destroy(new Error("no answer in 15 seconds"));
  });
  // One that comes once the answer has begun, the answer tells.
  onward.on("error", () => {});
  onward.end(body);
  const [incoming] = (await once(onward, "response")) as [http.IncomingMessage];
  return { status: incoming.statusCode ?? 502, headers: incoming.headers, body: await readAll(incoming) };
}

function passed(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.test(name)));
}

/** Why a receiver gave no answer, in a few words. */
function reason(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  if (code === "ECONNREFUSED" || code === "ConnectionRefused") return "nothing listens there";
  return message ?? String(error);
}

async function readAll(stream: http.IncomingMessage): Promise<Buffer> {
  const bytes = await readBounded(stream, maxBytes);
  if (bytes === null) throw new Error("more than 1 MiB");
  return Buffer.from(bytes);
}

/** Whom an event is about, to be shown; a forged body may be anything. */
function subjectOf(body: Buffer): { regNo: string | null; tId: number | null } {
  try {
    const { data } = JSON.parse(body.toString("utf8")) as Partial<WebhookEvent>;
    return { regNo: data?.regNo ?? null, tId: data?.tId ?? null };
  } catch {
    return { regNo: null, tId: null };
  }
}
