/** The second verdict: what was answered on its day, and what has become of it since. */

import { lookupAddress } from "../../partner/answer-age.ts";
import type { EligibilityResult } from "../../partner/contract.ts";
import { dayInWords } from "../../partner/date-time.ts";
import type { Verification } from "../../partner/verification.ts";
import { el } from "./dom.ts";
import { reasonTexts } from "./signed-values.ts";
import type { EnvelopeTexts } from "./texts.ts";
import { type Tone, verdictBox } from "./verdict-box.ts";

/** Only an answer that says yes is good, and only while its licence lasts. "Nobody found" is bad news about nobody. */
export function answerTone({ result, age }: Verification): Tone {
  if (result?.found === false) return "nobody";
  if (result?.eligible !== true) return "bad";
  return (age?.licenseEndedOn ?? null) === null ? "good" : "none";
}

/** The answer in the look-up page's words, with its day: it is an answer of that day, and of no other. */
export function answerTitle(
  { found, status, eligible }: EligibilityResult,
  { verifiedAt }: Verification,
  { verdicts, locale }: EnvelopeTexts,
): string {
  const day = dayInWords(verifiedAt ?? "", locale);
  if (!found) return verdicts.nobody(day);
  const answer = verdicts.answer(status, day);
  if (eligible === (status === "VALID")) return answer;
  return eligible ? verdicts.butEligible(answer) : verdicts.butNotEligible(answer);
}

/** In the register's words, as the look-up page says it. */
function summaryOf({ status, teacher, license }: EligibilityResult, texts: EnvelopeTexts): string {
  const { meanings, signed, locale } = texts;
  const name = teacher?.name ?? "";
  const expiry = license?.expiryDate ?? null;
  const end = expiry === null ? signed.noDay : dayInWords(expiry, locale);
  const sentences = {
    VALID: () => meanings.answer.licensed(name, end),
    EXPIRED: () => meanings.answer.expired(name, end),
    REVOKED: () => meanings.answer.revoked(name),
    NOT_FOUND: () => meanings.answer.notLicensed(name),
  };
  return sentences[status]();
}

/** As large as the first verdict, and in a colour of its own. */
export function answerBox(
  verification: Verification,
  result: EligibilityResult,
  texts: EnvelopeTexts,
): HTMLElement {
  const { answer } = texts.meanings;
  const { found, teacher, reasons } = result;
  return verdictBox(
    answerTone(verification),
    answerTitle(result, verification, texts),
    found && teacher !== null ? summaryOf(result, texts) : answer.nobody,
    !found || reasons.length === 0 ? null : answer.because(reasonTexts(result, texts)),
  );
}

/** Whether the answer's day is past in a way that its reader has to know. */
export function isPast({ age }: Verification): boolean {
  return age !== null && (age.isOld || age.licenseEndedOn !== null);
}

/** The line below an answer that is not of today any more, with the way to today's. */
export function sinceBox(verification: Verification, texts: EnvelopeTexts): HTMLElement | null {
  const { age } = verification;
  if (age === null || !isPast(verification)) return null;
  const { since, locale } = texts;
  const { licenseEndedOn: ended, days } = age;
  const words = ended === null ? since.old(days) : since.ended(dayInWords(ended, locale));
  const href = lookupAddress(verification, window.location.origin);
  // In a page of its own: the result stands nowhere else, and would be lost.
  const link =
    href === null
      ? since.askAgain
      : el("a", { href, target: "_blank", rel: "noreferrer noopener" }, since.today(new URL(href).host));
  return el("div", { class: "since warn" }, el("p", {}, el("strong", {}, words), " ", link));
}
