/** The outcome of verifying an envelope or statement, and how it is built check by check. */

import type { EligibilityResult, SignedStatement, StatementRow } from "./contract.ts";
import { formatSeconds } from "./date-time.ts";
import { type Refusal, type RefusalReason, refusalReasons, type Verdict, type Warning } from "./reasons.ts";

/** The checks, in the order in which they run; the first that fails gives the reason. */
export const checkNames = [
  "form",
  "header",
  "keySet",
  "key",
  "signature",
  "log",
  "compromise",
  "window",
  "claims",
  "issuer",
  "audience",
  "time",
  "outer",
  "status",
] as const;
export type CheckName = (typeof checkNames)[number];

/** `ok` is null for a check that does not apply, or that was not reached. */
export type Check = { readonly name: CheckName; readonly ok: boolean | null; readonly detail: string };

/** Why the keys of a verification are believed to be the service's. */
export type KeyTrust = {
  /** `jwks`: the caller's JWKS; `anchor`: the caller pinned the history's signer; `key-history`: that file alone. */
  readonly basis: "jwks" | "anchor" | "key-history";
  /** Thumbprint of the key that signed the key history, computed from the key; null without a history. */
  readonly historySigner: string | null;
  /** When the key history was signed, in whole seconds; later compromises are not in it. */
  readonly historySignedAt: string | null;
};

/** Where and when the evidence log had an envelope, by its proof. */
export type LogEvidence = {
  /** The log's name. */
  readonly origin: string;
  /** The envelope's index in the log, from 0. */
  readonly index: number;
  /** Entries in the log at the time of the checkpoint. */
  readonly size: number;
  /** When the checkpoint was signed, `YYYY-MM-DDTHH:MM:SSZ`: the envelope existed by then. */
  readonly checkpointAt: string | null;
  /** Whether the key was compromised after the checkpoint, which is why the envelope is still accepted. */
  readonly precedesCompromise: boolean;
};

/** The age of an accepted answer at the time of the verification. */
export type AnswerAge = {
  /** Whole days since it was signed. */
  readonly days: number;
  /** More than 30 days. */
  readonly isOld: boolean;
  /**
   * The last day, `YYYY-MM-DD`, of a licence that was valid when it was signed and has ended since. The service's time
   * zone is not signed, so a licence has ended once its last day is over in every time zone.
   */
  readonly licenseEndedOn: string | null;
};

/** The envelope's index in a status list, as signed (Token Status List, section 6.1). */
export type StatusClaim = { readonly uri: string; readonly idx: number };

/** The status of an envelope in a status list. */
export type ListedStatus = StatusClaim & {
  /** When the list was signed, in whole seconds: `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly signedAt: string | null;
  readonly withdrawn: boolean;
};

/**
 * The outcome of a verification. Everything but `kid` is signed: it is null unless the signature is good and its key was
 * sound and in use. It is set when only a later check refused the envelope.
 */
export type Verification = {
  readonly valid: boolean;
  /** Null when valid; otherwise a stable code of `refusalReasons`. */
  readonly reason: RefusalReason | null;
  readonly verdict: Verdict;
  readonly verificationId: string | null;
  /** The key id of the header, once the header is well formed. */
  readonly kid: string | null;
  readonly issuer: string | null;
  readonly audience: string | null;
  /** The signed time of signing, in whole seconds: `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly verifiedAt: string | null;
  readonly result: EligibilityResult | null;
  /** Null unless valid. */
  readonly age: AnswerAge | null;
  /** With `KID_UNKNOWN`, another issuer that the envelope claims to be from. Unproved: anybody can write it. */
  readonly claimedIssuer: string | null;
  /** Null when the check `keySet` did not pass. */
  readonly trust: KeyTrust | null;
  /** Null without a proof, or when the check `log` did not pass. */
  readonly log: LogEvidence | null;
  /** Null when no list was given, or none that counts. */
  readonly statusList: ListedStatus | null;
  /** About a valid envelope; empty for every other. */
  readonly warnings: readonly Warning[];
  /** All of `checkNames`, in order. */
  readonly checks: readonly Check[];
};

/** The signed content of a statement. */
export type Stated = Pick<SignedStatement, "purpose" | "policyVersion" | "list" | "summary"> & {
  /** All rows, if they are those that were signed; otherwise null. */
  readonly rows: readonly StatementRow[] | null;
};

/** As for an envelope, but a statement has no result; `verificationId` is its `statementId`. */
export type StatementVerification = Verification & {
  /** Null unless the signature is good and its key was sound and in use. */
  readonly statement: Stated | null;
};

/** A check that did not fail: passed, or null when it does not apply. */
export type Passed = { readonly ok: true | null; readonly detail: string };

/** The claims that envelopes and statements share. */
export type SharedClaims = {
  readonly issuer: string;
  readonly audience: string;
  readonly verificationId: string;
  /** The time of signing, `iat`. */
  readonly issuedAtSeconds: number;
  /** `exp` and `nbf`; null when absent. */
  readonly expiresSeconds: number | null;
  readonly notBeforeSeconds: number | null;
  /** Null for a statement. */
  readonly result: EligibilityResult | null;
};

/** An unfinished verification: `outcomes` has one outcome for each of the first `checkNames`. */
export type Draft = {
  readonly outcomes: Passed[];
  kid: string | null;
  claims: SharedClaims | null;
  age: AnswerAge | null;
  claimedIssuer: string | null;
  trust: KeyTrust | null;
  log: LogEvidence | null;
  statusList: ListedStatus | null;
  warnings: readonly Warning[];
};

const notReached = "Not reached.";
const noWarnings: readonly Warning[] = Object.freeze([]);

export function passed(detail: string): Passed {
  return { ok: true, detail };
}

export function skipped(detail: string): Passed {
  return { ok: null, detail };
}

export function beginVerification(): Draft {
  const nothing = { kid: null, claims: null, age: null, claimedIssuer: null, trust: null, log: null };
  return { outcomes: [], ...nothing, statusList: null, warnings: noWarnings };
}

/** Notes the outcome of the next check of `checkNames`. */
export function note(draft: Draft, outcome: Passed): void {
  draft.outcomes.push(outcome);
}

function describe(outcomes: readonly Passed[]): Check[] {
  return outcomes.map(({ ok, detail }, index) => ({ name: checkNames[index] as CheckName, ok, detail }));
}

function conclude(draft: Draft, reason: RefusalReason | null, checks: readonly Check[]): Verification {
  const { claims, kid, age, claimedIssuer, trust, log, statusList, warnings } = draft;
  return {
    valid: reason === null,
    reason,
    verdict: reason === null ? "valid" : refusalReasons[reason].verdict,
    verificationId: claims?.verificationId ?? null,
    kid,
    issuer: claims?.issuer ?? null,
    audience: claims?.audience ?? null,
    verifiedAt: claims === null ? null : formatSeconds(claims.issuedAtSeconds),
    result: claims?.result ?? null,
    ...{ age, claimedIssuer, trust, log, statusList },
    warnings: reason === null ? warnings : noWarnings,
    checks,
  };
}

/** Ends a verification that passed every check. */
export function accept(draft: Draft): Verification {
  return conclude(draft, null, describe(draft.outcomes));
}

/** Ends a verification at the check that failed. Other checks without an outcome were not reached. */
export function fail(draft: Draft, name: CheckName, refusal: Refusal): Verification {
  const checks = describe(draft.outcomes);
  for (const other of checkNames.slice(checks.length)) {
    const isFailed = other === name;
    checks.push({ name: other, ok: isFailed ? false : null, detail: isFailed ? refusal.detail : notReached });
  }
  return conclude(draft, refusal.reason, checks);
}

/** The verification of an input that could not be opened as an envelope. */
export function unopened(refusal: Refusal): Verification {
  return fail(beginVerification(), "form", refusal);
}
