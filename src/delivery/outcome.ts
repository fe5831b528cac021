/** What became of one attempt, and why it failed. */

import written from "../../data/delivery-failures.json" with { type: "json" };

/** Every reason for which an attempt fails, with one sentence each for the operator. The codes are stable. */
export const deliveryErrors = written.errors;

export type DeliveryError = keyof typeof deliveryErrors;

export type AttemptResult = {
  /** The HTTP status, as soon as there was one, even when the attempt failed later. */
  readonly status: number | null;
  /** Null when acknowledged. */
  readonly error: DeliveryError | null;
  /** What a failed answer's `Retry-After` asks for, or null. */
  readonly retryAfterSeconds: number | null;
  readonly durationMs: number;
};

/** A sentence for an endpoint's last error, `BAD_STATUS 503` for example. */
export function explainError(lastError: string): string {
  const [code = ""] = lastError.split(" ");
  return Object.hasOwn(deliveryErrors, code) ? deliveryErrors[code as keyof typeof deliveryErrors] : "";
}
