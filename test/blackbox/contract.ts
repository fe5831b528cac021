/** The shapes of requests and answers, copied from the text of the published contract, not from the program. */

import type { EligibilityResult, SignedEnvelope as Envelope, License } from "../../src/partner/contract.ts";

export const purposes = [
  "BODYA_INVIGILATOR_ELIGIBILITY",
  "BODYA_EXAMINER_CREDENTIAL_CHECK",
  "BODYB_INVIGILATOR_ELIGIBILITY",
  "BODYB_EXAMINER_CREDENTIAL_CHECK",
  "BODYC_CBT_STAFF_VERIFICATION",
  "BODYC_INVIGILATOR_ELIGIBILITY",
  "BODYC_ENDORSEMENT_ELIGIBILITY",
  "SCHOOL_EMPLOYMENT_VERIFICATION",
  "EMPLOYER_BACKGROUND_CHECK",
  "GENERAL_PUBLIC_VERIFICATION",
] as const;
export type Purpose = (typeof purposes)[number];

/** An id that the service gives: of a request, a verification, an event, a delivery. */
export const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type Identifier = { regNo: string } | { tId: number } | { nin: string };

export type { EligibilityResult, Envelope, License };

export type Batch = { count: number; results: Envelope[] };

export type Problem = { statusCode: number; message: string; retryAfterSeconds?: number };

export type Jwk = { kty: string; use: string; alg: string; kid: string; n: string; e: string };
export type Jwks = { keys: Jwk[] };

export type Health = { status: string; service: string; issuer: string; activeKid: string };

export type KeyInfo = {
  kid: string;
  state: "pending" | "active" | "retired" | "compromised";
  createdAt: string;
  publishedAt: string;
  activatedAt: string | null;
  retiredAt: string | null;
  compromisedSince: string | null;
};
