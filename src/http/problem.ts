import { type ErrorCode, isTvsError, TvsError } from "../domain/errors.ts";
import { QuotaExceeded } from "../domain/quota.ts";
import { log } from "../logger.ts";
import { type CallTrace, type Handler, type HttpCall, jsonReply, type Reply } from "./http-call.ts";

/** The HTTP status of each failure, said here alone. What is not named is 500. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  REQUEST_INVALID: 400,
  CREDENTIAL_REQUIRED: 401,
  SCOPE_MISSING: 403,
  PURPOSE_NOT_ALLOWED: 403,
  PATH_UNKNOWN: 404,
  NOT_KNOWN: 404,
  METHOD_NOT_ALLOWED: 405,
  IDEMPOTENCY_KEY_IN_USE: 409,
  BODY_TOO_LARGE: 413,
  IDEMPOTENCY_KEY_REUSED: 422,
  QUOTA_EXCEEDED: 429,
  OVERLOADED: 503,
  SIGNER_UNAVAILABLE: 503,
  CLOCK_WRONG: 503,
  DATABASE_TOO_NEW: 503,
  DATABASE_TOO_OLD: 503,
  LOG_BEHIND: 503,
  // The database's, which may not be used any more.
  REFUSED: 503,
  STORE_BUSY: 503,
  STORE_CONSTRAINT: 503,
  STORE_CORRUPT: 503,
  STORE_FULL: 503,
  STORE_READ_ONLY: 503,
  STORE_UNAVAILABLE: 503,
};

/** Whether it is the caller's doing, a 4xx, and no failure of the service. */
export function isRefusal(error: unknown): boolean {
  return isTvsError(error) && (statuses[error.code] ?? 500) < 500;
}

/** Whether the database did not do what it was asked. */
export function isStoreFailure(error: unknown): boolean {
  return isTvsError(error) && error.code.startsWith("STORE_");
}

/** Seconds after which a caller may try again what failed for a passing reason (contract C24). */
const retryAfterSeconds = "1";

/** Answers a call, whatever happens, with the headers that every answer has. */
export async function replyTo(handler: Handler, call: HttpCall): Promise<Reply> {
  const reply = await handler(call).catch((error) => problemReply(error, call));
  reply.headers["X-Request-Id"] = call.trace.requestId;
  reply.headers["X-Content-Type-Options"] = "nosniff";
  return reply;
}

/** Answers a failure in the contract's shape, `{statusCode, message}`, and notes its code on the call. */
export function problemReply(error: unknown, { trace }: { trace: CallTrace }): Reply {
  const known = isTvsError(error) ? error : new TvsError("INTERNAL", "internal error", { cause: error });
  const status = statuses[known.code] ?? 500;
  trace.error = known.code;
  if (status >= 500) logFailure(known, trace);
  const headers: Record<string, string> = { "Cache-Control": "no-store" };
  if (known instanceof QuotaExceeded) return quotaExceeded(known, headers);
  if (status === 503 || status === 409) headers["Retry-After"] = retryAfterSeconds;
  if (status === 401) headers["WWW-Authenticate"] = 'Bearer realm="tvs"';
  return jsonReply(status, { statusCode: status, message: publicMessage(known, status) }, headers);
}

/** Failures that only the operator can put right, besides those of the store. */
const operatorsOwn: readonly ErrorCode[] = ["CLOCK_WRONG", "DATABASE_TOO_NEW", "LOG_BEHIND", "REFUSED"];

/** The words for the caller: what the operator must fix is none of his business. */
function publicMessage(error: TvsError, status: number): string {
  if (status === 500) return "internal error";
  return isStoreFailure(error) || operatorsOwn.includes(error.code)
    ? "the service cannot answer at the moment; try again"
    : error.message;
}

function quotaExceeded({ refusal, message }: QuotaExceeded, headers: Record<string, string>): Reply {
  const { retryAfterSeconds } = refusal;
  headers["Retry-After"] = String(retryAfterSeconds);
  return jsonReply(429, { statusCode: 429, message, retryAfterSeconds }, headers);
}

function logFailure(error: TvsError, { requestId, method, route }: CallTrace): void {
  const cause = error.cause instanceof Error ? error.cause.stack : undefined;
  log.error("request failed", {
    code: error.code,
    detail: error.detail ?? cause ?? error.message,
    requestId,
    method,
    route,
  });
}
