/** How a call of the client fails. */

import type { ApiErrorCode } from "./error-codes.ts";
import { Refusal } from "./reasons.ts";
import { isJsonObject, readStrictJson } from "./strict-json.ts";
import type { Verification } from "./verification.ts";

/** The client's own words, for a call that brought no answer, or none to rely on. The names are stable. */
export const clientErrorCodes = {
  TIMED_OUT: "No answer came in time, each time it was asked.",
  UNREACHABLE:
    "The service could not be reached, each time it was tried: what answered, if anything, was a gateway.",
  ANSWER_UNEXPECTED: "What answered is not the service, or not the service that this client knows.",
  ENVELOPE_REFUSED: "The answer did not verify: it must not be relied on.",
  ANSWER_MISMATCH: "The answer is not one to what was asked: it must not be relied on.",
} as const;
/** The service's word where it refused or failed, which the API reference explains; a newer service may have more. */
export type ClientErrorCode = ApiErrorCode | keyof typeof clientErrorCodes;

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

/** The service names each of its own failures. */
function codeOf(status: number, headers: Headers): ClientErrorCode {
  const named = headers.get("x-error-code") ?? "";
  if (/^[A-Z][A-Z_]{1,40}$/.test(named)) return named as ClientErrorCode;
  return status >= 500 ? "UNREACHABLE" : "ANSWER_UNEXPECTED";
}

/** Longer ones are not the service's. */
const maxTextLength = 500;

/** The message of the failure's body, which never repeats what was sent; null when it has none. */
function messageOf(body: string): string | null {
  const read = readStrictJson(body);
  const text = read instanceof Refusal || !isJsonObject(read) ? null : read.message;
  return typeof text === "string" && text.length <= maxTextLength ? text : null;
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
  const code = codeOf(status, headers);
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const message = isRedirect
    ? "the address leads elsewhere, and a credential is not carried along: give the last address as baseUrl"
    : `${status}: ${messageOf(text) ?? code}`;
  return new ClientError(code, message, {
    status: status === 0 ? null : status,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: waitOf(headers),
  });
}
