/**
 * Answers that the listener gives itself, before or instead of the application. They have the body of every other
 * error, `{statusCode, message}` (contract C23).
 */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { v7 as uuidv7 } from "uuid";
import type { ApiErrorCode } from "../partner/error-codes.ts";
import { failureHeaders } from "./problem.ts";

/**
 * What every answer over TLS says (RFC 6797): come by TLS only, for a year, because some ask once a year, before an
 * examination. Names below this host are not spoken for. Over plain HTTP it must not be said, and a proxy that ends
 * TLS says it itself.
 */
export const strictTransport = { name: "strict-transport-security", value: "max-age=31536000" } as const;

export type RefusalStatus = 400 | 408 | 417 | 431 | 500;

const messages: Record<RefusalStatus, string> = {
  400: "the request is not valid HTTP",
  408: "the request did not arrive in time",
  417: "the only expectation served is 100-continue",
  431: "the request headers are too large",
  500: "an unexpected error occurred; try again later",
};

const codes = {
  400: "REQUEST_MALFORMED",
  408: "REQUEST_TIMEOUT",
  417: "EXPECTATION_FAILED",
  431: "HEADERS_TOO_LARGE",
  500: "INTERNAL",
} as const satisfies Record<RefusalStatus, ApiErrorCode>;

function headersOf(body: string, statusCode: RefusalStatus): Record<string, string> {
  return {
    // The listener does not know the service's own address: the help is at the one that was asked.
    ...failureHeaders(codes[statusCode], ""),
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-request-id": uuidv7(),
  };
}

function bodyOf(statusCode: RefusalStatus): string {
  return JSON.stringify({ statusCode, message: messages[statusCode] });
}

/** The refusal as a Response, for a request that could still be read. */
export function refusal(statusCode: RefusalStatus): Response {
  const body = bodyOf(statusCode);
  return new Response(body, { status: statusCode, headers: headersOf(body, statusCode) });
}

/**
 * Refuses a request that no handler has seen, and closes the connection, because where the request ends may be unclear.
 */
export function sendRefusal(outgoing: ServerResponse, statusCode: RefusalStatus): void {
  const body = bodyOf(statusCode);
  outgoing.writeHead(statusCode, { ...headersOf(body, statusCode), connection: "close" });
  outgoing.end(body);
}

/** Writes the refusal to a socket on which no request can be made out, and closes it. */
export function refuseSocket(socket: Socket, statusCode: RefusalStatus): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = bodyOf(statusCode);
  const secure =
    "encrypted" in socket && socket.encrypted === true
      ? { [strictTransport.name]: strictTransport.value }
      : {};
  const headers = Object.entries({ ...headersOf(body, statusCode), ...secure, connection: "close" });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines}\r\n${body}`);
  // Not `end`: a peer that never closes its half would keep the connection.
  socket.destroySoon();
}
