/**
 * Every failure that this program expects carries a stable code. The HTTP layer maps the code to a
 * status (http/problem.ts), the terminal maps it to an exit code (cli/terminal/output.ts).
 */
export type ErrorCode =
  // The caller's request
  | "REQUEST_INVALID"
  | "BODY_TOO_LARGE"
  | "CREDENTIAL_REQUIRED"
  | "SCOPE_MISSING"
  | "PURPOSE_NOT_ALLOWED"
  | "QUOTA_EXCEEDED"
  | "IDEMPOTENCY_KEY_REUSED"
  | "IDEMPOTENCY_KEY_IN_USE"
  | "PATH_UNKNOWN"
  | "METHOD_NOT_ALLOWED"
  // The operator's command
  | "USAGE"
  | "INPUT_UNREADABLE"
  | "NOT_KNOWN"
  | "REFUSED"
  | "CONFIG_INVALID"
  | "REGISTER_MISSING"
  | "REGISTER_CLOSED"
  | "MASTER_KEY_MISSING"
  | "MASTER_KEY_WRONG"
  | "MASTER_KEY_INVALID"
  | "DATABASE_IN_USE"
  | "DATABASE_TOO_NEW"
  | "DATABASE_TOO_OLD"
  | "LOG_BEHIND"
  // The machine
  | "STORE_BUSY"
  | "STORE_CONSTRAINT"
  | "STORE_CORRUPT"
  | "STORE_FULL"
  | "STORE_READ_ONLY"
  | "STORE_UNAVAILABLE"
  | "SIGNER_UNAVAILABLE"
  | "CLOCK_WRONG"
  | "OVERLOADED"
  | "INTERNAL";

/**
 * An expected failure.
 *
 * `message` is public: it says what is wrong and what to do, and never repeats a value that could be
 * personal or secret. `detail` is for the log only.
 */
export class TvsError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;

  constructor(code: ErrorCode, message: string, options: { detail?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TvsError";
    this.code = code;
    this.detail = options.detail;
  }
}

/** True when `error` is a {@link TvsError}, optionally of one `code`. */
export function isTvsError(error: unknown, code?: ErrorCode): error is TvsError {
  return error instanceof TvsError && (code === undefined || error.code === code);
}
