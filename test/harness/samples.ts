import type { Attestation } from "../../src/domain/attestations.ts";
import { defaultEventFilter } from "../../src/domain/event-filter.ts";
import type { SigningKey } from "../../src/domain/keys.ts";
import type { ApiKey, Partner } from "../../src/domain/partners.ts";
import { defaultPolicy } from "../../src/domain/policy.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { defaultSite } from "../../src/domain/site.ts";
import { createStatusIndexer } from "../../src/domain/status-list/lists.ts";
import { planTeacherWrite, type TeacherWrite } from "../../src/domain/teachers/store.ts";
import type { StoredTeacher, TeacherContent } from "../../src/domain/teachers/teachers.ts";
import { lagos } from "./clock.ts";

/** Complete records, of which a test changes the members that it is about. */

/** The bytes 0 to 31 as a master key: every value derived from it can be computed elsewhere. */
export const masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
export const secrets = deriveSecrets(masterKey);
export const statusIndexes = createStatusIndexer(secrets.statusListKey);

export const aSettings: Settings = {
  issuer: "https://teachers.example",
  timeZone: "Africa/Lagos",
  policy: defaultPolicy,
  allowPrivateWebhooks: false,
  statusList: false,
  site: defaultSite,
};

export function aPartner(partnerId: string): Partner {
  return {
    partnerId,
    name: "An agency",
    scopes: ["eligibility"],
    purposes: ["GENERAL_PUBLIC_VERIFICATION"],
    perMinute: 10,
    perDay: 100,
    batchCost: "call",
    watchLimit: 100_000,
    eventFilter: defaultEventFilter,
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
    hidden: false,
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
  return planImport(regNo, changes, 1_700_000_000_000);
}

/** Makes the write by which an import at this time adds a teacher. */
export function planImport(regNo: string, changes: Partial<TeacherContent>, at: number): TeacherWrite {
  const content = aTeacher(regNo, changes);
  return planTeacherWrite(null, content, { action: "import", actor: "test", calendar: lagos, at });
}

export function aStoredTeacher(changes: Partial<StoredTeacher> = {}): StoredTeacher {
  return {
    ...aTeacher("LA/2019/PRI/04417"),
    id: 1,
    version: 1,
    announcedStatus: "VALID",
    updatedAt: 0,
    ...changes,
  };
}

/** Makes attestation number `n`. Its id contains its time, as the ids of the service do. */
export function anAttestation(n: number, changes: Partial<Attestation> = {}): Attestation {
  const issuedAt = changes.issuedAt ?? 1_700_000_000 + n;
  const time = (issuedAt * 1000).toString(16).padStart(12, "0");
  return {
    verificationId: `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(n).padStart(12, "0")}`,
    partnerId: "agency",
    issuedAt,
    kid: "A",
    operation: "eligibility-check",
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
