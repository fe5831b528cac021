/** Writes the signed values in words. Everything shown here comes from a signature that was found good. */

import type { Certificate, EligibilityResult, License } from "../../../partner/contract.ts";
import type { Verification } from "../../../partner/verification.ts";
import { el, fact } from "./dom.ts";
import type { EnvelopeTexts } from "./texts.ts";

type Words = EnvelopeTexts["signed"];

/** `2026-03-01T12:00:00Z` as `2026-03-01 12:00:00 UTC`, which no reader takes for another day. */
export function writtenTime(time: string): string {
  return time.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
}

function licenseText({ status, issueDate, expiryDate }: License, words: Words): string {
  const dates = [
    issueDate === null ? null : words.issued(issueDate),
    expiryDate === null ? null : words.until(expiryDate),
  ];
  return [status, ...dates.filter((date) => date !== null)].join(", ");
}

function certificateText({ status, issueDate }: Certificate, words: Words): string {
  return issueDate === null ? status : `${status}, ${words.issued(issueDate)}`;
}

/** A reason that is newer than this page is shown as it was signed. */
export function reasonTexts(result: EligibilityResult, texts: EnvelopeTexts): string {
  const known: Readonly<Record<string, string>> = texts.reasons;
  return result.reasons.map((reason) => `${known[reason] ?? reason} (${reason})`).join("; ");
}

/** Who was asked about, and what was answered. */
export function answerFacts(result: EligibilityResult, texts: EnvelopeTexts): (HTMLElement | null)[] {
  const words = texts.signed;
  const { teacher, license, certificate } = result;
  return [
    fact(words.teacher, teacher?.name ?? words.notFound),
    fact(words.regNo, certificate?.regNo),
    fact(words.tId, teacher?.tId?.toString()),
    fact(words.state, teacher?.state),
    fact(words.category, teacher?.category),
    fact(words.license, license === null ? result.status : licenseText(license, words)),
    fact(words.certificate, certificate === null ? null : certificateText(certificate, words)),
    fact(words.eligible, result.eligible ? words.yes : words.no),
    fact(words.reasons, reasonTexts(result, texts)),
  ];
}

/** Who signed it, when, for whom, and with which key. */
export function signatureFacts(verification: Verification, words: Words): (HTMLElement | null)[] {
  const { verifiedAt, issuer, audience, kid, verificationId } = verification;
  const code = (text: string | null) => (text === null ? null : el("code", {}, text));
  return [
    fact(words.issuer, issuer),
    fact(words.audience, audience),
    fact(words.verifiedAt, verifiedAt === null ? null : writtenTime(verifiedAt)),
    fact(words.verificationId, code(verificationId)),
    fact(words.kid, code(kid)),
  ];
}
