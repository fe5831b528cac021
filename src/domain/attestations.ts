import type { LicenseStatus, Purpose } from "../partner/contract.ts";
import type { BlindIndex } from "./blind-index.ts";
import { isoSeconds } from "./clock.ts";
import type { IdempotencyRecord } from "./idempotency.ts";
import type { operationOfScope, Scope } from "./partners.ts";
import { personalDigits, withoutPersonalData } from "./personal-data.ts";
import type { QuotaCharge } from "./quota-windows.ts";
import { ninPattern } from "./teachers/search-term.ts";
import type { ReadTeacher, Teacher, TeacherKey } from "./teachers/teachers.ts";

/** A partner operation that answers with envelopes, as the evidence log names it. */
export type AttestedOperation = (typeof operationOfScope)[Scope];

/** What stands in the place of a licence's status in a statement's row, which speaks of many. */
export const statementStatus = "STATEMENT";

/** A signed verification or statement: a row of the evidence log. Of a statement, `eligible` means all of them. */
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
  /** `regNo:…`, `tId:…` or `nin`: what was asked, without the NIN; `list:…` with its name for a statement. */
  readonly reference: string;
  readonly ninIndex: Uint8Array | null;
  readonly status: LicenseStatus | typeof statementStatus;
  readonly eligible: boolean;
  /** The request's `context` as JSON. */
  readonly context: string | null;
  /** The API key id or certificate fingerprint that was used. */
  readonly credential: string;
  readonly requestId: string;
  /** The exact signature that left: everything else can be read from it. */
  readonly jws: string;
};

/** An answered call: what it leaves behind, committed before the answer leaves, and its preconditions (decision D4.8). */
export type AnsweredCall = {
  /** Of the snapshot that it was judged by: it moves with settings, partners, credentials and signing keys. */
  readonly revision: number;
  readonly attestations: readonly Attestation[];
  /** The teachers whom they speak of, as they were read; each attestation of one, a statement of many. */
  readonly read: readonly ReadTeacher[];
  /** Whom the one attestation speaks of when it is a statement. */
  readonly people?: readonly StatedPerson[];
  readonly charge: QuotaCharge;
  readonly idempotency: IdempotencyRecord | null;
};

/** Somebody of whom a statement speaks: by the record, or by the NIN that named nobody. */
export type StatedPerson = Pick<Attestation, "teacherId" | "ninIndex" | "eligible"> & {
  readonly status: LicenseStatus;
  /** The first row of the list that names them, from 1. */
  readonly row: number;
};

/** What was answered to one credential. */
export type CredentialUses = {
  readonly count: number;
  /** When the first was, in milliseconds since the epoch; null for none. */
  readonly firstAt: number | null;
  /** False when there may be more, newer than those that were looked at. */
  readonly isAll: boolean;
};

/** An attestation as the commands list it, without its signature; its time in ISO 8601. */
export function describeAttestation(one: Attestation) {
  const { verificationId, issuedAt, partnerId, operation, credential, purpose, reference } = one;
  const { status, eligible, kid } = one;
  return {
    ...{ verificationId, verifiedAt: isoSeconds(issuedAt), partnerId, operation },
    ...{ credential, purpose, reference, status, eligible, kid },
  };
}

/** What was asked, for the evidence log. An unknown number may be a NIN or a phone number, and then it is not kept. */
export function askedFor(
  key: TeacherKey,
  teacher: Teacher | null,
  index: BlindIndex,
): Pick<Attestation, "reference" | "ninIndex"> {
  if (key.by === "regNo")
    return { reference: `regNo:${teacher?.regNo ?? cleanRegNo(key.value)}`, ninIndex: null };
  if (key.by !== "tId") return { reference: key.by, ninIndex: key.value };
  const digits = String(key.value);
  if (teacher === null && digits.length >= personalDigits)
    return { reference: "tId", ninIndex: ninPattern.test(digits) ? index.nin(digits) : null };
  return { reference: `tId:${digits}`, ninIndex: null };
}

/** Segments are parts of a number only where there is no letter in any of them. */
function cleanRegNo(regNo: string): string {
  if (!/\p{L}/u.test(regNo)) return withoutPersonalData(regNo);
  return regNo.split("/").map(withoutPersonalData).join("/");
}

/** The request's context, without what looks like a NIN, a phone number or an e-mail address. */
export function contextForEvidence(context: object | undefined): string | null {
  if (context === undefined) return null;
  const clean = (_name: string, value: unknown) =>
    typeof value === "string" ? withoutPersonalData(value) : value;
  return JSON.stringify(context, clean);
}
