import type { Attestation } from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import { personalDigits, withoutPersonalData } from "./personal-data.ts";
import { ninPattern } from "./search-term.ts";
import type { Teacher, TeacherKey } from "./teachers.ts";

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
