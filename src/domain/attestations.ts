import type { LicenseStatus, Purpose } from "../partner/contract.ts";
import type { BlindIndex } from "./blind-index.ts";
import { isoSeconds } from "./clock.ts";
import type { LogEpoch } from "./evidence/evidence.ts";
import type { IdempotencyRecord } from "./idempotency.ts";
import type { operationOfScope, Scope } from "./partners.ts";
import { personalDigits, withoutPersonalData } from "./personal-data.ts";
import type { QuotaCharge, WindowsUsed } from "./quota-windows.ts";
import { ninPattern } from "./teachers/search-term.ts";
import type { ReadTeacher, Teacher, TeacherKey } from "./teachers/teachers.ts";

/** A partner operation that answers with envelopes, as the evidence log names it. */
export type AttestedOperation = (typeof operationOfScope)[Scope];

/** What stands in the place of a licence's status in a statement's row, which speaks of many. */
export const statementStatus = "STATEMENT";

/**
 * One verification, or one statement over a list, that was answered and signed: a row of the evidence log, never changed.
 * Of a statement, `eligible` says whether all are.
 */
export type Attestation = {
  readonly verificationId: string;
  readonly partnerId: string;
  /** The claim `iat`: whole seconds since the epoch. */
  readonly issuedAt: number;
  readonly kid: string;
  readonly endpoint: AttestedOperation;
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

/**
 * An answered call: all that it leaves behind, committed together before the answer leaves, and what its truth rests on
 * (decision D4.8).
 */
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

/** Which attestations are wanted; what is absent does not matter. */
type AttestationFilter = {
  readonly partnerId?: string | undefined;
  /** The key's id, or the certificate's fingerprint, that asked; sought among those of the partner or the teacher. */
  readonly credential?: string | undefined;
  readonly teacherId?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Nothing that is looked for is younger; some that are may be listed. Milliseconds since the epoch. */
  readonly until?: number | undefined;
  readonly limit: number;
};

/** What was answered to one credential. */
export type CredentialUses = {
  readonly count: number;
  /** When the first was, in milliseconds since the epoch; null for none. */
  readonly firstAt: number | null;
  /** False when there may be more, newer than those that were looked at. */
  readonly isAll: boolean;
};

export type AttestationStore = {
  /**
   * @returns what the partner's windows have used by then; null, having stored nothing, when the revision or one of the
   *   teachers has moved on, when a window has no room, or when the idempotency key was used meanwhile
   */
  record(call: AnsweredCall): Promise<WindowsUsed | null>;
  find(verificationId: string): Promise<Attestation | null>;
  /** What one call made, in its order; nothing for a call that was refused or replayed, or an id that is none. */
  ofRequest(requestId: string): Promise<Attestation[]>;
  /** Newest first. */
  list(filter: AttestationFilter): Promise<Attestation[]>;
  /** How often a credential asked, so far as `maxLooked` attestations of its partner and its time tell. */
  usesOf(
    credential: Readonly<Record<"partnerId" | "credential", string> & Record<"since" | "until", number>>,
    maxLooked: number,
  ): Promise<CredentialUses>;
  /**
   * Every lookup of a person: of the record, or of the NIN when it named nobody. Of a statement it is what that says of
   * them, as it is where attestations are sought by a teacher.
   */
  ofSubject(subject: { teacherId: number | null; ninIndex: Uint8Array | null }): Promise<Attestation[]>;
  countOfTeacher(teacherId: number): Promise<number>;
  /** Partners that were told VALID since a time, with the last time. */
  toldValid(
    teacherId: number,
    since: number,
  ): Promise<{ partnerId: string; times: number; lastAt: number }[]>;
};

/** Maintenance of the evidence log: how long it is kept. */
export type AttestationMaintenance = {
  /**
   * The next attestations in the order of their ids that may be deleted, as far as others need them.
   * @param from none with a smaller id
   */
  deletable(from: number, limit: number): Promise<{ readonly id: number; readonly jws: string }[]>;
  /**
   * Deletes attestations and changes the mark that says so, in one act.
   * @returns false, having done nothing, when the mark is another one by now
   */
  prune(ids: readonly number[], mark: { was: string; is: string; from: number }): Promise<boolean>;
  /** Forgets of whom statements spoke that were deleted, so many at most. @returns how many there were */
  prunePeople(limit: number): Promise<number>;
  /**
   * Puts a mark in the place of another one, or where there is none.
   * @param next an epoch that must not have been opened yet, and that would begin with that id
   * @returns false when it is another one by now, that epoch is there, or would begin elsewhere
   */
  setMark(was: string | null, is: string, next?: Pick<LogEpoch, "epoch" | "firstId">): Promise<boolean>;
  /**
   * The id of the oldest attestation that is there, or of the one that comes first.
   * @param behindGaps the id behind the last gap among the oldest ones, if there is one: releases before deleted by
   *   `issued_at`, which the order of ids follows by some minutes
   */
  firstId(behindGaps: boolean): Promise<number>;
  /** The partners that have verified a teacher, also those whose attestations were deleted; in order. */
  verifiedBy(teacherId: number): Promise<string[]>;
  /**
   * What the database says was deleted: what was issued before `from` (milliseconds since the epoch), null for nothing; how
   * many; and the mark (`retention-mark.ts`), which alone is to be believed.
   */
  kept(): Promise<{ readonly from: number | null; readonly pruned: number; readonly mark: string | null }>;
};

/** An attestation as the commands list it, without its signature; its time in ISO 8601. */
export function describeAttestation(one: Attestation) {
  return {
    verificationId: one.verificationId,
    verifiedAt: isoSeconds(one.issuedAt),
    partnerId: one.partnerId,
    endpoint: one.endpoint,
    credential: one.credential,
    purpose: one.purpose,
    reference: one.reference,
    status: one.status,
    eligible: one.eligible,
    kid: one.kid,
  };
}

/**
 * What was asked, for the evidence log. A number that named nobody may be a NIN or a phone number that was sent
 * in the wrong member, so what looks like one is not kept; of a NIN there remains its blind index.
 */
export function askedFor(
  key: TeacherKey,
  teacher: Teacher | null,
  index: BlindIndex,
): Pick<Attestation, "reference" | "ninIndex"> {
  if (key.by === "regNo") {
    return { reference: `regNo:${teacher?.regNo ?? cleanRegNo(key.value)}`, ninIndex: null };
  }
  if (key.by !== "tId") return { reference: key.by, ninIndex: key.value };
  const digits = String(key.value);
  if (teacher === null && digits.length >= personalDigits) {
    return { reference: "tId", ninIndex: ninPattern.test(digits) ? index.nin(digits) : null };
  }
  return { reference: `tId:${digits}`, ninIndex: null };
}

/** Segments are parts of a number only where there is no letter in any of them. */
function cleanRegNo(regNo: string): string {
  if (!/\p{L}/u.test(regNo)) return withoutPersonalData(regNo);
  return regNo.split("/").map(withoutPersonalData).join("/");
}

/**
 * The context is free text that partners use to find a call again. What looks like a NIN, a phone number
 * or an e-mail address in it is left out, because none of them is ever stored.
 */
export function contextForEvidence(context: object | undefined): string | null {
  if (context === undefined) return null;
  const clean = (_name: string, value: unknown) =>
    typeof value === "string" ? withoutPersonalData(value) : value;
  return JSON.stringify(context, clean);
}
