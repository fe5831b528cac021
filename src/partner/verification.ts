/** The outcome of verifying an envelope or statement, and the functions that build the outcome check by check. */

import type { EligibilityResult, SignedStatement, StatementRow } from "./contract.ts";
import { formatUnixSeconds } from "./date-time.ts";
import { Refusal, type RefusalReason, refusalReasons, type Verdict, type Warning } from "./reasons.ts";

/** The time of a verification, and the tolerance for clocks that differ. */
export type ClockOptions = {
  /** The time of the verification; this machine's time by default. */
  readonly now?: Date;
  /** How many seconds the clocks of service and caller may differ; 60 by default. */
  readonly clockToleranceSeconds?: number;
};

/** Reads the time of a verification and the tolerance, in seconds. @throws TypeError if either is wrong */
export function readClockOptions({ now = new Date(), clockToleranceSeconds = 60 }: ClockOptions) {
  if (Number.isNaN(now.getTime())) throw new TypeError("now is not a valid date");
  if (!(clockToleranceSeconds >= 0)) throw new TypeError("clockToleranceSeconds is not a duration");
  return { nowSeconds: now.getTime() / 1000, toleranceSeconds: clockToleranceSeconds };
}

/** The names of the checks in the order in which they run. The first failed check gives the reason of a refusal. */
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

/** The outcome of one check. `ok` is null if the check does not apply, or an earlier check failed. */
export type Check = { readonly name: CheckName; readonly ok: boolean | null; readonly detail: string };

/** Why the keys of a verification are trusted to be the service's keys. */
export type KeyTrust = {
  /** `jwks`: the caller gave a JWKS; `anchor`: the caller pinned the history's signer; `key-history`: neither. */
  readonly basis: "jwks" | "anchor" | "key-history";
  /** The RFC 7638 thumbprint of the key that signed the key history; null without a history. */
  readonly historySigner: string | null;
  /** When the key history, which lacks later compromises, was signed: `YYYY-MM-DDTHH:MM:SSZ`; null without a history. */
  readonly historySignedAt: string | null;
};

/** The entry of an envelope in the evidence log, as its proof shows it. */
export type LogEvidence = {
  /** The log's name. */
  readonly origin: string;
  /** The envelope's index in the log, from 0. */
  readonly index: number;
  /** The number of entries in the log at the checkpoint. */
  readonly size: number;
  /** When the checkpoint was signed, `YYYY-MM-DDTHH:MM:SSZ`: the envelope existed at that time. */
  readonly checkpointAt: string | null;
  /** Whether the checkpoint is older than the key's compromise, so that the envelope is still accepted. */
  readonly precedesCompromise: boolean;
};

/** The age of an accepted answer at the time of the verification. */
export type AnswerAge = {
  /** Whole days since the answer was signed. */
  readonly days: number;
  /** Whether the answer was signed more than 30 days ago. */
  readonly isOld: boolean;
  /**
   * The last day, `YYYY-MM-DD`, of a licence that was VALID in the answer and has ended since; null without such a day. The
   * service's time zone is not signed, so a licence ends when its last day is over in every time zone.
   */
  readonly licenseEndedOn: string | null;
};

/** The signed URI of a status list, and the envelope's index in that list (Token Status List, section 6.1). */
export type StatusClaim = { readonly uri: string; readonly idx: number };

/** The status of an envelope in a status list. */
export type ListedStatus = StatusClaim & {
  /** When the list was signed, in whole seconds: `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly signedAt: string | null;
  readonly withdrawn: boolean;
};

/**
 * The outcome of a verification. The signed values, `verificationId` to `result`, are null unless the signature is valid,
 * and its key was in use and not compromised. They remain if a later check fails. `kid` and `claimedIssuer` are unverified.
 */
export type Verification = {
  readonly valid: boolean;
  /** A stable code of `refusalReasons`; null if valid. */
  readonly reason: RefusalReason | null;
  readonly verdict: Verdict;
  readonly verificationId: string | null;
  /** The key id in the header; null if the header is malformed. */
  readonly kid: string | null;
  readonly issuer: string | null;
  readonly audience: string | null;
  /** When the envelope was signed, in whole seconds: `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly verifiedAt: string | null;
  readonly result: EligibilityResult | null;
  /** The answer's age; null unless the envelope is valid. */
  readonly age: AnswerAge | null;
  /** If `reason` is `KID_UNKNOWN`, the unexpected issuer that the envelope names, unverified; null in all other cases. */
  readonly claimedIssuer: string | null;
  /** Why the keys are trusted; null if the check `keySet` did not pass. */
  readonly trust: KeyTrust | null;
  /** The envelope's entry in the evidence log; null without a proof, or if the check `log` did not pass. */
  readonly log: LogEvidence | null;
  /** The envelope's entry in a status list; null if no list was given, or no list is usable. */
  readonly statusList: ListedStatus | null;
  /** Warnings about a valid envelope; empty if the envelope is not valid. */
  readonly warnings: readonly Warning[];
  /** One check for each of `checkNames`, in that order. */
  readonly checks: readonly Check[];
};

/** The signed content of a statement. */
export type StatementContent = Pick<SignedStatement, "purpose" | "policyVersion" | "list" | "summary"> & {
  /** The rows of the statement; null unless they match the signed root and no earlier check failed. */
  readonly rows: readonly StatementRow[] | null;
};

/** The outcome of verifying a statement: `result` is null, and `verificationId` is the `statementId`. */
export type StatementVerification = Verification & {
  /** The signed content; null unless the signature is valid and its key was in use and not compromised. */
  readonly statement: StatementContent | null;
};

/** The outcome of a check that did not fail. `ok` is null if the check does not apply. */
export type CheckOutcome = { readonly ok: true | null; readonly detail: string };

/** The claims that envelopes and statements share. */
export type SharedClaims = {
  readonly issuer: string;
  readonly audience: string;
  readonly verificationId: string;
  /** The claim `iat`, the time of signing. */
  readonly issuedAtSeconds: number;
  /** The claims `exp` and `nbf`; null if absent. */
  readonly expiresSeconds: number | null;
  readonly notBeforeSeconds: number | null;
  /** The claim `result`; null for a statement. */
  readonly result: EligibilityResult | null;
};

const noFindings = { kid: null, age: null, claimedIssuer: null, trust: null, log: null, statusList: null };
/** The values that the checks have found so far. A value that no check has found is null; `warnings` is then empty. */
type Findings = { -readonly [member in keyof typeof noFindings]: Verification[member] } & {
  claims: SharedClaims | null;
  warnings: readonly Warning[];
};

const notReached = { ok: null, detail: "Not reached." } as const;
const noWarnings: readonly Warning[] = Object.freeze([]);

export function passedCheck(detail: string): CheckOutcome {
  return { ok: true, detail };
}

export function skippedCheck(detail: string): CheckOutcome {
  return { ok: null, detail };
}

/** The error by which a failed check ends {@link runVerificationChecks}. */
const checkFailed = new Error("a check has failed");

/** A verification in progress. If a check fails, the methods throw, and {@link runVerificationChecks} returns. */
export class CheckList {
  readonly found: Findings = { ...noFindings, claims: null, warnings: noWarnings };
  readonly #outcomes = new Map<CheckName, Omit<Check, "name">>();
  #reason: RefusalReason | null = null;

  /** Returns the value that a check has read, and records the check's `outcome`, if given. A refusal fails the check. */
  read<T>(name: CheckName, value: T | Refusal, outcome?: CheckOutcome): T {
    if (value instanceof Refusal) {
      this.refuse(name, value);
      throw checkFailed;
    }
    if (outcome !== undefined) this.#outcomes.set(name, outcome);
    return value;
  }

  /** Records the outcome of a check. A refusal fails the check. */
  add(name: CheckName, outcome: CheckOutcome | Refusal): void {
    this.#outcomes.set(name, this.read(name, outcome));
  }

  refuse(name: CheckName, { reason, detail }: Refusal): void {
    this.#reason = reason;
    this.#outcomes.set(name, { ok: false, detail });
  }

  conclude(): Verification {
    const { claims, kid, age, claimedIssuer, trust, log, statusList, warnings } = this.found;
    const reason = this.#reason;
    return {
      valid: reason === null,
      reason,
      verdict: reason === null ? "valid" : refusalReasons[reason].verdict,
      verificationId: claims?.verificationId ?? null,
      kid,
      issuer: claims?.issuer ?? null,
      audience: claims?.audience ?? null,
      verifiedAt: claims === null ? null : formatUnixSeconds(claims.issuedAtSeconds),
      result: claims?.result ?? null,
      ...{ age, claimedIssuer, trust, log, statusList },
      warnings: reason === null ? warnings : noWarnings,
      checks: checkNames.map((name) => ({ name, ...(this.#outcomes.get(name) ?? notReached) })),
    };
  }
}

/** Runs checks, in the order of `checkNames`, until one fails. */
export async function runVerificationChecks(run: (list: CheckList) => Promise<void>): Promise<Verification> {
  const list = new CheckList();
  await run(list).catch((error: unknown) => {
    if (error !== checkFailed) throw error;
  });
  return list.conclude();
}

/** Makes the verification of an input that could not be read as an envelope. */
export function verificationOfRefusal(refusal: Refusal): Verification {
  const list = new CheckList();
  list.refuse("form", refusal);
  return list.conclude();
}
