/**
 * Every reason for which an envelope, a key set or an input is not accepted.
 *
 * The names are stable: partners branch on them, so a name is never reused for another meaning.
 * `refused` means that the thing is wrong; `undecidable` means that this input cannot tell (contract
 * C18; the exit codes 1 and 2 of `tvs verify` follow from it).
 */

import written from "./reasons.json" with { type: "json" };

/** What a verification ends with: accepted, wrong, or not possible to say. */
export type Verdict = "valid" | "refused" | "undecidable";

type ReasonEntry = {
  readonly verdict: "refused" | "undecidable";
  /** One sentence for a human reader. */
  readonly explanation: string;
};

/** The reasons as reasons.json has them, in the order in which the checks run. */
function entries<Reason extends string>(
  of: Readonly<Record<Reason, { verdict: string; explanation: string }>>,
) {
  return of as Readonly<Record<Reason, ReasonEntry>>;
}

/** The one table of reasons. */
export const refusalReasons = entries(written);

/** What a reader should know of an envelope although it is accepted. The names are as stable as the reasons. */
export const warnings = {
  COULD_BE_BACKDATED:
    "The key was compromised later, and whoever has it can write any time of signing. A proof of the log with a checkpoint from before the compromise would rule that out.",
} as const;

/** A stable warning code, a member of `warnings`. */
export type Warning = keyof typeof warnings;

/** A stable reason code, a member of `refusalReasons`. */
export type RefusalReason = keyof typeof refusalReasons;

/**
 * Why something is not accepted. A class, so that no JSON of an attacker can pass for one.
 * The detail never repeats unsigned content.
 */
export class Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;

  constructor(reason: RefusalReason, detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

/**
 * Makes a refusal.
 *
 * @param reason the stable code
 * @param detail what exactly is wrong; the reason's own sentence when left out
 */
export function refuse(reason: RefusalReason, detail: string = refusalReasons[reason].explanation): Refusal {
  return new Refusal(reason, detail);
}
