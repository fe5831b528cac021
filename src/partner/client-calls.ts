/** One call of the client, from the first attempt to the last: deadlines, retries and waits (contract C24). */

import { concatenated } from "./bytes.ts";
import { ClientError, failureOf } from "./client-error.ts";
import { decodeUtf8 } from "./strict-json.ts";

/** What every call of a client has in common. */
export type Connection = {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly maxWaitSeconds: number;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Waits; rejects with the signal's reason when that aborts. */
  readonly wait: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
};

/** What is asked for. */
export type Call = {
  readonly method: "GET" | "POST";
  /** Below the base URL, with a slash at its beginning. */
  readonly path: string;
  readonly isPublic?: boolean;
  readonly body?: object;
  readonly idempotencyKey?: string | null;
  /** The caller's own: the call may have been answered before. */
  readonly isKeyGiven?: boolean;
  readonly signal?: AbortSignal | undefined;
};

/** What the service said of the partner's quota (contract C25). */
export type Quota = {
  /** Calls a minute. */
  readonly limit: number;
  /** Calls that are left, of the minute or of the day, whichever is less. */
  readonly remaining: number;
  /** When the window ends. */
  readonly resetsAt: Date;
};

/** What is known of a call beside its answer. */
export type CallInfo = {
  /** The service's id of the answer: name it when asking the operator. */
  readonly requestId: string | null;
  /** How often the service was asked. */
  readonly attempts: number;
  /** The answer of an earlier call with the same idempotency key. */
  readonly isReplay: boolean;
  /** Under which the same call may be made again without running twice; null for calls that have none. */
  readonly idempotencyKey: string | null;
  /** Null where the service does not say. */
  readonly quota: Quota | null;
};

export type Received = {
  readonly text: string;
  readonly info: CallInfo;
  /** The one that the answer's header names: null where it names none. */
  readonly verificationId: string | null;
  readonly isKeyGiven: boolean;
  /** When the first attempt was made, and when the last was answered. */
  readonly begunAtMs: number;
  readonly endedAtMs: number;
};

/** Whether it may go well the next time; the service runs a call with an idempotency key once, however often it comes. */
function isWorthAnother({ code, status }: ClientError): boolean {
  const mayHelp = ["TIMED_OUT", "UNREACHABLE", "IDEMPOTENCY_KEY_IN_USE"].includes(code);
  return mayHelp || status === 429 || (status !== null && status >= 500);
}

const firstBackOffMs = 1_000;
/** So that clients which failed together do not come back together. */
const jitter = 0.2;

/**
 * How long to wait before the next attempt: 1 s, 2 s, 4 s and up to a fifth more, or as long as the service asks.
 * @returns null when there is to be none
 */
function waitBefore(error: ClientError, attempts: number, connection: Connection) {
  const { maxRetries, maxWaitSeconds } = connection;
  const { status, retryAfterSeconds } = error;
  if (!isWorthAnother(error) || attempts > maxRetries) return null;
  const asked = retryAfterSeconds ?? 0;
  if (asked > maxWaitSeconds) return null;
  const backOffMs = firstBackOffMs * 2 ** (attempts - 1) * (1 + Math.random() * jitter);
  return status === 429 && asked > 0 ? asked * 1_000 : Math.max(asked * 1_000, backOffMs);
}

function headersOf({ apiKey }: Connection, { isPublic = false, body, idempotencyKey }: Call) {
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

/** A signal that also aborts when the time is over, over the body as well as the head. */
function deadline(timeoutMs: number, signal: AbortSignal | undefined) {
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

/** Far more than a batch of a hundred envelopes has, unpacked. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** Whoever stands between a partner and the service must not fill its memory. @returns null for what is too long */
async function readBounded(response: Response): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    size += next.value.length;
    parts.push(next.value);
    if (size <= maxAnswerBytes) continue;
    await reader?.cancel();
    return null;
  }
  return concatenated(parts);
}

/** One attempt: the answer's text, or why there is none. @throws the caller's own reason when its signal aborts */
async function attempt(
  connection: Connection,
  call: Call,
): Promise<{ response: Response; text: string } | ClientError> {
  const { method, path, body, signal } = call;
  signal?.throwIfAborted();
  const limit = deadline(connection.timeoutMs, signal);
  try {
    const response = await connection.fetch(`${connection.baseUrl}${path}`, {
      method,
      headers: headersOf(connection, call),
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual",
      signal: limit.signal,
    });
    const bytes = await readBounded(response);
    if (bytes === null)
      return new ClientError("ANSWER_UNEXPECTED", "the answer is longer than any of the service", {
        status: response.status,
      });
    const text = decodeUtf8(bytes);
    if (response.status !== 200) return failureOf(response, text ?? "");
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
 * Makes a call, again where the contract says so, always with the same idempotency key.
 *
 * @param connection the client's settings
 * @param call what is asked for
 * @throws ClientError when it failed for good; the reason of the caller's signal when that aborts
 */
export async function send(connection: Connection, call: Call): Promise<Received> {
  const { idempotencyKey = null, isKeyGiven = false, signal } = call;
  const begunAtMs = Date.now();
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(connection, call);
    if (!(outcome instanceof ClientError)) {
      const { headers } = outcome.response;
      const isReplay = headers.get("idempotent-replayed") === "true";
      const requestId = headers.get("x-request-id");
      const info = { requestId, attempts, isReplay, idempotencyKey, quota: quotaOf(headers) };
      const verificationId = headers.get("x-verification-id");
      return { text: outcome.text, info, verificationId, isKeyGiven, begunAtMs, endedAtMs: Date.now() };
    }
    const milliseconds = waitBefore(outcome, attempts, connection);
    if (milliseconds === null) throw Object.assign(outcome, { attempts, idempotencyKey });
    await connection.wait(milliseconds, signal);
  }
}
