/**
 * The verdicts of an outcome: the box of each, the answer of its day, and what a list and a proof of the evidence log add.
 */

import { lookupAddress } from "../../partner/answer-age.ts";
import type { EligibilityResult } from "../../partner/contract.ts";
import { dayInWords } from "../../partner/date-time.ts";
import type { LogEvidence, Verification } from "../../partner/verification.ts";
import type { Judged } from "./judge.ts";
import { reasonTexts, writtenTime } from "./signed-values.ts";
import { type EnvelopeTexts, el } from "./view.ts";

export type Tone = "good" | "bad" | "warn" | "none" | "nobody";

/** The mark says in a shape what the colour says; the word beside it says it to everybody. */
const marks: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", warn: "?", none: "✓", nobody: "?" };

/** Its heading takes the focus, so that a screen reader reads the answer next. */
export function verdictBox(
  tone: Tone,
  title: string,
  ...sentences: (string | HTMLElement | null)[]
): HTMLElement {
  const mark = el("span", { "aria-hidden": "true", class: "mark" }, marks[tone]);
  return el(
    "div",
    { class: `verdict ${tone}` },
    el("h2", { tabindex: "-1" }, mark, title),
    sentences.map((sentence) => (typeof sentence === "string" ? el("p", {}, sentence) : sentence)),
  );
}

let pairs = 0;

/** The first heading takes the focus, so a screen reader is told of what belongs to it at once. */
export function pair(first: HTMLElement, ...others: (HTMLElement | null)[]): HTMLElement[] {
  const id = `answer-${++pairs}`;
  const shown = others.filter((other) => other !== null);
  const ids = shown.map((other, index) => {
    const described = other.querySelector("h2") ?? other;
    described.id = `${id}-${index}`;
    return described.id;
  });
  first.querySelector("h2")?.setAttribute("aria-describedby", ids.join(" "));
  return [first, ...shown];
}

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

/** Whether it is the proof that was not accepted, and not the envelope. */
export function isAboutProof({ checks }: Verification): boolean {
  return checks.some(({ name, ok }) => name === "log" && ok === false);
}

export function proofTitle({ reason }: Verification, { log }: EnvelopeTexts): string {
  const known: Readonly<Record<string, string>> = log.verdicts;
  return known[reason ?? ""] ?? log.notChecked;
}

/** Whether whoever has the key could have written an earlier time of signing. */
export function isBackdatable({ warnings }: Verification): boolean {
  return warnings.includes("COULD_BE_BACKDATED");
}

/** Long numbers in groups, as people write them. */
function counted(number: number): string {
  return number.toLocaleString(document.documentElement.lang);
}

/** Where and when the log had it, in sentences. */
function logged({ index, size, checkpointAt }: LogEvidence, texts: EnvelopeTexts): string[] {
  const { log } = texts;
  return [log.byMeaning(writtenTime(checkpointAt ?? "", texts)), log.entry(counted(index), counted(size))];
}

/**
 * What the log's proof, or the lack of one, means for an answer that is valid.
 * @returns nothing where there is nothing to say: most answers have no proof, and need none
 */
export function evidenceLine(judged: Judged, texts: EnvelopeTexts): HTMLElement | null {
  const { log } = texts;
  const { verification, compromisedSince } = judged;
  const since = writtenTime(compromisedSince ?? "", texts);
  const evidence = verification.log;
  if (isBackdatable(verification)) {
    const words = evidence === null ? [] : [...logged(evidence, texts), log.tooLate];
    return line("warn", log.backdated, [log.backdatedMeaning(since), ...words], texts);
  }
  if (evidence === null) return null;
  const words = evidence.precedesCompromise ? [log.despite(since)] : [];
  const title = log.by(writtenTime(evidence.checkpointAt ?? "", texts));
  return line("none", title, [...logged(evidence, texts), ...words], texts);
}

/** Whether a list was asked if a valid answer still holds, and of which day it was. No list has an answer of nobody. */
export function standingLine({ statusList, result }: Verification, texts: EnvelopeTexts): HTMLElement | null {
  const { standing } = texts;
  if (statusList === null && result?.found === false) return null;
  const time = writtenTime(statusList?.signedAt ?? "", texts);
  const words =
    statusList === null ? standing.notAsked : statusList.withdrawn ? standing.no(time) : standing.by(time);
  return el("div", { class: "standing" }, el("p", {}, words));
}

function line(tone: string, title: string, sentences: readonly string[], { log }: EnvelopeTexts) {
  const paragraphs = sentences.map((sentence) => el("p", {}, sentence));
  return el("div", { class: `evidence ${tone}` }, el("h3", {}, `${log.title}: ${title}`), paragraphs);
}

/** What a proof could do, or did not do, for an answer whose key was compromised when it was signed. */
export function compromiseAdvice({ verification, hasProof }: Judged, { log }: EnvelopeTexts): string | null {
  if (verification.reason !== "KEY_COMPROMISED") return null;
  return hasProof ? log.tooLate : log.askForProof;
}
