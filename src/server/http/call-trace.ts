import { v7 as uuidv7 } from "uuid";
import type { Call, CallObserver } from "../../domain/calls.ts";
import { usualCode } from "../problem.ts";

/**
 * What becomes known of a call while it is answered, and is told to who counts and keeps calls when it is. One object
 * from the arrival to the access log, because every call pays for each further one.
 */
export type CallTrace = { -readonly [Member in keyof Call]: Call[Member] };

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);

/** @param route the pattern that the request's path matched, never the path */
export function beginTrace(method: string, route: string): CallTrace {
  return {
    requestId: uuidv7(),
    route,
    // Any word may stand for a method, a number or an address too.
    method: methods.has(method) ? method : "other",
    status: 0,
    partnerId: null,
    keyId: null,
    // Until the end it is when the call began.
    ms: performance.now(),
    error: null,
    replayed: false,
  };
}

export function endTrace(trace: CallTrace, status: number, observe: CallObserver | undefined): void {
  trace.ms = performance.now() - trace.ms;
  trace.status = status;
  // What a page says in its own words has no failure behind it that would name the code.
  trace.error ??= usualCode(status);
  observe?.(trace);
}
