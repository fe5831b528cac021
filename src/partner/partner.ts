/**
 * What partners import: `import { verifyEnvelope } from "tvs/partner"`. Everything that is not listed here may change
 * without notice.
 *
 * It runs wherever there is WebCrypto: browsers (in secure contexts), Bun, Deno, and Node behind a bundler, because it
 * is TypeScript. Nothing here throws for bad input: what is wrong with an envelope, a key set or a delivery is a value
 * with a stable code (`refusalReasons`, `webhookRefusalReasons`). A `TypeError` is a mistake of the caller's.
 *
 * @example
 * ```ts
 * import { createKeySet, verifyEnvelope } from "tvs/partner";
 *
 * const issuer = "https://verify.example.org";
 * const keys = await createKeySet({ jwks, keyHistory, issuer });
 * const { valid, reason, result } = await verifyEnvelope(text, { keys, issuer, audience: "exam-board" });
 * ```
 */

export type {
  EligibilityResult,
  EventType,
  LicenseStatus,
  Purpose,
  Reason,
  SignedEnvelope,
  WebhookEvent,
} from "./contract.ts";
export { type EnvelopeItem, readEnvelopes } from "./input.ts";
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
export type { VerifySignature } from "./rsa-key.ts";
export type { VerifierKey } from "./signed-note.ts";
export { type JsonValue, readStrictJson } from "./strict-json.ts";
export type { Check, CheckName, KeyTrust, LogEvidence, Verification } from "./verification.ts";
export {
  type SyncVerifyOptions,
  type VerifyOptions,
  verifyEnvelope,
  verifyEnvelopeSync,
} from "./verify-envelope.ts";
export {
  verifyWebhook,
  type WebhookInput,
  type WebhookRefusalReason,
  type WebhookVerification,
  webhookRefusalReasons,
} from "./verify-webhook.ts";
