import { createCalendar } from "../../src/domain/clock.ts";
import type { SigningKey } from "../../src/domain/keys.ts";
import type { ApiKey, Partner } from "../../src/domain/partners.ts";
import { planWrite, type TeacherWrite } from "../../src/domain/teacher-store.ts";
import type { TeacherContent } from "../../src/domain/teachers.ts";

/** Records with everything filled in, of which a test changes what it is about. */

export function aPartner(partnerId: string): Partner {
  return {
    partnerId,
    name: "An agency",
    scopes: ["eligibility"],
    purposes: ["GENERAL_PUBLIC_VERIFICATION"],
    perMinute: 10,
    perDay: 100,
    batchCost: "call",
    createdAt: 1,
    disabledAt: null,
  };
}

export function anApiKey(partnerId: string, keyId: string): ApiKey {
  return { keyId, partnerId, mac: new Uint8Array(32), createdAt: 1, expiresAt: null, revokedAt: null };
}

export function aSigningKey(kid: string, state: "active" | "pending"): SigningKey {
  return {
    kid,
    state,
    jwk: { kty: "RSA", use: "sig", alg: "RS256", kid, n: "AQ", e: "AQAB" },
    sealed: new Uint8Array([1]),
    createdAt: 1,
    publishedAt: 1,
    activatedAt: state === "active" ? 1 : null,
    retiredAt: null,
    compromisedSince: null,
  };
}

export function aTeacher(regNo: string, changes: Partial<TeacherContent> = {}): TeacherContent {
  return {
    regNo,
    tId: null,
    name: "Ada Obi",
    ninIndex: null,
    ninVerified: false,
    emailIndex: null,
    phoneIndex: null,
    state: "Lagos",
    category: "A",
    source: "new_system",
    active: true,
    certificateStatus: "VERIFIED",
    certificateIssueDate: "2020-01-01",
    licenseIssueDate: "2020-01-01",
    licenseExpiryDate: "2099-12-31",
    licenseRevokedOn: null,
    licenseRevokedReason: null,
    licenseRevokedBy: null,
    photoUrl: null,
    profile: null,
    ...changes,
  };
}

export function aTeacherWrite(regNo: string, changes: Partial<TeacherContent> = {}): TeacherWrite {
  const calendar = createCalendar("Africa/Lagos");
  return planWrite(null, aTeacher(regNo, changes), {
    action: "import",
    actor: "test",
    calendar,
    at: 1_700_000_000_000,
  });
}
