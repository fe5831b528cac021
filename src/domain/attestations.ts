import type { LicenseStatus, Purpose } from "../partner/contract.ts";
import type { BlindIndex } from "./blind-index.ts";
import { isoSeconds } from "./clock.ts";
import type { IdempotencyRecord } from "./idempotency.ts";
import type { operationOfScope, Scope } from "./partners.ts";
import { minPersonalDigits, redactPersonalData } from "./personal-data.ts";
import type { QuotaCharge } from "./quota-windows.ts";
import { ninPattern } from "./teachers/search-term.ts";
import type { Teacher, TeacherKey, TeacherPrecondition } from "./teachers/teachers.ts";

/** An operation whose answer is signed: envelopes, or a statement over a list. */
export type AttestedOperation = (typeof operationOfScope)[Scope];

/** The `status` of a statement's attestation: its people have no common licence status. */
export const statementStatus = "STATEMENT";

/** A signed verification or statement in the evidence log. A statement is `eligible` if everybody in it is. */
export type Attestation = {
  readonly verificationId: string;
  readonly partnerId: string;
  /** The claim `iat`: whole seconds since the epoch. */
  readonly issuedAt: number;
  readonly kid: string;
  readonly operation: AttestedOperation;
  readonly purpose: Purpose;
  readonly policyVersion: string;
  readonly teacherId: number | null;
  /** The request's identifier: `regNo:…`, `tId:…`, or `nin` without the number. `list:NAME` for a statement. */
  readonly reference: string;
  readonly ninIndex: Uint8Array | null;
  readonly status: LicenseStatus | typeof statementStatus;
  readonly eligible: boolean;
  /** The request's `context` as JSON. */
  readonly context: string | null;
  /** The API key id or certificate fingerprint that was used. */
  readonly credential: string;
  readonly requestId: string;
  /** The exact signature that was sent. */
  readonly jws: string;
};

/** The rows and the preconditions of an answered call's commit. The answer is sent after the commit (decision D4.8). */
export type CallCommit = {
  /** The configuration's revision, which must still be the newest at the commit. */
  readonly revision: number;
  readonly attestations: readonly Attestation[];
  /** The versions that the call read and the commit requires: one for each attestation, many for a statement. */
  readonly read: readonly TeacherPrecondition[];
  /** The people of a statement. */
  readonly people?: readonly StatementPerson[];
  readonly charge: QuotaCharge;
  readonly idempotency: IdempotencyRecord | null;
};

/** A person of a statement: a teacher, or a NIN that belongs to nobody. */
export type StatementPerson = Pick<Attestation, "teacherId" | "ninIndex" | "eligible"> & {
  readonly status: LicenseStatus;
  /** The first row of the list that names the person, from 1. */
  readonly row: number;
};

/** How much one credential was used, by the attestations in the evidence log. */
export type CredentialUsage = {
  readonly count: number;
  /** When the first attestation was issued, in milliseconds since the epoch; null if there are none. */
  readonly firstAt: number | null;
  /** False if newer attestations were not counted. */
  readonly isAll: boolean;
};

/** Describes an attestation for the commands, without its signature. */
export function describeAttestation(one: Attestation) {
  const { verificationId, issuedAt, partnerId, operation, credential, purpose, reference } = one;
  const { status, eligible, kid } = one;
  return {
    ...{ verificationId, verifiedAt: isoSeconds(issuedAt), partnerId, operation },
    ...{ credential, purpose, reference, status, eligible, kid },
  };
}

/** Makes an identifier's stored form. A number that finds nobody and may be a NIN or a phone number is left out. */
export function storedIdentifier(key: TeacherKey, teacher: Teacher | null, index: BlindIndex) {
  if (key.by === "regNo")
    return { reference: `regNo:${teacher?.regNo ?? cleanRegNo(key.value)}`, ninIndex: null };
  if (key.by !== "tId") return { reference: key.by, ninIndex: key.value };
  const digits = String(key.value);
  if (teacher === null && digits.length >= minPersonalDigits)
    return { reference: "tId", ninIndex: ninPattern.test(digits) ? index.nin(digits) : null };
  return { reference: `tId:${digits}`, ninIndex: null };
}

/** Removes personal data. The segments of a number without letters may together be a phone number or a NIN. */
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
