import { type ApiErrorCode, type ErrorCodeEntry, errorCodes } from "../partner/error-codes.ts";
import { isoTime, timeOfUuid } from "./clock.ts";
import { TvsError } from "./errors.ts";

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
  readonly error: ApiErrorCode | null;
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

/** What the operator does about a refusal, where a command of his does. */
const operatorsRemedies: Readonly<Partial<Record<ApiErrorCode, string>>> = {
  SCOPE_MISSING: "tvs partners set --scopes changes them",
  PURPOSE_NOT_ALLOWED: "tvs partners set --purposes changes that",
  MINUTE_QUOTA: "tvs partners set --per-minute changes it",
  DAY_QUOTA: "tvs partners set --per-day changes it",
};

/**
 * What a call's error means to the operator who is asked about it; null for one that was answered.
 * @param error as its line has it, which an earlier release may have written
 */
export function meaningOfError(error: string | null): string | null {
  if (error === null) return null;
  const code = error as ApiErrorCode;
  const known = errorCodes[code] as ErrorCodeEntry | undefined;
  if (known === undefined) return "a code of an earlier release";
  if (known.status >= 500) return `${known.title.toLowerCase()}; the service's log says why`;
  const remedy = operatorsRemedies[code];
  return remedy === undefined ? known.meaning : `${known.meaning} (${remedy})`;
}

/** How the access log is doing since the service started. */
export type AccessLogFigures = {
  readonly written: number;
  /** Calls that were answered and not written. */
  readonly dropped: number;
  /** Why nothing can be written just now; null while it can. */
  readonly failure: string | null;
};
