/** Writes verifications for people and for programs. Nothing unsigned but file names and key ids appears. */

import type { EligibilityResult } from "../src/partner/contract.ts";
import type { Place } from "../src/partner/input.ts";
import { refusalReasons } from "../src/partner/reasons.ts";
import type { Check, Verification } from "../src/partner/verification.ts";

/** Where an envelope was found. */
export type Location = { readonly file: string; readonly place: Place };

/**
 * Control characters, and the marks that reverse or hide text: a signed name or a file name must not be
 * able to steer the reader's terminal.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escapeCharacter(character: string): string {
  // Beyond the basic plane JSON knows a character by its two halves only.
  const halves = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return halves.map((half) => `\\u${half.toString(16).padStart(4, "0")}`).join("");
}

/**
 * Makes a text safe for a terminal.
 *
 * @param text any text
 */
export function printable(text: string): string {
  return text.replace(unprintable, escapeCharacter);
}

/**
 * One verification as one line of JSON. The escapes mean the same characters to every JSON reader.
 *
 * @param verification the verdict
 * @param location where the envelope stood
 */
export function formatJson(verification: Verification, { file, place }: Location): string {
  const line = place.line === null ? {} : { line: place.line };
  const index = place.index === null ? {} : { index: place.index };
  return `${JSON.stringify({ ...verification, file, ...line, ...index }).replace(unprintable, escapeCharacter)}\n`;
}

const colors = { valid: 32, refused: 31, undecidable: 33 };

function describeLocation({ file, place }: Location): string {
  const line = place.line === null ? "" : `:${place.line}`;
  return `${file}${line}${place.index === null ? "" : `[${place.index}]`}`;
}

function row(name: string, ...values: (string | number | null | undefined)[]): string[] {
  const known = values.filter((value) => value !== null && value !== undefined && value !== "");
  return known.length === 0 ? [] : [`  ${name.padEnd(15)} ${printable(known.join(", "))}`];
}

function describeResult({
  status,
  eligible,
  reasons,
  teacher,
  license,
  certificate,
}: EligibilityResult): string[] {
  const verdict = eligible ? "eligible" : "not eligible";
  return [
    ...row("status", status, verdict, ...reasons),
    ...row("teacher", teacher?.name, teacher?.tId, teacher?.state, teacher?.category),
    ...row("license", license?.status, license?.issueDate, license?.expiryDate),
    ...row("certificate", certificate?.status, certificate?.regNo, certificate?.issueDate),
  ];
}

function describeCheck({ name, ok, detail }: Check): string {
  const mark = ok === null ? "--" : ok ? "ok" : "NO";
  return `  ${mark} ${name.padEnd(12)} ${printable(detail)}`;
}

/**
 * One verification for a person: the verdict, the one reason, what is signed, and each check.
 *
 * @param verification the verdict
 * @param location where the envelope stood
 * @param color whether the terminal shows colours
 */
export function formatHuman(verification: Verification, location: Location, color: boolean): string {
  const { verdict, reason, result } = verification;
  const word = color ? `\u001b[${colors[verdict]}m${verdict}\u001b[0m` : verdict;
  const why = reason === null ? "" : `  ${reason}: ${refusalReasons[reason].explanation}`;
  const lines = [
    `${word}  ${printable(describeLocation(location))}${why}`,
    ...row("verificationId", verification.verificationId),
    ...row("verifiedAt", verification.verifiedAt),
    ...row("issuer", verification.issuer),
    ...row("audience", verification.audience),
    ...row("kid", verification.kid),
    ...(result === null ? [] : describeResult(result)),
    ...verification.checks.map(describeCheck),
  ];
  return `${lines.join("\n")}\n\n`;
}
