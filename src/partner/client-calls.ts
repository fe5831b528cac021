/** One call of the client, from the first attempt to the last: deadlines, retries, waits and failures (contract C24). */

import { readBoundedStream } from "./bytes.ts";
import type { ApiErrorCode } from "./error-codes.ts";
import { Refusal } from "./reasons.ts";
import { decodeUtf8, isJsonObject, readStrictJson } from "./strict-json.ts";
import type { Verification } from "./verification.ts";

/** The client's own error codes, for a call that got no reliable answer. The names are stable. */
export const clientErrorCodes = {
  TIMED_OUT: "No answer came in time, each time it was asked.",
  UNREACHABLE:
    "The service could not be reached, each time it was tried: what answered, if anything, was a gateway.",
  ANSWER_UNEXPECTED: "What answered is not the service, or not the service that this client knows.",
  ENVELOPE_REFUSED: "The answer did not verify: it must not be relied on.",
  ANSWER_MISMATCH: "The answer is not one to what was asked: it must not be relied on.",
} as const;
/** An error code of the client, or of the service (see the API reference). A newer service may send more codes. */
export type ClientErrorCode = ApiErrorCode | keyof typeof clientErrorCodes;

/**
 * The error of a call that got no reliable answer. The client throws this error instead of returning a verdict, so that
 * a caller that does not check verdicts never gets an unreliable answer.
 */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientErrorCode;
  /** The HTTP status of the last answer; null if no answer came. */
  readonly status: number | null = null;
  /** The request id of the last answer, for questions to the operator; null if the answer has no id. */
  readonly requestId: string | null = null;
  /** The wait before a retry, as the header `Retry-After` says; null without that header. */
  readonly retryAfterSeconds: number | null = null;
  /** The verification of each envelope; empty unless `code` is `ENVELOPE_REFUSED`. */
  readonly verifications: readonly Verification[] = [];
  /** The call's idempotency key: a retry with this key does not run the call twice. Null if the call has no key. */
  readonly idempotencyKey: string | null = null;
  readonly attempts: number = 1;

  constructor(code: ClientErrorCode, message: string, { cause, ...details }: Partial<ClientError> = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    Object.assign(this, details);
  }
}

/** The most characters of a message of the service. The client shows the error code instead of a longer message. */
const maxMessageCharacters = 500;

/** Makes the error for an answer whose status is not 200. The message in `text` repeats nothing of the request. */
function errorOfResponse({ status, headers }: Response, text: string): ClientError {
  const named = headers.get("x-error-code") ?? "";
  const unnamed = status >= 500 ? "UNREACHABLE" : "ANSWER_UNEXPECTED";
  const code = /^[A-Z][A-Z_]{1,40}$/.test(named) ? (named as ClientErrorCode) : unnamed;
  const read = readStrictJson(text);
  const own = read instanceof Refusal || !isJsonObject(read) ? null : read.message;
  const words = typeof own === "string" && own.length <= maxMessageCharacters ? own : code;
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const message = isRedirect
    ? "the address leads elsewhere, and a credential is not carried along: give the last address as baseUrl"
    : `${status}: ${words}`;
  // The service writes `Retry-After` in seconds (contract C23, decision D2.3). A date from a proxy is ignored.
  const retryAfter = headers.get("retry-after") ?? "";
  return new ClientError(code, message, {
    status: status === 0 ? null : status,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null,
  });
}

/** The options by which a client reaches the service. */
export type ConnectionOptions = {
  /** The service's URL, such as `https://verify.example.org`; http is accepted only for this machine. */
  readonly baseUrl: string;
  /** Your API key; leave it out if your own `fetch` presents a client certificate. */
  readonly apiKey?: string | undefined;
  /** Time limit of each attempt in milliseconds; 15,000 by default. */
  readonly timeoutMs?: number;
  /** How many times the client repeats a failed call at most, from 0 to 3; 3 by default (contract C24). */
  readonly maxRetries?: number;
  /** The longest wait in seconds that the service may ask for; 60 by default. A call with a longer wait fails. */
  readonly maxWaitSeconds?: number;
  /** Your own `fetch`, for a client certificate or a proxy. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Your own function that waits between attempts, for tests. It must reject with the reason of an aborted signal. */
  readonly wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
};

/** The checked options with their defaults. `baseUrl` has no trailing slash. */
export type Connection = Required<Omit<ConnectionOptions, "apiKey">> & Pick<ConnectionOptions, "apiKey">;

export type ApiCall = {
  readonly method: "GET" | "POST";
  /** The path below the base URL, with a leading slash. */
  readonly path: string;
  readonly isPublic?: boolean;
  readonly body?: object;
  readonly idempotencyKey?: string | null;
  /** Whether the caller chose the idempotency key. A key that the client makes has no earlier answer to replay. */
  readonly isKeyGiven?: boolean;
  readonly signal?: AbortSignal | undefined;
};

/** The partner's quota, as the answer's rate-limit headers state it (contract C25). */
export type Quota = {
  /** Calls allowed in a minute. */
  readonly limit: number;
  /** Calls left in the minute or in the day, whichever is less. */
  readonly remaining: number;
  /** When the current minute of the quota ends. */
  readonly resetsAt: Date;
};

export type CallInfo = {
  /** The request id of the answer, for questions to the operator. */
  readonly requestId: string | null;
  readonly attempts: number;
  /** Whether the service replayed the answer of an earlier call with the same idempotency key. */
  readonly isReplay: boolean;
  /** The call's idempotency key: a retry with this key does not run the call twice. Null if the call has no key. */
  readonly idempotencyKey: string | null;
  /** The quota after the call; null if the answer has no rate-limit headers. */
  readonly quota: Quota | null;
};

export type ReceivedAnswer = {
  readonly text: string;
  readonly info: CallInfo;
  readonly call: ApiCall;
  /** The answer's header `X-Verification-Id`; null if absent. */
  readonly verificationId: string | null;
  /** Unix time in milliseconds when the first attempt began; `endedAtMs` is the time when the whole answer was read. */
  readonly begunAtMs: number;
  readonly endedAtMs: number;
};

/** Makes the error for an answer with status 200 on which the caller must not rely. */
export function createUnusableAnswerError(
  code: ClientErrorCode,
  message: string,
  { info: { requestId, attempts, idempotencyKey } }: ReceivedAnswer,
  verifications: readonly Verification[] = [],
): ClientError {
  return new ClientError(code, message, { status: 200, requestId, attempts, idempotencyKey, verifications });
}

const firstBackOffMs = 1_000;
/** The largest random addition to a wait, as a share of the wait, so that clients do not all retry together. */
const jitter = 0.2;

/** Computes the milliseconds before a retry: 1, 2, 4 s plus up to 20 %, or as the service asks; null for no retry. */
function waitBefore(error: ClientError, attempts: number, connection: Connection) {
  const { maxRetries, maxWaitSeconds } = connection;
  const { code, status, retryAfterSeconds } = error;
  // A retry with an idempotency key does not run the call twice. A lookup has no key: if only the lookup's answer was
  // lost, the retry is a second call and is charged.
  const mayHelp = ["TIMED_OUT", "UNREACHABLE", "IDEMPOTENCY_KEY_IN_USE"].includes(code);
  const isTransient = mayHelp || status === 429 || (status !== null && status >= 500);
  if (!isTransient || attempts > maxRetries) return null;
  const asked = retryAfterSeconds ?? 0;
  if (asked > maxWaitSeconds) return null;
  const backOffMs = firstBackOffMs * 2 ** (attempts - 1) * (1 + Math.random() * jitter);
  return status === 429 && asked > 0 ? asked * 1_000 : Math.max(asked * 1_000, backOffMs);
}

function headersOf({ apiKey }: Connection, { isPublic = false, body, idempotencyKey }: ApiCall) {
  return {
    Accept: "application/json",
    ...(apiKey === undefined || isPublic ? {} : { Authorization: `Bearer ${apiKey}` }),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(idempotencyKey == null ? {} : { "Idempotency-Key": idempotencyKey }),
  };
}

function quotaOf(headers: Headers): Quota | null {
  const numbers = ["limit", "remaining", "reset"].map((name) => headers.get(`x-ratelimit-${name}`));
  if (!numbers.every((text) => text !== null && /^\d{1,12}$/.test(text))) return null;
  const [limit = 0, remaining = 0, reset = 0] = numbers.map(Number);
  return { limit, remaining, resetsAt: new Date(reset * 1_000) };
}

/** Makes a signal that aborts when the caller's signal aborts, or after `timeoutMs` unless `end` is called first. */
function startDeadline(timeoutMs: number, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  const state = { isOver: false };
  const abort = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => {
    state.isOver = true;
    controller.abort();
  }, timeoutMs);
  signal?.addEventListener("abort", abort);
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, state, end };
}

/** The most bytes that are read of an answer, far more than 100 envelopes have: a proxy must not fill the memory. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** Sends a call once. @returns the answer or a ClientError @throws the reason of the caller's signal if it aborts */
async function attempt(connection: Connection, call: ApiCall) {
  const { method, path, body, signal } = call;
  signal?.throwIfAborted();
  const limit = startDeadline(connection.timeoutMs, signal);
  try {
    const response = await connection.fetch(`${connection.baseUrl}${path}`, {
      method,
      headers: headersOf(connection, call),
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual",
      signal: limit.signal,
    });
    const { body: stream } = response;
    const bytes = stream === null ? new Uint8Array() : await readBoundedStream(stream, maxAnswerBytes);
    if (bytes === null)
      return new ClientError("ANSWER_UNEXPECTED", "the answer is longer than any of the service", {
        status: response.status,
      });
    const text = decodeUtf8(bytes);
    if (response.status !== 200) return errorOfResponse(response, text ?? "");
    if (text !== null) return { response, text };
    return new ClientError("ANSWER_UNEXPECTED", "the answer is no text in UTF-8", { status: 200 });
  } catch (cause) {
    signal?.throwIfAborted();
    if (limit.state.isOver)
      return new ClientError("TIMED_OUT", `no answer within ${connection.timeoutMs} ms`, { cause });
    return new ClientError("UNREACHABLE", "the service cannot be reached: see the cause", { cause });
  } finally {
    limit.end();
  }
}

/**
 * Makes a call, and repeats it after a transient failure (contract C24) with the same idempotency key.
 * @throws ClientError if the last attempt fails; the reason of the caller's signal if the signal aborts
 */
export async function sendApiCall(connection: Connection, call: ApiCall): Promise<ReceivedAnswer> {
  const { idempotencyKey = null } = call;
  const begunAtMs = Date.now();
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(connection, call);
    if (!(outcome instanceof ClientError)) {
      const { text, response } = outcome;
      const { headers } = response;
      const isReplay = headers.get("idempotent-replayed") === "true";
      const requestId = headers.get("x-request-id");
      const info = { requestId, attempts, isReplay, idempotencyKey, quota: quotaOf(headers) };
      const verificationId = headers.get("x-verification-id");
      return { text, info, call, verificationId, begunAtMs, endedAtMs: Date.now() };
    }
    const milliseconds = waitBefore(outcome, attempts, connection);
    if (milliseconds === null) throw Object.assign(outcome, { attempts, idempotencyKey });
    await connection.wait(milliseconds, call.signal);
  }
}
