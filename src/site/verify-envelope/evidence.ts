/** What a proof shows, as the third line of an outcome: below the two verdicts, and smaller than either. */

import type { LogEvidence, Verification } from "../../partner/verification.ts";
import { el } from "./dom.ts";
import type { Judged } from "./judge.ts";
import { writtenTime } from "./signed-values.ts";
import type { EnvelopeTexts } from "./texts.ts";

/** Whether it is the proof that was not accepted, and not the envelope. */
export function isAboutProof({ checks }: Verification): boolean {
  return checks.some(({ name, ok }) => name === "log" && ok === false);
}

/** The title of a verdict on the proof, which names what is wrong with it. */
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
 *
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
