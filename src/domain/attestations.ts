import type { LicenseStatus, Purpose } from "../partner/contract.ts";
import type { BlindIndex } from "./blind-index.ts";
import { isoFromSeconds } from "./clock.ts";
import type { IdempotencyRecord } from "./idempotency.ts";
import type { operationOfScope, Scope } from "./partners.ts";
import { minPersonalDigits, redactPersonalData } from "./personal-data.ts";
import type { QuotaCharge } from "./quota-windows.ts";
import { ninPattern } from "./teachers/search-term.ts";
import type { Teacher, TeacherKey, TeacherPrecondition } from "./teachers/teachers.ts";

/** An operation whose answer is signed, as envelopes or as one statement about a list of teachers. */
export type AttestedOperation = (typeof operationOfScope)[Scope];

/** The `status` of a statement's attestation, because the people on its list have no common licence status. */
export const statementStatus = "STATEMENT";

/** A signed answer in the evidence log. A statement is `eligible` if everybody on its list is eligible. */
export type Attestation = {
  readonly verificationId: string;
  readonly partnerId: string;
  /** The claim `iat`: whole seconds since the epoch. */
  readonly issuedAt: number;
  readonly kid: string;
  readonly operation: AttestedOperation;
  readonly purpose: Purpose;
  readonly policyVersion: string;
  /** Null for a statement, and if nobody was found. */
  readonly teacherId: number | null;
  /** The request's identifier: `regNo:…`, `tId:…`, or `nin` without the number. `list:NAME` for a statement. */
  readonly reference: string;
  readonly ninIndex: Uint8Array | null;
  readonly status: LicenseStatus | typeof statementStatus;
  readonly eligible: boolean;
  /** The request's `context` as JSON without personal data; null if the request has none. */
  readonly context: string | null;
  /** The caller's API key id or certificate fingerprint. */
  readonly credential: string;
  readonly requestId: string;
  /** The compact JWS, byte for byte as the partner received it. */
  readonly jws: string;
};

/** The rows and preconditions of a call's commit. The answer is sent after the commit (decision D4.8). */
export type CallCommit = {
  /** A precondition: at the commit, this is still the newest revision of the configuration. */
  readonly revision: number;
  readonly attestations: readonly Attestation[];
  /** A precondition: no teacher's record that the call read has changed. An envelope has one entry, a statement many. */
  readonly read: readonly TeacherPrecondition[];
  /** The people on a statement's list; absent for envelopes. */
  readonly people?: readonly StatementPerson[];
  readonly charge: QuotaCharge;
  readonly idempotency: IdempotencyRecord | null;
};

/** A person on a statement's list: a teacher, or a NIN that no teacher has. */
export type StatementPerson = Pick<Attestation, "teacherId" | "ninIndex" | "eligible"> & {
  readonly status: LicenseStatus;
  /** The number of the first row that names the person, counted from 1. */
  readonly row: number;
};

/** The use of one credential, counted from the attestations in the evidence log. */
export type CredentialUsage = {
  readonly count: number;
  /** The time of the first counted attestation, in milliseconds since the epoch; null if `count` is 0. */
  readonly firstAt: number | null;
  /** False if the count stopped at a limit and left out the newest attestations. */
  readonly isAll: boolean;
};

/** Describes an attestation for the commands, without its signature. */
export function describeAttestation(one: Attestation) {
  const { verificationId, issuedAt, partnerId, operation, credential, purpose, reference } = one;
  const { status, eligible, kid } = one;
  return {
    ...{ verificationId, verifiedAt: isoFromSeconds(issuedAt), partnerId, operation },
    ...{ credential, purpose, reference, status, eligible, kid },
  };
}

/** Makes the stored form of an identifier. A number that no teacher has is left out if it may be personal data. */
export function redactIdentifier(key: TeacherKey, teacher: Teacher | null, index: BlindIndex) {
  if (key.by === "regNo")
    return { reference: `regNo:${teacher?.regNo ?? cleanRegNo(key.value)}`, ninIndex: null };
  if (key.by !== "tId") return { reference: key.by, ninIndex: key.value };
  const digits = String(key.value);
  if (teacher === null && digits.length >= minPersonalDigits)
    return { reference: "tId", ninIndex: ninPattern.test(digits) ? index.nin(digits) : null };
  return { reference: `tId:${digits}`, ninIndex: null };
}

/** Removes personal data from a registration number. A number without letters is searched whole: it may be a NIN. */
function cleanRegNo(regNo: string): string {
  if (!/\p{L}/u.test(regNo)) return redactPersonalData(regNo);
  return regNo.split("/").map(redactPersonalData).join("/");
}

/** Makes the stored form of a request's context: JSON without personal data. */
export function makeStoredRequestContext(context: object | undefined): string | null {
  if (context === undefined) return null;
  const clean = (_name: string, value: unknown) =>
    typeof value === "string" ? redactPersonalData(value) : value;
  return JSON.stringify(context, clean);
}
