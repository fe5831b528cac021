import type { Context } from "hono";
import { parseAccept } from "hono/utils/accept";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ErrorCode, isTvsError, publicCodeOf, TvsError } from "../domain/errors.ts";
import { log } from "../logger.ts";
import { type ApiErrorCode, errorCodes } from "../partner/error-codes.ts";
import type { CallTrace, HonoEnv } from "./context.ts";

function statusOf(code: ErrorCode): number {
  return errorCodes[publicCodeOf(code)].status;
}

/** Returns true if an error is answered with a status 4xx, because the caller made a mistake. */
export function is4xxError(error: unknown): boolean {
  return isTvsError(error) && statusOf(error.code) < 500;
}

/** Returns true if an error is answered with 401, because the call has no valid credential. */
export function is401Error(error: unknown): boolean {
  return isTvsError(error) && statusOf(error.code) === 401;
}

export function isStoreFailure(error: unknown): boolean {
  return isTvsError(error) && error.code.startsWith("STORE_");
}

/** `Retry-After`, in seconds, of failures that end soon (contract C24). */
const retryAfterSeconds = "1";
/** The codes of conflicts with another call or delivery that will soon have finished. */
const shortConflicts: ReadonlySet<ApiErrorCode> = new Set(["IDEMPOTENCY_KEY_IN_USE", "DELIVERY_UNDER_WAY"]);

/**
 * Makes the answer to a failure, and records the failure's code in the trace. The body has the contract's shape,
 * `{statusCode, message}`, or is problem details (RFC 9457) if `Accept` names them. The headers are set on Hono's
 * context, so that an error page can have another body with the same headers.
 */
export function createProblemResponse(error: unknown, c: Context<HonoEnv>): Response {
  const known = isTvsError(error) ? error : new TvsError("INTERNAL", "internal error", { cause: error });
  const code = publicCodeOf(known.code);
  const { status, title } = errorCodes[code];
  if (status >= 500) logFailure(known, c.get("trace"));
  const wait = { retryAfterSeconds: known.retryAfterSeconds };
  setFailureCode(code, c);
  c.header("Cache-Control", "no-store");
  if (wait.retryAfterSeconds !== undefined) c.header("Retry-After", String(wait.retryAfterSeconds));
  else if (status === 503 || shortConflicts.has(code)) c.header("Retry-After", retryAfterSeconds);
  if (status === 401) c.header("WWW-Authenticate", 'Bearer realm="tvs"');
  const message = publicMessageOf(known, code);
  const isProblem = acceptsMediaType(c.req.header("Accept"), problemType);
  const body = isProblem
    ? { type: helpUrlOf(code, c.get("issuer")), title, status, detail: message, code, ...wait }
    : { statusCode: status, message, ...wait };
  const type = isProblem ? problemType : "application/json";
  return c.body(JSON.stringify(body), status as ContentfulStatusCode, { "Content-Type": type });
}

/** Sets the trace's error code, and the headers that name and explain the code. */
export function setFailureCode(code: ApiErrorCode, c: Context<HonoEnv>): void {
  c.get("trace").error = code;
  for (const [name, value] of Object.entries(buildFailureHeaders(code, c.get("issuer"))))
    c.header(name, value);
}

const problemType = "application/problem+json";

/** Returns true if an `Accept` header names a media type with a `q` above 0. */
export function acceptsMediaType(accept: string | undefined, type: string): boolean {
  // The text is searched first, because few callers name this type and the parser is slow.
  if (accept === undefined || !accept.toLowerCase().includes(type)) return false;
  return parseAccept(accept).some((one) => one.type.toLowerCase() === type && one.q > 0);
}

/** Makes the headers with a failure's error code and the link to its explanation in the manual. */
export function buildFailureHeaders(code: ApiErrorCode, issuer: string): Record<string, string> {
  return { "X-Error-Code": code, Link: `<${helpUrlOf(code, issuer)}>; rel="help"` };
}

function helpUrlOf(code: ApiErrorCode, issuer: string): string {
  return `${issuer.replace(/\/+$/, "")}/v1/inter-agency/help/errors#${code}`;
}

/** Returns the message for the caller. If the operator must repair the cause, the details are only logged. */
function publicMessageOf(error: TvsError, code: ApiErrorCode): string {
  if (code === "INTERNAL") return "internal error";
  return code === "SERVICE_UNAVAILABLE"
    ? "the service cannot answer at the moment; try again"
    : error.message;
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
