/** The files that are mutated, each with the tests that must fail. They are quick, because each mutant runs all. */
export const mutatedFiles: Readonly<Record<string, readonly string[]>> = {
  // The verifier.
  "src/partner/verify-envelope.ts": [
    "test/partner/verify-envelope.test.ts",
    "test/partner/log-fixtures.test.ts",
    "test/partner/damaged-texts.test.ts",
  ],
  "src/partner/verification.ts": ["test/partner/verify-envelope.test.ts"],
  "src/partner/claims.ts": [
    "test/partner/claims.test.ts",
    "test/partner/verify-envelope.test.ts",
    "test/partner/verify-statement.test.ts",
  ],
  "src/partner/file-text.ts": ["test/partner/damaged-texts.test.ts", "test/partner/verify-envelope.test.ts"],
  "src/partner/jws.ts": [
    "test/partner/jws.test.ts",
    "test/partner/verify-envelope.test.ts",
    "test/partner/statement-form.test.ts",
  ],
  "src/partner/strict-json.ts": ["test/partner/strict-json.test.ts"],
  "src/partner/base64.ts": ["test/partner/base64.test.ts"],
  "src/partner/date-time.ts": ["test/partner/date-time.test.ts"],
  "src/partner/key-set.ts": ["test/partner/key-set.test.ts", "test/partner/verify-envelope.test.ts"],
  "src/partner/key-history.ts": [
    "test/partner/key-history.test.ts",
    "test/partner/log-fixtures.test.ts",
    "test/partner/verify-envelope.test.ts",
  ],
  "src/partner/rsa-key.ts": ["test/partner/rsa-key.test.ts"],
  "src/partner/status-list.ts": ["test/partner/status-list.test.ts"],
  "src/partner/verify-webhook.ts": ["test/partner/verify-webhook.test.ts"],
  "src/partner/verify-statement.ts": [
    "test/partner/verify-statement.test.ts",
    "test/partner/statement-form.test.ts",
  ],
  // The envelope.
  "src/domain/envelopes.ts": ["test/domain/envelopes.test.ts"],
  // The addresses of webhooks.
  "src/delivery/address-guard.ts": ["test/delivery/address-guard.test.ts"],
  // The evidence log's tree, its proofs and checkpoints.
  "src/domain/evidence/tree.ts": ["test/domain/evidence/tree.test.ts"],
  "src/partner/merkle-proof.ts": ["test/partner/merkle-proof.test.ts"],
  "src/partner/log-proof.ts": [
    "test/partner/log-proof.test.ts",
    "test/partner/log-fixtures.test.ts",
    "test/partner/damaged-texts.test.ts",
  ],
  "src/partner/log-checkpoint.ts": [
    "test/partner/log-checkpoint.test.ts",
    "test/partner/log-fixtures.test.ts",
  ],
  "src/partner/signed-note.ts": ["test/partner/signed-note.test.ts"],
  // Authorisation, eligibility, quota and replay of a call.
  "src/domain/eligibility.ts": ["test/domain/eligibility.test.ts"],
  "src/domain/idempotency.ts": ["test/domain/idempotency.test.ts"],
  "src/domain/policy.ts": ["test/domain/policy.test.ts"],
  "src/domain/quota-windows.ts": ["test/domain/quota.test.ts"],
  "src/domain/quota.ts": ["test/domain/quota.test.ts"],
  "src/store/idempotency.ts": ["test/store/preconditions.test.ts"],
  "src/store/quota.ts": ["test/store/conformance.test.ts", "test/store/preconditions.test.ts"],
  // What an extract may change.
  "src/domain/import/arrival.ts": ["test/domain/import/arrival.test.ts"],
  "src/domain/import/check.ts": [
    "test/domain/import/check.test.ts",
    "test/domain/import/import.test.ts",
    "test/domain/import/license-status.test.ts",
    "test/domain/import/rejections.test.ts",
  ],
  "src/domain/import/dates.ts": ["test/domain/import/dates.test.ts"],
  "src/domain/import/patch.ts": [
    "test/domain/import/patch.test.ts",
    "test/domain/import/license-status.test.ts",
  ],
  "src/domain/import/report.ts": ["test/domain/import/report.test.ts"],
  "src/domain/import/rows.ts": [
    "test/domain/import/checked-rows.test.ts",
    "test/domain/import/mapping.test.ts",
    "test/domain/import/rejections.test.ts",
  ],
  "src/domain/import/values.ts": ["test/domain/import/values.test.ts"],
};
