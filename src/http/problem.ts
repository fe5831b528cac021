import { type ErrorCode, isTvsError, publicCodeOf, TvsError } from "../domain/errors.ts";
import { QuotaExceeded } from "../domain/quota.ts";
import { log } from "../logger.ts";
import { type ApiErrorCode, errorCodes } from "../partner/error-codes.ts";
import { type CallTrace, type Handler, type HttpCall, jsonReply, type Reply } from "./http-call.ts";

/** The HTTP status of a failure. */
function statusOf(code: ErrorCode): number {
  return errorCodes[publicCodeOf(code)].status;
}

/** Whether it is the caller's doing, a 4xx, and no failure of the service. */
export function isRefusal(error: unknown): boolean {
  return isTvsError(error) && statusOf(error.code) < 500;
}

/** Whether nobody is known to have called, a 401. */
export function isUnauthenticated(error: unknown): boolean {
  return isTvsError(error) && statusOf(error.code) === 401;
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
  const code = publicCodeOf(known.code);
  const { status } = errorCodes[code];
  trace.error = code;
  if (status >= 500) logFailure(known, trace);
  const headers: Record<string, string> = { "Cache-Control": "no-store" };
  if (known instanceof QuotaExceeded) return quotaExceeded(known, headers);
  if (status === 503 || status === 409) headers["Retry-After"] = retryAfterSeconds;
  if (status === 401) headers["WWW-Authenticate"] = 'Bearer realm="tvs"';
  return jsonReply(status, { statusCode: status, message: publicMessage(known, code) }, headers);
}

/** The words for the caller: what the operator must fix is none of his business. */
function publicMessage(error: TvsError, code: ApiErrorCode): string {
  if (code === "INTERNAL") return "internal error";
  return code === "SERVICE_UNAVAILABLE"
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
