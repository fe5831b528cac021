/**
 * The package `tvs-partner`, also served at `/v1/inter-agency/verify.mjs` (decision D14.1). What this file does not export
 * can change without notice.
 *
 * The package runs wherever there is WebCrypto: Node 20 and later, Bun, Deno, and browsers in secure contexts. The
 * verifier does not throw for bad input: it returns a stable code (`refusalReasons`, `webhookRefusalReasons`). The client
 * throws `ClientError` if it cannot return a reliable answer. A `TypeError` means that an argument is wrong.
 * @example
 * ```ts
 * import { createKeySet, verifyEnvelope } from "tvs-partner";
 *
 * const issuer = "https://verify.example.org";
 * const keys = await createKeySet({ jwks, keyHistory, issuer });
 * const { valid, reason, result } = await verifyEnvelope(text, { keys, issuer, audience: "exam-board" });
 * ```
 */

export { describeAge, describeAnswer, describeSignedStatement } from "./answer-age.ts";
export type {
  EligibilityCheckRequest,
  EventFilter,
  Events,
  Health,
  Identifier,
  ListedTeacher,
  Me,
  OwnCredential,
  PublicLookup,
  RequestContext,
  RosterRequest,
  WatchCount,
  Watched,
} from "./api-types.ts";
export {
  type BatchAnswer,
  type CallOptions,
  type CheckAnswer,
  type CheckOptions,
  type Client,
  type ClientOptions,
  createClient,
  type PageOptions,
  type StatementAnswer,
} from "./client.ts";
export type { Answer, ClientVerifyOptions } from "./client-answers.ts";
export {
  type CallInfo,
  ClientError,
  type ClientErrorCode,
  clientErrorCodes,
  type Quota,
} from "./client-calls.ts";
export type {
  EligibilityResult,
  EventType,
  LicenseStatus,
  Purpose,
  Reason,
  SignedEnvelope,
  SignedStatement,
  StatementRow,
  StatementSummary,
  WebhookEvent,
} from "./contract.ts";
export type { ApiErrorCode } from "./error-codes.ts";
export { type EnvelopeItem, readEnvelopes } from "./input.ts";
export { isStatement } from "./jws.ts";
export { createKeySet, type KeySet, type KeySetSources } from "./key-set.ts";
export type { Checkpoint, TreeHead } from "./log-checkpoint.ts";
export { type LogProof, type LogProofOptions, openLogProof, readLogKeys } from "./log-proof.ts";
export {
  formatLogState,
  type LogState,
  type RememberedCheckpoint,
  readLogState,
  rememberCheckpoint,
} from "./log-state.ts";
export {
  Refusal,
  type RefusalReason,
  refusalReasons,
  type Verdict,
  type Warning,
  warnings,
} from "./reasons.ts";
export type { VerifierKey } from "./signed-note.ts";
export { type OfflinePack, readOfflinePack } from "./status-list.ts";
export { type JsonValue, readStrictJson } from "./strict-json.ts";
export type {
  AnswerAge,
  Check,
  CheckName,
  KeyTrust,
  ListedStatus,
  LogEvidence,
  StatementContent,
  StatementVerification,
  Verification,
} from "./verification.ts";
export { type VerifyOptions, verifyEnvelope } from "./verify-envelope.ts";
export { type StatementOptions, verifyStatement } from "./verify-statement.ts";
export {
  verifyWebhook,
  type WebhookInput,
  type WebhookRefusalReason,
  type WebhookVerification,
  webhookRefusalReasons,
} from "./verify-webhook.ts";
