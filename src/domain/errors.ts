import { type ApiErrorCode, errorCodes } from "../partner/error-codes.ts";

/** The codes of failures of commands. HTTP callers get `INTERNAL` instead. */
const commandCodes = [
  "USAGE",
  "INPUT_UNREADABLE",
  "CONFIG_INVALID",
  "REGISTER_MISSING",
  "REGISTER_CLOSED",
  "MASTER_KEY_MISSING",
  "MASTER_KEY_WRONG",
  "MASTER_KEY_INVALID",
] as const;

/** The codes of failures that only the operator can repair. HTTP callers get `SERVICE_UNAVAILABLE` instead. */
type OperatorsErrorCode =
  | "REFUSED"
  | `DATABASE_${"IN_USE" | "TOO_NEW"}`
  | "LOG_BEHIND"
  | `STORE_${"BUSY" | "CONSTRAINT" | "CORRUPT" | "FULL" | "READ_ONLY" | "UNAVAILABLE"}`
  | "SIGNER_UNAVAILABLE"
  | "CLOCK_WRONG";

/** The stable codes of expected failures. `cli/terminal/output.ts` maps them to exit codes. */
export type ErrorCode = ApiErrorCode | (typeof commandCodes)[number] | OperatorsErrorCode;

/** Maps an error code to the public code, which HTTP callers, the access log and metrics get. */
export function publicCodeOf(code: ErrorCode): ApiErrorCode {
  if (code in errorCodes) return code as ApiErrorCode;
  return commandCodes.some((one) => one === code) ? "INTERNAL" : "SERVICE_UNAVAILABLE";
}

/**
 * An expected failure. The public `message` says what is wrong and what to do, and never contains personal or secret
 * values. `retryAfterSeconds` is public too. `detail` is for the log only.
 */
export class TvsError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { detail?: string; cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TvsError";
    this.code = code;
    this.detail = options.detail;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** True if `error` is a {@link TvsError}, and has this `code` if one is given. */
export function isTvsError(error: unknown, code?: ErrorCode): error is TvsError {
  return error instanceof TvsError && (code === undefined || error.code === code);
}
