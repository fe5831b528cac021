import type { ApiErrorCode } from "../partner/error-codes.ts";

/** An answered call, as the access log keeps it: without the request's content and the IP address. */
export type Call = {
  /** A UUIDv7 with the time of arrival. */
  readonly requestId: string;
  /** The route's pattern, such as `/v1/inter-agency/lookup/by-tid/{tId}`; `other` for an unknown path. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** Null if the request had no valid credential. */
  readonly partnerId: string | null;
  /** The API key id or certificate fingerprint. */
  readonly keyId: string | null;
  /** From the request's arrival to its answer. */
  readonly ms: number;
  /** The code of a refusal or failure. */
  readonly error: ApiErrorCode | null;
  /** Whether a stored answer was replayed, so that this call has no attestation of its own. */
  readonly replayed: boolean;
};

/** Gets each call once, when it is answered. It must neither throw nor wait. */
export type CallObserver = (call: Call) => void;
