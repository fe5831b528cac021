/** What a verification says about an envelope, and how it is put together check by check. */

import type { AnswerAge } from "./answer-age.ts";
import type { Claims } from "./claims.ts";
import type { EligibilityResult } from "./contract.ts";
import { formatSeconds } from "./date-time.ts";
import { type Refusal, type RefusalReason, refusalReasons, type Verdict, type Warning } from "./reasons.ts";
import type { ListedStatus } from "./status-list.ts";

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

/** What makes the keys that an envelope was judged with the service's. */
export type KeyTrust = {
  /** `jwks`: the caller's JWKS; `anchor`: the caller pinned the history's signer; `key-history`: that file alone. */
  readonly basis: "jwks" | "anchor" | "key-history";
  /** The key that signed the key history, by the thumbprint computed from it; null without a history. */
  readonly historySigner: string | null;
  /** When the key history was signed, in whole seconds; later compromises are not in it. */
  readonly historySignedAt: string | null;
};

/** Where and when the evidence log had an envelope, as its proof shows. */
export type LogEvidence = {
  /** The log's name. */
  readonly origin: string;
  /** The envelope's place in the log, from 0. */
  readonly index: number;
  /** How many entries the log had at the time of the checkpoint. */
  readonly size: number;
  /** When the checkpoint was signed, `YYYY-MM-DDTHH:MM:SSZ`: the envelope existed by then. */
  readonly checkpointAt: string | null;
  /** Whether the key was compromised later than that, which is why the envelope is accepted all the same. */
  readonly precedesCompromise: boolean;
};

/**
 * What a verification found. Everything but `kid` comes from what is signed: it is null unless the signature
 * is good and its key was sound and in use, and it is there when only a later check refused the envelope.
 */
export type Verification = {
  readonly valid: boolean;
  /** Null when valid; otherwise a stable code of `refusalReasons`. */
  readonly reason: RefusalReason | null;
  readonly verdict: Verdict;
  readonly verificationId: string | null;
  /** The key id that the header names, once the header is well formed. */
  readonly kid: string | null;
  readonly issuer: string | null;
  readonly audience: string | null;
  /** The signed time of signing, in whole seconds: `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly verifiedAt: string | null;
  readonly result: EligibilityResult | null;
  /** What has become of the answer since its signing, by the time to judge by; null unless valid. */
  readonly age: AnswerAge | null;
  /**
   * Another issuer than the expected one that an envelope says it comes from, when its key is not known
   * (`KID_UNKNOWN`). Nothing proves it: anybody can write it.
   */
  readonly claimedIssuer: string | null;
  /** What the keys rest on; null when the check `keySet` was not passed. */
  readonly trust: KeyTrust | null;
  /** What the proof shows; null without one, or when the check `log` was not passed. */
  readonly log: LogEvidence | null;
  /** What the status list says of it; null when none was asked, or none that counts. */
  readonly statusList: ListedStatus | null;
  /** What to know of an envelope that is valid all the same. */
  readonly warnings: readonly Warning[];
  /** All of `checkNames`, in order. */
  readonly checks: readonly Check[];
};

/** A check that did not fail: passed, or null when it does not apply. */
export type Passed = { readonly ok: true | null; readonly detail: string };

/** The claims of an envelope, or of a statement, which has no result. */
type ReadClaims = Pick<Claims, "issuer" | "audience" | "verificationId" | "issuedAtSeconds"> & {
  readonly result: EligibilityResult | null;
};

/** A verification under way: the outcomes so far are those of the first of `checkNames`. */
export type Draft = {
  readonly outcomes: Passed[];
  kid: string | null;
  claims: ReadClaims | null;
  age: AnswerAge | null;
  claimedIssuer: string | null;
  trust: KeyTrust | null;
  log: LogEvidence | null;
  statusList: ListedStatus | null;
  warnings: readonly Warning[];
};

const notReached = "Not reached.";
const noWarnings: readonly Warning[] = Object.freeze([]);

/** A passed check, to be made once and noted for many envelopes. */
export function passed(detail: string): Passed {
  return { ok: true, detail };
}

/** A check that does not apply. */
export function skipped(detail: string): Passed {
  return { ok: null, detail };
}

/** Begins a verification. */
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
  const { claims, kid } = draft;
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
    age: draft.age,
    claimedIssuer: draft.claimedIssuer,
    trust: draft.trust,
    log: draft.log,
    statusList: draft.statusList,
    warnings: reason === null ? draft.warnings : noWarnings,
    checks,
  };
}

/** Ends a verification that passed every check. */
export function accept(draft: Draft): Verification {
  return conclude(draft, null, describe(draft.outcomes));
}

/**
 * Ends a verification at the check that failed. Those that did not run, before or after it, say so.
 *
 * @param draft the verification so far
 * @param name the check that failed
 * @param refusal why
 */
export function fail(draft: Draft, name: CheckName, refusal: Refusal): Verification {
  const checks = describe(draft.outcomes);
  for (const other of checkNames.slice(checks.length)) {
    const isFailed = other === name;
    checks.push({ name: other, ok: isFailed ? false : null, detail: isFailed ? refusal.detail : notReached });
  }
  return conclude(draft, refusal.reason, checks);
}

/**
 * The verification of an input that could not even be opened as an envelope.
 *
 * @param refusal why
 */
export function unopened(refusal: Refusal): Verification {
  return fail(beginVerification(), "form", refusal);
}
