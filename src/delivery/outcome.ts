/** What became of one attempt, and why it failed. */

/** Every reason for which an attempt fails, with one sentence each for the operator. The codes are stable. */
export const deliveryErrors = {
  ENDPOINT_INVALID: "The endpoint's URL cannot be used; set it again.",
  HOST_UNRESOLVED: "The endpoint's host name did not resolve.",
  ADDRESS_REFUSED: "The endpoint's IP address is not a public one.",
  CONNECT_FAILED: "No connection could be made to the endpoint.",
  TLS_FAILED: "The endpoint's certificate or TLS handshake was refused.",
  CONNECTION_LOST: "The connection ended before there was an answer.",
  RESPONSE_MALFORMED: "The endpoint's answer was not HTTP/1.1.",
  RESPONSE_INCOMPLETE: "The endpoint's answer ended before its body was whole.",
  REDIRECT: "The endpoint answered with a redirect, and redirects are not followed; set the final URL.",
  BAD_STATUS: "The endpoint answered with a status that is not 2xx.",
  TIMEOUT: "The exchange was not over at its deadline.",
  ABORTED: "The service stopped while the attempt was under way.",
} as const;

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
