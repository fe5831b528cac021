/**
 * Every reason for which an envelope, a key set or an input is not accepted. The names are stable: a name is never reused
 * for another meaning. `refused` means that the thing is wrong; `undecidable` means that this input cannot tell (contract
 * C18; the exit codes 1 and 2 of `tvs verify`).
 */

import written from "./reasons.json" with { type: "json" };

export type Verdict = "valid" | "refused" | "undecidable";

type ReasonEntry = {
  readonly verdict: "refused" | "undecidable";
  /** One sentence for a human reader. */
  readonly explanation: string;
};

function entries<Reason extends string>(
  of: Readonly<Record<Reason, { verdict: string; explanation: string }>>,
) {
  return of as Readonly<Record<Reason, ReasonEntry>>;
}

/** The reasons, in the order of the checks. */
export const refusalReasons = entries(written);

/** Warnings about an accepted envelope. The names are stable. */
export const warnings = {
  COULD_BE_BACKDATED:
    "The key was compromised later, and whoever has it can write any time of signing. A proof of the log with a checkpoint from before the compromise would rule that out.",
} as const;

export type Warning = keyof typeof warnings;

export type RefusalReason = keyof typeof refusalReasons;

/** A class, so that no JSON of an attacker can pass for a refusal. The detail never repeats unsigned content. */
export class Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;

  constructor(reason: RefusalReason, detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

/** Makes a refusal; the detail is the reason's own sentence by default. */
export function refuse(reason: RefusalReason, detail: string = refusalReasons[reason].explanation): Refusal {
  return new Refusal(reason, detail);
}
