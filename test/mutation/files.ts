/** The mutated files of `src`, each with its tests in `test`. They are quick, because each mutant runs all of them. */
const files: Readonly<Record<string, readonly string[]>> = {
  // The verifier.
  "partner/verify-envelope": ["partner/verify-envelope", "partner/log-fixtures", "partner/damaged-texts"],
  "partner/verification": ["partner/verify-envelope"],
  "partner/claims": ["partner/claims", "partner/verify-envelope", "partner/verify-statement"],
  "partner/file-text": ["partner/damaged-texts", "partner/verify-envelope"],
  "partner/jws": ["partner/jws", "partner/verify-envelope", "partner/statement-form"],
  "partner/strict-json": ["partner/strict-json"],
  "partner/base64": ["partner/base64"],
  "partner/date-time": ["partner/date-time"],
  "partner/key-set": ["partner/key-set", "partner/verify-envelope"],
  "partner/key-history": ["partner/key-history", "partner/log-fixtures", "partner/verify-envelope"],
  "partner/rsa-key": ["partner/rsa-key"],
  "partner/status-list": ["partner/status-list"],
  "partner/verify-webhook": ["partner/verify-webhook"],
  "partner/verify-statement": ["partner/verify-statement", "partner/statement-form"],
  // The envelope.
  "domain/envelopes": ["domain/envelopes"],
  // The addresses of webhooks.
  "delivery/address-guard": ["delivery/address-guard"],
  // The evidence log's tree, its proofs and checkpoints.
  "domain/evidence/tree": ["domain/evidence/tree"],
  "partner/merkle-proof": ["partner/merkle-proof"],
  "partner/log-proof": ["partner/log-proof", "partner/log-fixtures", "partner/damaged-texts"],
  "partner/log-checkpoint": ["partner/log-checkpoint", "partner/log-fixtures"],
  "partner/signed-note": ["partner/signed-note"],
  // Authorisation, eligibility, quota and replay of a call.
  "domain/eligibility": ["domain/eligibility"],
  "domain/idempotency": ["domain/idempotency"],
  "domain/policy": ["domain/policy"],
  "domain/quota-windows": ["domain/quota"],
  "domain/quota": ["domain/quota"],
  "store/idempotency": ["store/preconditions"],
  "store/quota": ["store/conformance", "store/preconditions"],
  // What an extract may change.
  "domain/import/arrival": ["domain/import/arrival"],
  "domain/import/check": [
    "domain/import/check",
    "domain/import/import",
    "domain/import/license-status",
    "domain/import/rejections",
  ],
  "domain/import/dates": ["domain/import/dates"],
  "domain/import/patch": ["domain/import/patch", "domain/import/license-status"],
  "domain/import/report": ["domain/import/report"],
  "domain/import/rows": ["domain/import/checked-rows", "domain/import/mapping", "domain/import/rejections"],
  "domain/import/values": ["domain/import/values"],
};

/** The path of each mutated file, with the paths of the tests that must fail. */
export const mutatedFiles: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(files).map(([file, tests]) => [
    `src/${file}.ts`,
    tests.map((test) => `test/${test}.test.ts`),
  ]),
);
