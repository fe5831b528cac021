/** How a call of the client fails. */

import { Refusal } from "./reasons.ts";
import { isJsonObject, readStrictJson } from "./strict-json.ts";
import type { Verification } from "./verification.ts";

/** Every way in which a call can fail, with one sentence each. The names are stable. */
export const clientErrorCodes = {
  REQUEST_INVALID: "The service refused the call as malformed (400, 413): mend it before it is sent again.",
  UNAUTHORIZED: "The service knows no such credential, or it has ended (401).",
  FORBIDDEN: "The scope for this call or the purpose is not among those that were agreed (403).",
  NOT_FOUND: "There is nothing at this address (404, 405): is baseUrl right?",
  KEY_IN_USE: "The same call is still being answered under this idempotency key (409).",
  KEY_REUSED: "The idempotency key was used with another body (422).",
  QUOTA_EXCEEDED: "The quota of this minute or this day is spent (429).",
  UNAVAILABLE: "The service could not answer (5xx), each time it was asked.",
  TIMED_OUT: "No answer came in time, each time it was asked.",
  UNREACHABLE: "The service could not be reached, each time it was tried.",
  ANSWER_UNEXPECTED: "What answered is not the service, or not the service that this client knows.",
  ENVELOPE_REFUSED: "The answer did not verify: it must not be relied on.",
  ANSWER_MISMATCH: "The answer is not one to what was asked: it must not be relied on.",
} as const;
export type ClientErrorCode = keyof typeof clientErrorCodes;

/** What is known of a call that failed. */
type ClientErrorDetails = {
  /** The status of the last answer; null when there was none. */
  readonly status?: number | null;
  /** The service's id of the last answer: name it when asking the operator. */
  readonly requestId?: string | null;
  /** How long the service asks to wait. */
  readonly retryAfterSeconds?: number | null;
  /** What each of the answer's envelopes was judged to be; only with `ENVELOPE_REFUSED`. */
  readonly verifications?: readonly Verification[];
  readonly cause?: unknown;
};

/**
 * A call that brought no answer to rely on. It is thrown, where the verifier gives verdicts as values: what is missing
 * must not be taken for an answer by who forgot to look.
 */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientErrorCode;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly verifications: readonly Verification[];
  /** The key under which the call may be made again without running twice; null for calls that have none. */
  idempotencyKey: string | null = null;
  /** How often the service was asked. */
  attempts = 1;

  constructor(code: ClientErrorCode, message: string, details: ClientErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
    this.verifications = details.verifications ?? [];
  }
}

const codesByStatus: Readonly<Record<number, ClientErrorCode>> = {
  400: "REQUEST_INVALID",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "NOT_FOUND",
  409: "KEY_IN_USE",
  413: "REQUEST_INVALID",
  422: "KEY_REUSED",
  429: "QUOTA_EXCEEDED",
};

function codeOf(status: number): ClientErrorCode {
  return codesByStatus[status] ?? (status >= 500 ? "UNAVAILABLE" : "ANSWER_UNEXPECTED");
}

/** Longer ones are not the service's. */
const maxMessageLength = 500;

/** The service's own sentence, which never repeats what was sent; null when the body has none. */
function messageOf(text: string): string | null {
  const body = readStrictJson(text);
  if (body instanceof Refusal || !isJsonObject(body) || typeof body.message !== "string") return null;
  return body.message.length > maxMessageLength ? null : body.message;
}

/** Seconds of `Retry-After` (contract C23 has the same number in the body); null for a date or none. */
function waitOf(headers: Headers): number | null {
  const text = headers.get("retry-after") ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/**
 * The failure that an answer with another status than 200 means.
 *
 * @param response the answer
 * @param text its body
 */
export function failureOf({ status, headers }: Response, text: string): ClientError {
  const code = codeOf(status);
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const said = messageOf(text);
  const message = isRedirect
    ? "the address leads elsewhere, and a credential is not carried along: give the last address as baseUrl"
    : `${status}: ${said ?? clientErrorCodes[code]}`;
  return new ClientError(code, message, {
    status: status === 0 ? null : status,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: waitOf(headers),
  });
}
