/** A call of the API on its socket: how its headers and its body are read, and how it is answered. */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { log } from "../logger.ts";
import type { Api } from "./api-router.ts";
import { bodyBrokenOff, bodyTooLarge, hasTwice, maxBodyBytes, type Reply } from "./http-call.ts";
import { connectionInfo } from "./peer.ts";

type Answer = NonNullable<ReturnType<Api["find"]>>;

/** Has a call answered, whatever happens. */
export function answerCall(answer: Answer, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const body = createBody(incoming);
  const caller = {
    connection: connectionInfo(incoming.socket as Socket),
    header: (name: string) => headerOf(incoming, name),
    body: body.read,
  };
  answer(caller)
    .then((reply) => {
      send(reply, incoming, outgoing);
      body.pass();
    })
    .catch((error) => {
      // Handlers answer their own failures. What is left is an answer that cannot be written: nobody waits for it
      // longer than needed, and it must not end the service, as a rejection that nobody takes would.
      log.error("an answer could not be written", { detail: String(error) });
      outgoing.destroy();
    });
}

const credential = ["authorization"];

/**
 * A header's text. What is sent by one name on two lines is one text (RFC 9110, 5.3), which `node:http` does not make of
 * `Authorization`: there it shows the first line alone, and two credentials are none.
 */
function headerOf({ headers, rawHeaders }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  if (name === "authorization" && hasTwice(rawHeaders, credential)) return `${value}, …`;
  // Only `Set-Cookie`, which no handler reads, comes as a list.
  return typeof value === "string" ? value : undefined;
}

function createBody(incoming: IncomingMessage) {
  const { "content-length": length, "transfer-encoding": coding } = incoming.headers;
  let isPassing = length === undefined && coding === undefined;
  let bytes = 0;

  /** Who goes on sending what is not taken is let go. */
  function count(part: Uint8Array): void {
    bytes += part.length;
    if (bytes > 2 * maxBodyBytes) incoming.socket.destroySoon();
  }

  return {
    /** Reads the body, once, most often in one piece. */
    read(): Promise<Uint8Array> {
      if (isPassing) return Promise.resolve(new Uint8Array());
      return new Promise((resolve, reject) => {
        if (Number(length) > maxBodyBytes) return reject(bodyTooLarge());
        // It broke off before anybody listened, and would not say so again.
        if (incoming.destroyed) return reject(bodyBrokenOff());
        isPassing = true;
        const parts: Uint8Array[] = [];
        let isWhole = false;
        incoming.on("data", (part: Uint8Array) => {
          count(part);
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
    },
    /** A body that nobody wanted must still pass, or the connection's next request would not be seen. */
    pass(): void {
      if (!isPassing) incoming.on("data", count);
    },
  };
}

function send({ status, headers, body }: Reply, { method }: IncomingMessage, outgoing: ServerResponse): void {
  if (outgoing.destroyed) return;
  const hasBody = status !== 304 && method !== "HEAD";
  // Elsewhere it would be the length of what is not sent.
  if (hasBody) headers["Content-Length"] = String(Buffer.byteLength(body));
  outgoing.writeHead(status, headers);
  outgoing.end(hasBody ? body : undefined);
}
