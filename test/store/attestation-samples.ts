import type { AnsweredCall, Attestation } from "../../src/domain/attestations.ts";

/** Verification `n`, with an id that carries its time as those of the service do. */
export function anAttestation(n: number, changes: Partial<Attestation> = {}): Attestation {
  const issuedAt = changes.issuedAt ?? 1_700_000_000 + n;
  const time = (issuedAt * 1000).toString(16).padStart(12, "0");
  return {
    verificationId: `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(n).padStart(12, "0")}`,
    partnerId: "agency",
    issuedAt,
    kid: "A",
    endpoint: "eligibility-check",
    purpose: "GENERAL_PUBLIC_VERIFICATION",
    policyVersion: "1",
    teacherId: null,
    reference: `regNo:A/B/C/${n}`,
    ninIndex: null,
    status: "VALID",
    eligible: true,
    context: null,
    credential: "key",
    requestId: "request",
    jws: `header.payload.${n}`,
    ...changes,
  };
}

/** A call that cost one of the minute and one of the day, answered with these attestations. */
export function anAnsweredCall(
  attestations: readonly Attestation[],
  changes: Partial<AnsweredCall> = {},
): AnsweredCall {
  const partnerId = attestations[0]?.partnerId ?? "agency";
  return {
    kid: "A",
    attestations,
    charges: [
      { partnerId, kind: "minute", startsAt: 600_000, used: 1 },
      { partnerId, kind: "day", startsAt: 0, used: 1 },
    ],
    idempotency: null,
    ...changes,
  };
}
