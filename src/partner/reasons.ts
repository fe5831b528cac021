/**
 * Every reason for refusing an envelope, a key set or another input. The names are stable: a name is never reused for
 * another meaning. A reason is `refused` if the input is wrong, and `undecidable` if another copy of the input, or newer
 * keys or lists, could decide (contract C18; the exit codes 1 and 2 of `tvs verify`).
 */

import sentences from "./reasons.json" with { type: "json" };

export type Verdict = "valid" | "refused" | "undecidable";

type ReasonEntry = {
  readonly verdict: "refused" | "undecidable";
  /** What the reason means, in one sentence for people. */
  readonly explanation: string;
};

// biome-ignore format: a list reads better in rows
const undecidable: ReadonlySet<string> = new Set([
  "FILE_UNREADABLE", "FOLDER_NESTED", "INPUT_TOO_LARGE", "NO_ENVELOPE", "NOT_AN_ENVELOPE", "TEXT_DAMAGED",
  "KEY_SET_UNREADABLE", "KEY_HISTORY_UNREADABLE", "KID_UNKNOWN", "VERIFIER_FAILED", "LOG_KEY_UNREADABLE",
  "LOG_STATE_UNREADABLE", "PROOF_UNREADABLE", "LOG_KEY_MISSING", "STATUS_LIST_UNUSABLE", "STATUS_LIST_STALE",
]);

function entries<Reason extends string>(explanations: Readonly<Record<Reason, string>>) {
  const rows = Object.entries<string>(explanations).map(([reason, explanation]) => {
    return [reason, { verdict: undecidable.has(reason) ? "undecidable" : "refused", explanation }];
  });
  return Object.fromEntries(rows) as Readonly<Record<Reason, ReasonEntry>>;
}

/** All reasons in the order of the checks, each with its verdict and its explanation. */
export const refusalReasons = entries(sentences);

/** Warnings about an accepted envelope. The names are stable. */
export const warnings = {
  COULD_BE_BACKDATED:
    "The key was compromised later, and whoever has it can write any time of signing. A proof of the log with a checkpoint from before the compromise would rule that out.",
} as const;

export type Warning = keyof typeof warnings;

export type RefusalReason = keyof typeof refusalReasons;

/** A reason and a detail that repeats no unsigned content. It is a class, so parsed JSON is never taken for a refusal. */
export class Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;

  constructor(reason: RefusalReason, detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

/** Makes a refusal, whose detail is the reason's own explanation by default. */
export function refuse(reason: RefusalReason, detail: string = refusalReasons[reason].explanation): Refusal {
  return new Refusal(reason, detail);
}
