import { Buffer } from "node:buffer";
import type { EligibilityResult, Purpose, SignedEnvelope } from "../partner/contract.ts";
import type { CalendarDate } from "./clock.ts";
import { isoSeconds } from "./clock.ts";
import { ineligibilityReasons } from "./eligibility.ts";
import type { Policy } from "./policy.ts";
import { certificateOf, licenseOn, type Teacher } from "./teachers.ts";

/** Signs with one private key of the ring. The port that signing/ implements. */
export type Signer = {
  /**
   * @param kid key id of a key that was loaded before
   * @param input the JWS signing input, ASCII
   * @param options `bulk` for one of many that a batch asks for: single checks go before it
   * @returns the RSASSA-PKCS1-v1_5 SHA-256 signature, base64url
   * @throws TvsError SIGNER_UNAVAILABLE, OVERLOADED
   */
  sign(kid: string, input: string, options?: { readonly bulk?: boolean }): Promise<string>;
};

const nobody: EligibilityResult = {
  found: false,
  source: null,
  status: "NOT_FOUND",
  eligible: false,
  reasons: ["TEACHER_NOT_FOUND"],
  teacher: null,
  license: null,
  certificate: null,
  profile: null,
};

/** The verdict on a teacher, or on nobody, for a purpose (contract, EligibilityResult). */
export function eligibilityResult(
  teacher: Teacher | null,
  options: { purpose: Purpose; policy: Policy; today: CalendarDate },
): EligibilityResult {
  if (teacher === null) return nobody;
  const license = licenseOn(teacher, options.today);
  const reasons = ineligibilityReasons(teacher, license, options);
  return {
    found: true,
    source: teacher.source,
    status: license.status,
    eligible: reasons.length === 0,
    reasons,
    teacher: { name: teacher.name, tId: teacher.tId, state: teacher.state, category: teacher.category },
    license,
    certificate: certificateOf(teacher),
    profile: profileOf(teacher),
  };
}

function profileOf(teacher: Teacher): EligibilityResult["profile"] {
  if (teacher.source !== "new_system") return null;
  const { qualifications = [], employment = [] } = teacher.profile ?? {};
  return { ninVerified: teacher.ninVerified, qualifications, employment };
}

export type Claims = {
  readonly verificationId: string;
  readonly issuer: string;
  readonly audience: string;
  /** Whole seconds since the Unix epoch. */
  readonly issuedAt: number;
  readonly result: EligibilityResult;
};

/** An envelope as it leaves, and what of it the evidence log keeps. */
export type SealedEnvelope = {
  readonly claims: Claims;
  readonly kid: string;
  readonly jws: string;
  readonly json: string;
};

/**
 * Signs a result. The result is turned into JSON once: the signed claim and the unsigned copy are the
 * same bytes, so they cannot differ.
 * @throws what the signer throws
 */
export async function sealEnvelope(claims: Claims, kid: string, signer: Signer): Promise<SealedEnvelope> {
  const result = JSON.stringify(claims.result);
  const payload =
    `{"iss":${JSON.stringify(claims.issuer)},"aud":${JSON.stringify(claims.audience)},` +
    `"sub":"${claims.verificationId}","iat":${claims.issuedAt},"result":${result}}`;
  const input = `${joseHeader(kid)}.${base64url(payload)}`;
  const jws = `${input}.${await signer.sign(kid, input)}`;
  const outer: Omit<SignedEnvelope, "result" | "signature" | "signatureKid"> = {
    verificationId: claims.verificationId,
    verifiedAt: isoSeconds(claims.issuedAt),
    issuer: claims.issuer,
    audience: claims.audience,
  };
  const json = `${JSON.stringify(outer).slice(0, -1)},"result":${result},"signature":"${jws}","signatureKid":"${kid}"}`;
  return { claims, kid, jws, json };
}

/** The header is the same for every envelope of a key, and few keys sign in a process's life. */
const headers = new Map<string, string>();
const maxHeaders = 64;

function joseHeader(kid: string): string {
  const known = headers.get(kid);
  if (known !== undefined) return known;
  if (headers.size >= maxHeaders) headers.clear();
  const header = base64url(JSON.stringify({ alg: "RS256", kid, typ: "JWT" }));
  headers.set(kid, header);
  return header;
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
