import type { ApiErrorCode } from "../partner/error-codes.ts";

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

/** Told of each call once, when it is answered. It must neither throw nor wait. */
export type CallObserver = (call: Call) => void;
