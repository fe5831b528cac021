import type { Attestation } from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import { ninPattern } from "./search-term.ts";
import type { Teacher, TeacherKey } from "./teachers.ts";

/**
 * Digits in a row, eleven to fifteen in groups as phone numbers are written, and what has an `@` in it. Each
 * run is bounded: without that, a long text would keep the expression busy for the square of its length.
 */
const personal =
  /\+?\d{10,}|(?<![\w-])\+?\(?\d(?:[\s().-]{0,2}\d){10,14}(?![\w-])|[^\s"@]{1,64}@[^\s"@]{1,255}/g;

/** A phone number has that many digits without its leading zero; a NIN has one more. */
const personalDigits = 10;

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
    return { reference: `regNo:${teacher?.regNo ?? withoutPersonalData(key.value)}`, ninIndex: null };
  }
  if (key.by !== "tId") return { reference: key.by, ninIndex: key.value };
  const digits = String(key.value);
  if (teacher === null && digits.length >= personalDigits) {
    return { reference: "tId", ninIndex: ninPattern.test(digits) ? index.nin(digits) : null };
  }
  return { reference: `tId:${digits}`, ninIndex: null };
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

/** The text with what looks like a NIN, a phone number or an e-mail address taken out. */
export function withoutPersonalData(text: string): string {
  return text.replace(personal, "[removed]");
}
