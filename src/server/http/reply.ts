import type { QuotaState } from "../../domain/quota.ts";

/** An answer before it goes out. The headers that every answer has are added where it is sent (http-call.ts). */
export type Reply = {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
};

/** @param headers becomes the answer's own */
export function jsonReply(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  headers["Content-Type"] = "application/json";
  return { status, headers, body: JSON.stringify(value) };
}

/** Contract, X-RateLimit headers. */
export function setRateLimitHeaders(headers: Record<string, string>, state: QuotaState): void {
  headers["X-RateLimit-Limit"] = String(state.limit);
  headers["X-RateLimit-Remaining"] = String(state.remaining);
  headers["X-RateLimit-Reset"] = String(state.resetAt);
}
