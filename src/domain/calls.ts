import { isoTime, timeOfUuid } from "./clock.ts";
import { type ErrorCode, TvsError } from "./errors.ts";

/** One call that was answered, as the access log keeps it: nothing of what was asked, nor from which address. */
export type Call = {
  /** A UUID of version 7: the time in it is the call's arrival. */
  readonly requestId: string;
  /** The route's pattern, such as `/v1/inter-agency/lookup/by-tid/{tId}`; `other` for an address that has none. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** Null where no credential was valid, and where none is asked for. */
  readonly partnerId: string | null;
  /** The API key id or certificate fingerprint that counted. */
  readonly keyId: string | null;
  /** From the request's arrival to its answer. */
  readonly ms: number;
  /** Why it was refused or failed; null where it was not, or where no code says why. */
  readonly error: ErrorCode | null;
  /** Whether an earlier answer was sent again: then this call has no attestation of its own. */
  readonly replayed: boolean;
};

/** A call as its line has it, and as `tvs calls --json` shows it: its time first, which is in its id. */
export function describeCall({ requestId, ...call }: Call) {
  const { route, method, status, partnerId, keyId, error, replayed } = call;
  const ms = Math.round(call.ms * 10) / 10;
  const time = isoTime(timeOfUuid(requestId) ?? 0);
  return { time, route, method, status, partnerId, keyId, requestId, ms, error, replayed };
}

/**
 * Calls of partners, and those of callers that are none. Each has files and room of its own wherever calls are kept: who
 * has no credential calls as often as he likes, and pushes no partner's call out (decision D11.1).
 */
export const callKinds = ["partners", "strangers"] as const;
export type CallKind = (typeof callKinds)[number];
export type CallsOfKinds = Readonly<Record<CallKind, number>>;

export function kindOf({ partnerId }: Pick<Call, "partnerId">): CallKind {
  return partnerId === null ? "strangers" : "partners";
}

/** Calls of a kind that may wait to be written; further ones are dropped and counted. */
export const maxWaiting: CallsOfKinds = { partners: 15_000, strangers: 5_000 };

/** Told of each call once, when it is answered. It must neither throw nor wait. */
export type CallObserver = (call: Call) => void;

export type CallFilter = {
  /** A UUID of version 7, in lower case. */
  readonly requestId?: string | undefined;
  readonly partnerId?: string | undefined;
  readonly statuses?: StatusRange | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
  readonly limit: number;
};

/** Statuses from `first` to `last`, both included. */
type StatusRange = { readonly first: number; readonly last: number };

/**
 * Reads what `--status` takes: one status such as `401`, or a class such as `4xx`.
 * @throws TvsError USAGE
 */
export function parseStatuses(text: string): StatusRange {
  const [, digit, rest = ""] = /^([1-5])(xx|\d\d)$/i.exec(text) ?? [];
  if (digit === undefined)
    throw new TvsError("USAGE", "--status must be a status such as 401, or a class such as 4xx");
  if (/^x/i.test(rest)) return { first: Number(digit) * 100, last: Number(digit) * 100 + 99 };
  return { first: Number(digit + rest), last: Number(digit + rest) };
}

/** What a call's error means to the operator who is asked about it. The service's own failures stand in its log. */
const errorMeanings: Readonly<Partial<Record<ErrorCode, string>>> = {
  REQUEST_INVALID: "the request was malformed; the answer named the member",
  BODY_TOO_LARGE: "the body was larger than 256 KiB",
  CREDENTIAL_REQUIRED:
    "no credential that counts came with it: none, a mistyped, unknown, expired or revoked one, or the partner is disabled",
  SCOPE_MISSING: "the partner's scopes do not allow this call; tvs partners set --scopes changes them",
  PURPOSE_NOT_ALLOWED: "the partner may not ask for this purpose; tvs partners set --purposes changes that",
  PATH_UNKNOWN: "there is nothing at this address",
  NOT_KNOWN: "nothing is known by this address",
  METHOD_NOT_ALLOWED: "the address exists, but not for this method",
  IDEMPOTENCY_KEY_IN_USE: "an earlier call with this Idempotency-Key was still being answered",
  IDEMPOTENCY_KEY_REUSED: "an earlier call used this Idempotency-Key with another body",
  QUOTA_EXCEEDED:
    "the partner's quota of the minute or of the day was spent, or the public limit of an IP address",
  OVERLOADED: "more calls were waiting than could be answered in time",
};

/** A sentence about why a call was refused or failed; null for one that was answered. */
export function meaningOfError(error: ErrorCode | null): string | null {
  return error === null ? null : (errorMeanings[error] ?? "the service could not answer; its log says why");
}

/** How the access log is doing since the service started. */
export type AccessLogFigures = {
  readonly written: number;
  /** Calls that were answered and not written. */
  readonly dropped: number;
  /** Why nothing can be written just now; null while it can. */
  readonly failure: string | null;
};
