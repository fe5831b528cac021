/** Makes the outcome of a verification: the verdicts in words, the changed members, the signed values and the checks. */

import { lookupUrlOfAnswer } from "../../partner/answer-age.ts";
import type { EligibilityResult } from "../../partner/contract.ts";
import { type RefusalReason, refusalReasons } from "../../partner/reasons.ts";
import type { Check, LogEvidence, Verification } from "../../partner/verification.ts";
import type { CheckedItem } from "./check.ts";
import {
  findChangedMembers,
  formatDay,
  formatReasons,
  formatSigner,
  formatTime,
  makeAnswerFacts,
  makeSignatureFacts,
  makeStatementBox,
  makeStatementSection,
  statementToneOf,
} from "./values.ts";
import { el, keySource, makeTable, makeVerdictBox, ownIssuer, type Tone, texts } from "./view.ts";

const { verdicts, meanings, log } = texts;

const tones = { valid: "good", refused: "bad", undecidable: "warn" } as const;

let pairs = 0;

/** Makes `others` the description of the heading of `first`. A screen reader reads the description when the heading has focus. */
function describeFirst(first: HTMLElement, ...others: (HTMLElement | null)[]): HTMLElement[] {
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

/** Chooses the colour of an answer: green if eligible, until the licence ends. An answer that found nobody has its own colour. */
function answerTone({ result, age }: Verification): Tone {
  if (result?.found === false) return "nobody";
  if (result?.eligible !== true) return "bad";
  return (age?.licenseEndedOn ?? null) === null ? "good" : "none";
}

/** Writes the answer with its day, in the words of the lookup page. */
function answerTitle({ found, status, eligible }: EligibilityResult, { verifiedAt }: Verification): string {
  const day = formatDay(verifiedAt ?? "");
  if (!found) return verdicts.nobody(day);
  const answer = verdicts.answer(status, day);
  if (eligible === (status === "VALID")) return answer;
  return eligible ? verdicts.butEligible(answer) : verdicts.butNotEligible(answer);
}

function summaryOf({ status, teacher, license }: EligibilityResult): string {
  const { answer } = meanings;
  const name = teacher?.name ?? "";
  const expiry = license?.expiryDate ?? null;
  const end = expiry === null ? texts.signed.noDay : formatDay(expiry);
  const sentences = {
    VALID: answer.licensed(name, end),
    EXPIRED: answer.expired(name, end),
    REVOKED: answer.revoked(name),
    NOT_FOUND: answer.notLicensed(name),
  };
  return sentences[status];
}

/** Makes the box of the verdict on the answer, the second verdict. The first verdict is on the signature. */
export function makeAnswerBox(verification: Verification, result: EligibilityResult): HTMLElement {
  const { found, teacher, reasons } = result;
  return makeVerdictBox(
    answerTone(verification),
    answerTitle(result, verification),
    found && teacher !== null ? summaryOf(result) : meanings.answer.nobody,
    !found || reasons.length === 0 ? null : meanings.answer.because(formatReasons(result)),
  );
}

function isPast({ age }: Verification): boolean {
  return age !== null && (age.isOld || age.licenseEndedOn !== null);
}

/** Makes the note with a link to today's answer; null unless the answer is old or its licence has ended. */
export function makeOldAnswerNote(verification: Verification): HTMLElement | null {
  const { age } = verification;
  if (age === null || !isPast(verification)) return null;
  const { since } = texts;
  const ended = age.licenseEndedOn;
  const words = ended === null ? since.old(age.days) : since.ended(formatDay(ended));
  const href = lookupUrlOfAnswer(verification, window.location.origin);
  // The link opens a new page, because leaving this page would lose the result.
  const link =
    href === null
      ? since.askAgain
      : el("a", { href, target: "_blank", rel: "noreferrer noopener" }, since.today(new URL(href).host));
  return el("div", { class: "since warn" }, el("p", {}, el("strong", {}, words), " ", link));
}

export function isProofRefused({ checks }: Verification): boolean {
  return checks.some(({ name, ok }) => name === "log" && ok === false);
}

function isBackdatable({ warnings }: Verification): boolean {
  return warnings.includes("COULD_BE_BACKDATED");
}

/** Writes two sentences: the time by which the log had the answer, and the answer's number among the log's entries. */
function logSentences({ index, size, checkpointAt }: LogEvidence): string[] {
  const counted = (number: number) => number.toLocaleString(document.documentElement.lang);
  return [log.byMeaning(formatTime(checkpointAt)), log.entry(counted(index), counted(size))];
}

/** Explains what the log's proof means for an answer, or what a missing proof means; null if no proof is given or needed. */
export function makeEvidenceNote({ verification, compromisedSince }: CheckedItem): HTMLElement | null {
  const since = formatTime(compromisedSince);
  const evidence = verification.log;
  const line = (tone: string, title: string, ...sentences: string[]) => {
    const paragraphs = sentences.map((sentence) => el("p", {}, sentence));
    return el("div", { class: `evidence ${tone}` }, el("h3", {}, `${log.title}: ${title}`), paragraphs);
  };
  if (isBackdatable(verification)) {
    const words = evidence === null ? [] : [...logSentences(evidence), log.tooLate];
    return line("warn", log.backdated, log.backdatedMeaning(since), ...words);
  }
  if (evidence === null) return null;
  const words = evidence.precedesCompromise ? [log.despite(since)] : [];
  return line("none", log.by(formatTime(evidence.checkpointAt)), ...logSentences(evidence), ...words);
}

/** Writes what the status list says about the answer, and the list's time; null for "nobody found" without a list. */
function standingLine({ statusList, result }: Verification): HTMLElement | null {
  const { standing } = texts;
  if (statusList === null && result?.found === false) return null;
  const time = formatTime(statusList?.signedAt);
  const words =
    statusList === null ? standing.notAsked : statusList.withdrawn ? standing.no(time) : standing.by(time);
  return el("div", { class: "standing" }, el("p", {}, words));
}

/** Whether the input is something else than an envelope. The page then shows a verdict without checks and signed values. */
function isNotEnvelope({ verification }: CheckedItem): boolean {
  return verification.reason === "NOT_AN_ENVELOPE";
}

type OwnTextKey = "changed" | "otherPartner" | "otherIssuer" | "withdrawn" | "noList";
const textKeysOfRefusals: Readonly<Partial<Record<RefusalReason, OwnTextKey>>> = {
  ROWS_DIFFER: "changed",
  AUDIENCE_MISMATCH: "otherPartner",
  ISSUER_MISMATCH: "otherIssuer",
  WITHDRAWN_SINCE: "withdrawn",
  STATUS_LIST_STALE: "noList",
  STATUS_LIST_UNUSABLE: "noList",
};

/** Returns the key of the title and explanation for a refusal that has its own texts; undefined for other refusals. */
function ownTextKey(reason: RefusalReason | null): OwnTextKey | undefined {
  if (reason === null) return undefined;
  return reason.startsWith("OUTER_") ? "changed" : textKeysOfRefusals[reason];
}

/** Returns the other service that an envelope with an unknown key claims as issuer, else null. Anybody can make that claim. */
function elsewhereOf({ claimedIssuer }: Verification): string | null {
  return ownIssuer === null || claimedIssuer === ownIssuer ? null : claimedIssuer;
}

export function verdictTitleOf(checked: CheckedItem): string {
  const { verification } = checked;
  const { reason, verdict } = verification;
  const proofVerdicts: Readonly<Record<string, string>> = log.verdicts;
  if (isProofRefused(verification)) return proofVerdicts[reason ?? ""] ?? log.notChecked;
  if (isBackdatable(verification)) return verdicts.backdatable;
  const own = ownTextKey(reason);
  if (own !== undefined) return verdicts[own];
  // These two verdicts do not say "forged": the key's owner may have signed the envelope, and a clock may be wrong.
  if (reason === "KEY_COMPROMISED") return verdicts.compromised;
  if (reason === "ISSUED_IN_FUTURE") return verdicts.future;
  if (elsewhereOf(verification) !== null) return verdicts.elsewhere;
  if (isNotEnvelope(checked)) return verdicts.notAnEnvelope;
  const isAboutKeys = /^KEY_(SET|HISTORY)_/.test(reason ?? "");
  return verdict === "refused" && isAboutKeys ? verdicts.badKeys : verdicts[verdict];
}

/** Chooses the colour of the verdict on the signature, which is green only if the verdict on the answer is green. */
export function signatureToneOf(verification: Verification, stated: Tone = "good"): Tone {
  const { verdict, result } = verification;
  if (isBackdatable(verification)) return "warn";
  const isQuiet = result !== null && verdict === "valid" && answerTone(verification) !== "good";
  return isQuiet || (verdict === "valid" && stated !== "good") ? "none" : tones[verdict];
}

/** Explains a refusal; null if accepted. If the envelope names another service, the text sends the user there. */
function reasonOf(verification: Verification): string | null {
  const { reason, checks, claimedIssuer } = verification;
  const elsewhere = elsewhereOf(verification);
  if (elsewhere !== null) return meanings.elsewhere(elsewhere);
  if (reason === null) return null;
  if (reason === "KID_UNKNOWN" && keySource === "fetched") return meanings.unknownKey;
  const { explanation } = refusalReasons[reason];
  const detail = checks.find(({ ok }) => ok === false)?.detail ?? explanation;
  const isEnough = reason === "NOT_AN_ENVELOPE" || detail === explanation || reason.startsWith("OUTER_");
  const why = isEnough ? detail : `${explanation} ${detail}`;
  return claimedIssuer === null ? why : `${why} ${meanings.claimed(claimedIssuer)}`;
}

function signatureBox(checked: CheckedItem): HTMLElement {
  const { verification, statement, hasProof } = checked;
  const { verdict, reason, trust } = verification;
  const isLoose = verdict === "valid" && trust?.basis === "key-history";
  const own = ownTextKey(reason);
  const aboutProof = isProofRefused(verification);
  const box = makeVerdictBox(
    signatureToneOf(verification, statement === null ? "good" : statementToneOf(statement)),
    verdictTitleOf(checked),
    reason === null ? meanings.valid(formatSigner(verification)) : own === undefined ? null : meanings[own],
    isLoose ? meanings.trust(trust.historySigner ?? "", formatTime(trust.historySignedAt)) : null,
    reasonOf(verification),
    reason === "KEY_COMPROMISED" ? (hasProof ? log.tooLate : log.askForProof) : null,
    aboutProof ? log.aboutProof : null,
    verdict === "undecidable" && !aboutProof
      ? meanings[isNotEnvelope(checked) ? "noEnvelope" : "undecidable"]
      : null,
  );
  if (reason !== null) box.append(el("p", { class: "code" }, `${meanings.code} ${reason}`));
  return box;
}

/** Makes the verdict on the signature and, if the answer can be trusted, the verdict on the answer. */
function verdictsOf(checked: CheckedItem): (HTMLElement | null)[] {
  const first = signatureBox(checked);
  const { verification, statement } = checked;
  const { valid, result } = verification;
  if (statement !== null)
    return [...describeFirst(first, makeStatementBox(statement, checked)), makeEvidenceNote(checked)];
  if (!valid || result === null) return [first];
  const boxes = describeFirst(first, makeAnswerBox(verification, result), makeOldAnswerNote(verification));
  return [...boxes, makeEvidenceNote(checked), standingLine(verification)];
}

function signedPart(checked: CheckedItem): HTMLElement | null {
  const { signed } = texts;
  const { verification } = checked;
  const title = el("h3", {}, signed.title);
  const { result, verificationId, verifiedAt, issuer, audience, kid } = verification;
  if (result === null && isProofRefused(verification)) return null;
  if (result === null) return el("section", {}, title, el("p", {}, signed.none));
  const facts = [...makeAnswerFacts(result), ...makeSignatureFacts(verification, formatSigner(verification))];
  const all = JSON.stringify({ verificationId, verifiedAt, issuer, audience, kid, result }, null, 2);
  const json = el("pre", { tabindex: "0" }, el("code", {}, all));
  const left = checked.notCompared.map((member) =>
    el("p", { class: "soft" }, meanings.notCompared(meanings[member])),
  );
  const details = el("details", {}, el("summary", {}, signed.all), json);
  return el("section", {}, title, el("dl", { class: "facts" }, facts), left, details);
}

function differencesPart(checked: CheckedItem): HTMLElement | null {
  const rows = checked.envelope === null ? [] : findChangedMembers(checked.envelope, checked.verification);
  if (rows.length === 0) return null;
  const words = texts.differences;
  const body = rows.map(({ member, signed, outer }) => [
    el("th", { scope: "row" }, el("code", {}, member), " ", el("strong", {}, words.differs)),
    el("td", { "data-label": words.signed }, el("ins", {}, signed ?? words.absent)),
    el("td", { "data-label": words.outer }, el("del", {}, outer ?? words.absent)),
  ]);
  const heads = [words.member, words.signed, words.outer];
  const lines = body.map((row) => el("tr", {}, row));
  const same = el("p", { class: "soft" }, words.same);
  const title = el("h3", {}, words.title);
  return el("section", { class: "differences" }, title, makeTable(words.caption, heads, lines), same);
}

/** Makes the line of one check. A comparison for which the user gave no value is shown as not made. */
function checkRow({ name, ok, detail }: Check, { notCompared, verification }: CheckedItem): HTMLElement {
  const { checks } = texts;
  const skipped = notCompared.find((member) => member === name);
  const isPassed = skipped === undefined ? ok : null;
  const words =
    skipped === undefined ? detail : checks.notCompared(meanings[skipped], verification[skipped] ?? "");
  const [word, tone] =
    isPassed === null
      ? [checks.skipped, "none"]
      : isPassed
        ? [checks.passed, "good"]
        : [checks.failed, "bad"];
  const badge = el("strong", { class: `badge ${tone}` }, word);
  const text = el("span", {}, el("b", {}, `${checks.names[name]}.`), ` ${words}`);
  return el("li", { "data-ok": String(isPassed) }, badge, text);
}

function checksPart(checked: CheckedItem): HTMLElement {
  const { checks } = texts;
  const lines = checked.verification.checks.map((check) => checkRow(check, checked));
  const count = (ok: string) => lines.filter((line) => line.dataset.ok === ok).length;
  const [passed, failed, skipped] = [count("true"), count("false"), count("null")] as const;
  const sum = [checks.sum(passed)];
  if (failed > 0) sum.push(checks.sumFailed(failed));
  if (skipped > 0) sum.push(checks.sumSkipped(skipped));
  const summary = el("summary", {}, sum.join(", "));
  return el("details", { open: failed > 0 }, summary, el("ol", { class: "checks" }, lines));
}

/** Makes the outcome of one envelope, with `actions` below the verdicts. An input that is not an envelope has only a verdict. */
export function makeOutcome(checked: CheckedItem, actions?: HTMLElement): HTMLElement {
  const { statement, name } = checked;
  const signed = () => (statement === null ? signedPart(checked) : makeStatementSection(statement, checked));
  return el(
    "div",
    {},
    verdictsOf(checked),
    actions,
    name === null ? null : el("p", { class: "soft" }, texts.fromFile(name)),
    isNotEnvelope(checked) ? [] : [differencesPart(checked), signed(), checksPart(checked)],
  );
}

/** Makes the outcome of several envelopes: the counts of genuine and of eligible ones, `actions`, and each envelope folded up. */
export function makeOutcomeList(all: readonly CheckedItem[], actions: HTMLElement): HTMLElement {
  const answers = all.map(({ verification }) => verification).filter(({ valid }) => valid);
  const eligible = answers.filter(({ result }) => result?.eligible === true).length;
  const past = answers.filter(isPast).length;
  const hasEnded = answers.some(({ age }) => age !== null && age.licenseEndedOn !== null);
  const isGood = eligible === all.length && !hasEnded;
  const backdatable = all.filter(({ verification }) => isBackdatable(verification)).length;
  const quietTone = answers.length === all.length ? "none" : "warn";
  const first = makeVerdictBox(
    backdatable > 0 ? "warn" : isGood ? "good" : quietTone,
    texts.many(all.length, answers.length),
    backdatable > 0 ? log.someBackdatable(backdatable) : null,
  );
  const second = makeVerdictBox(
    eligible === answers.length ? (hasEnded ? "none" : "good") : "bad",
    texts.manyAnswers(answers.length, eligible),
    past === 0 ? null : texts.since.some(past),
  );
  const items = all.map((checked, index) => {
    const { valid, result } = checked.verification;
    const answer = valid && result !== null ? `; ${answerTitle(result, checked.verification)}` : "";
    const words = `${checked.name ?? texts.item(index + 1)}: ${verdictTitleOf(checked)}${answer}`;
    return el("details", { class: "envelope" }, el("summary", {}, words), makeOutcome(checked));
  });
  return el("div", {}, answers.length === 0 ? first : describeFirst(first, second), actions, items);
}
