import { type ApiErrorCode, errorCodes } from "../partner/error-codes.ts";

/** Failures of the operator's command: no caller meets them. */
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

/** Failures that only the operator can mend: what a caller is told of each is `SERVICE_UNAVAILABLE`. */
type OperatorsErrorCode =
  | "REFUSED"
  | `DATABASE_${"IN_USE" | "TOO_NEW"}`
  | "LOG_BEHIND"
  | `STORE_${"BUSY" | "CONSTRAINT" | "CORRUPT" | "FULL" | "READ_ONLY" | "UNAVAILABLE"}`
  | "SIGNER_UNAVAILABLE"
  | "CLOCK_WRONG";

/**
 * Every failure that this program expects carries a stable code. What callers are told of it is {@link publicCodeOf};
 * the terminal maps it to an exit code (cli/terminal/output.ts).
 */
export type ErrorCode = ApiErrorCode | (typeof commandCodes)[number] | OperatorsErrorCode;

/** The code by which callers, the access log and the metrics know a failure. */
export function publicCodeOf(code: ErrorCode): ApiErrorCode {
  if (code in errorCodes) return code as ApiErrorCode;
  return commandCodes.some((one) => one === code) ? "INTERNAL" : "SERVICE_UNAVAILABLE";
}

type PublicMembers = { readonly retryAfterSeconds?: number };

/**
 * An expected failure.
 *
 * `message` is public: it says what is wrong and what to do, and never repeats a value that could be
 * personal or secret; so are `members`, which a caller finds beside it (`retryAfterSeconds` also as `Retry-After`).
 * `detail` is for the log only.
 */
export class TvsError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly members: PublicMembers;

  constructor(
    code: ErrorCode,
    message: string,
    options: { detail?: string; cause?: unknown; members?: PublicMembers } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TvsError";
    this.code = code;
    this.detail = options.detail;
    this.members = options.members ?? {};
  }
}

/** True when `error` is a {@link TvsError}, optionally of one `code`. */
export function isTvsError(error: unknown, code?: ErrorCode): error is TvsError {
  return error instanceof TvsError && (code === undefined || error.code === code);
}
