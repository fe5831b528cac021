import type { ApiErrorCode } from "../partner/error-codes.ts";

/** An answered call, as the access log writes it: without the request's content and the client's IP address. */
export type LoggedCall = {
  /** A UUIDv7 with the time of arrival. */
  readonly requestId: string;
  /** The route's pattern, such as `/v1/inter-agency/lookup/by-tid/{tId}`; `other` for an unknown path. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** Null if the request had no valid credential. */
  readonly partnerId: string | null;
  /** The caller's API key id or certificate fingerprint; null without a valid credential. */
  readonly keyId: string | null;
  /** Milliseconds from the request's arrival to its answer. */
  readonly ms: number;
  /** The code of the refusal or failure; null after a success. */
  readonly error: ApiErrorCode | null;
  /** True if the answer is a replay of a stored answer. A replay has no attestation of its own. */
  readonly replayed: boolean;
};

/** Receives each call once, when the call is answered. An observer must neither throw nor block. */
export type CallObserver = (call: LoggedCall) => void;
