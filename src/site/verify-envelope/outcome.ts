/** An outcome on the page: the verdicts in words, then the signed values, what was changed, and every check. */

import { lookupAddress } from "../../partner/answer-age.ts";
import type { EligibilityResult } from "../../partner/contract.ts";
import { type RefusalReason, refusalReasons } from "../../partner/reasons.ts";
import type { Check, LogEvidence, Verification } from "../../partner/verification.ts";
import type { Checked } from "./check.ts";
import {
  answerFacts,
  differencesOf,
  reasonTexts,
  signatureFacts,
  signerOf,
  writtenDay,
  writtenTime,
} from "./values.ts";
import { el, keySource, texts } from "./view.ts";

const { verdicts, meanings, log } = texts;

export type Tone = "good" | "bad" | "warn" | "none" | "nobody";

/** The mark says in a shape what the colour says; the word beside it says it to everybody. */
const marks: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", warn: "?", none: "✓", nobody: "?" };
const tones = { valid: "good", refused: "bad", undecidable: "warn" } as const;

/** A box whose heading takes the focus, so that a screen reader reads the answer next. */
export function verdictBox(
  tone: Tone,
  title: string,
  ...sentences: (string | HTMLElement | null)[]
): HTMLElement {
  const mark = el("span", { "aria-hidden": "true", class: "mark" }, marks[tone]);
  const paragraphs = sentences.map((one) => (typeof one === "string" ? el("p", {}, one) : one));
  return el("div", { class: `verdict ${tone}` }, el("h2", { tabindex: "-1" }, mark, title), paragraphs);
}

let pairs = 0;

/** Describes the first heading, which takes the focus, by the other boxes: a screen reader reads all of them. */
function pair(first: HTMLElement, ...others: (HTMLElement | null)[]): HTMLElement[] {
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

/** Only a yes is good, and only while its licence lasts. "Nobody found" is bad news about nobody. */
function answerTone({ result, age }: Verification): Tone {
  if (result?.found === false) return "nobody";
  if (result?.eligible !== true) return "bad";
  return (age?.licenseEndedOn ?? null) === null ? "good" : "none";
}

/** The answer in the look-up page's words, with its day. */
function answerTitle({ found, status, eligible }: EligibilityResult, { verifiedAt }: Verification): string {
  const day = writtenDay(verifiedAt ?? "");
  if (!found) return verdicts.nobody(day);
  const answer = verdicts.answer(status, day);
  if (eligible === (status === "VALID")) return answer;
  return eligible ? verdicts.butEligible(answer) : verdicts.butNotEligible(answer);
}

function summaryOf({ status, teacher, license }: EligibilityResult): string {
  const { answer } = meanings;
  const name = teacher?.name ?? "";
  const expiry = license?.expiryDate ?? null;
  const end = expiry === null ? texts.signed.noDay : writtenDay(expiry);
  const sentences = {
    VALID: answer.licensed(name, end),
    EXPIRED: answer.expired(name, end),
    REVOKED: answer.revoked(name),
    NOT_FOUND: answer.notLicensed(name),
  };
  return sentences[status];
}

/** The second verdict, as large as the first. */
export function answerBox(verification: Verification, result: EligibilityResult): HTMLElement {
  const { found, teacher, reasons } = result;
  return verdictBox(
    answerTone(verification),
    answerTitle(result, verification),
    found && teacher !== null ? summaryOf(result) : meanings.answer.nobody,
    !found || reasons.length === 0 ? null : meanings.answer.because(reasonTexts(result)),
  );
}

function isPast({ age }: Verification): boolean {
  return age !== null && (age.isOld || age.licenseEndedOn !== null);
}

/** The line below an old answer, with the way to today's. */
export function sinceBox(verification: Verification): HTMLElement | null {
  const { age } = verification;
  if (age === null || !isPast(verification)) return null;
  const { since } = texts;
  const ended = age.licenseEndedOn;
  const words = ended === null ? since.old(age.days) : since.ended(writtenDay(ended));
  const href = lookupAddress(verification, window.location.origin);
  // A new page, because the result is kept nowhere and would be lost.
  const link =
    href === null
      ? since.askAgain
      : el("a", { href, target: "_blank", rel: "noreferrer noopener" }, since.today(new URL(href).host));
  return el("div", { class: "since warn" }, el("p", {}, el("strong", {}, words), " ", link));
}

/** Whether the proof was refused, and not the envelope. */
export function isAboutProof({ checks }: Verification): boolean {
  return checks.some(({ name, ok }) => name === "log" && ok === false);
}

/** Whether the key's thief could have written an earlier time of signing. */
function isBackdatable({ warnings }: Verification): boolean {
  return warnings.includes("COULD_BE_BACKDATED");
}

/** Where and when the log had it, in sentences. */
function logged({ index, size, checkpointAt }: LogEvidence): string[] {
  const counted = (number: number) => number.toLocaleString(document.documentElement.lang);
  return [log.byMeaning(writtenTime(checkpointAt)), log.entry(counted(index), counted(size))];
}

/** The meaning of the log's proof, or of its lack, for a valid answer; null for most answers, which need no proof. */
export function evidenceLine({ verification, compromisedSince }: Checked): HTMLElement | null {
  const since = writtenTime(compromisedSince);
  const evidence = verification.log;
  const line = (tone: string, title: string, ...sentences: string[]) =>
    el(
      "div",
      { class: `evidence ${tone}` },
      el("h3", {}, `${log.title}: ${title}`),
      sentences.map((sentence) => el("p", {}, sentence)),
    );
  if (isBackdatable(verification)) {
    const words = evidence === null ? [] : [...logged(evidence), log.tooLate];
    return line("warn", log.backdated, log.backdatedMeaning(since), ...words);
  }
  if (evidence === null) return null;
  const words = evidence.precedesCompromise ? [log.despite(since)] : [];
  return line("none", log.by(writtenTime(evidence.checkpointAt)), ...logged(evidence), ...words);
}

/** Whether a status list confirms a valid answer, and of which day. No list has a place for nobody. */
function standingLine({ statusList, result }: Verification): HTMLElement | null {
  const { standing } = texts;
  if (statusList === null && result?.found === false) return null;
  const time = writtenTime(statusList?.signedAt);
  const words =
    statusList === null ? standing.notAsked : statusList.withdrawn ? standing.no(time) : standing.by(time);
  return el("div", { class: "standing" }, el("p", {}, words));
}

/** Text that is not an envelope at all is as harmless as one that cannot be decided, and says nothing of a teacher. */
function isNone({ verification }: Checked): boolean {
  return verification.reason === "NOT_AN_ENVELOPE";
}

type OwnWord = "changed" | "otherPartner" | "otherIssuer" | "withdrawn" | "noList";
const ownWords: Readonly<Partial<Record<RefusalReason, OwnWord>>> = {
  ROWS_DIFFER: "changed",
  AUDIENCE_MISMATCH: "otherPartner",
  ISSUER_MISMATCH: "otherIssuer",
  WITHDRAWN_SINCE: "withdrawn",
  STATUS_LIST_STALE: "noList",
  STATUS_LIST_UNUSABLE: "noList",
};

/** The title and the meaning of a refusal although the signature is good. */
function ownWord(reason: RefusalReason | null): OwnWord | undefined {
  if (reason === null) return undefined;
  return reason.startsWith("OUTER_") ? "changed" : ownWords[reason];
}

export function titleOf(checked: Checked): string {
  const { verification, elsewhere } = checked;
  const { reason, verdict } = verification;
  const proofVerdicts: Readonly<Record<string, string>> = log.verdicts;
  if (isAboutProof(verification)) return proofVerdicts[reason ?? ""] ?? log.notChecked;
  if (isBackdatable(verification)) return verdicts.backdatable;
  const own = ownWord(reason);
  if (own !== undefined) return verdicts[own];
  // Neither is known to be false: the key's owner may have signed the one, and a clock be wrong for the other.
  if (reason === "KEY_COMPROMISED") return verdicts.compromised;
  if (reason === "ISSUED_IN_FUTURE") return verdicts.future;
  if (elsewhere !== null) return verdicts.elsewhere;
  if (isNone(checked)) return verdicts.notAnEnvelope;
  const isAboutKeys = /^KEY_(SET|HISTORY)_/.test(reason ?? "");
  return verdict === "refused" && isAboutKeys ? verdicts.badKeys : verdicts[verdict];
}

/** A genuine signature has the colour of good news only if its answer is good news, and has not ended. */
export function signatureTone(verification: Verification, stated: Tone = "good"): Tone {
  const { verdict, result } = verification;
  if (isBackdatable(verification)) return "warn";
  const isQuiet = result !== null && verdict === "valid" && answerTone(verification) !== "good";
  return isQuiet || (verdict === "valid" && stated !== "good") ? "none" : tones[verdict];
}

/** Why it was not accepted. An envelope of another service has none of this one's keys, so no other keys are asked for. */
function reasonOf({ verification, elsewhere }: Checked): string | null {
  const { reason, checks, claimedIssuer } = verification;
  if (elsewhere !== null) return meanings.elsewhere(elsewhere);
  if (reason === null) return null;
  if (reason === "KID_UNKNOWN" && keySource === "fetched") return meanings.unknownKey;
  const { explanation } = refusalReasons[reason];
  const detail = checks.find(({ ok }) => ok === false)?.detail ?? explanation;
  const isEnough = reason === "NOT_AN_ENVELOPE" || detail === explanation || reason.startsWith("OUTER_");
  const why = isEnough ? detail : `${explanation} ${detail}`;
  return claimedIssuer === null ? why : `${why} ${meanings.claimed(claimedIssuer)}`;
}

function signatureBox(checked: Checked): HTMLElement {
  const { verification, statement, hasProof } = checked;
  const { verdict, reason, trust } = verification;
  const isLoose = verdict === "valid" && trust?.basis === "key-history";
  const own = ownWord(reason);
  const aboutProof = isAboutProof(verification);
  const box = verdictBox(
    signatureTone(verification, statement?.draw.statementTone(statement.stated)),
    titleOf(checked),
    reason === null ? meanings.valid(signerOf(checked)) : own === undefined ? null : meanings[own],
    isLoose ? meanings.trust(trust.historySigner ?? "", writtenTime(trust.historySignedAt)) : null,
    reasonOf(checked),
    reason === "KEY_COMPROMISED" ? (hasProof ? log.tooLate : log.askForProof) : null,
    aboutProof ? log.aboutProof : null,
    verdict === "undecidable" && !aboutProof
      ? meanings[isNone(checked) ? "noEnvelope" : "undecidable"]
      : null,
  );
  if (reason !== null) box.append(el("p", { class: "code" }, `${meanings.code} ${reason}`));
  return box;
}

/** Two verdicts if there is an answer to trust: of the signature, and of the answer. */
function verdictsOf(checked: Checked): (HTMLElement | null)[] {
  const first = signatureBox(checked);
  const { verification, statement } = checked;
  const { valid, result } = verification;
  if (statement !== null)
    return [...pair(first, statement.draw.statementBox(statement.stated, checked)), evidenceLine(checked)];
  if (!valid || result === null) return [first];
  const boxes = pair(first, answerBox(verification, result), sinceBox(verification));
  return [...boxes, evidenceLine(checked), standingLine(verification)];
}

function signedPart(checked: Checked): HTMLElement | null {
  const { signed } = texts;
  const { verification } = checked;
  const title = el("h3", {}, signed.title);
  const { result, verificationId, verifiedAt, issuer, audience, kid } = verification;
  if (result === null && isAboutProof(verification)) return null;
  if (result === null) return el("section", {}, title, el("p", {}, signed.none));
  const facts = [...answerFacts(result), ...signatureFacts(verification, signerOf(checked))];
  const all = JSON.stringify({ verificationId, verifiedAt, issuer, audience, kid, result }, null, 2);
  const json = el("pre", { tabindex: "0" }, el("code", {}, all));
  const left = checked.notCompared.map((member) =>
    el("p", { class: "soft" }, meanings.notCompared(meanings[member])),
  );
  const details = el("details", {}, el("summary", {}, signed.all), json);
  return el("section", {}, title, el("dl", { class: "facts" }, facts), left, details);
}

function differencesPart(checked: Checked): HTMLElement | null {
  const rows = checked.envelope === null ? [] : differencesOf(checked.envelope, checked.verification);
  if (rows.length === 0) return null;
  const words = texts.differences;
  const body = rows.map(({ member, signed, outer }) => [
    el("th", { scope: "row" }, el("code", {}, member), " ", el("strong", {}, words.differs)),
    el("td", { "data-label": words.signed }, el("ins", {}, signed ?? words.absent)),
    el("td", { "data-label": words.outer }, el("del", {}, outer ?? words.absent)),
  ]);
  return el(
    "section",
    { class: "differences" },
    el("h3", {}, words.title),
    table(
      words.caption,
      [words.member, words.signed, words.outer],
      body.map((row) => el("tr", {}, row)),
    ),
    el("p", { class: "soft" }, words.same),
  );
}

export function table(caption: string, heads: readonly string[], rows: readonly HTMLElement[]): HTMLElement {
  const head = heads.map((text) => el("th", { scope: "col" }, text));
  return el(
    "table",
    {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, rows),
  );
}

/** A check's verdict in a word, its name, and its detail; a comparison that the reader left out was not made. */
function checkRow({ name, ok, detail }: Check, { notCompared, verification }: Checked): HTMLElement {
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

/** Folded up unless one failed. */
function checksPart(checked: Checked): HTMLElement {
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

/** Everything about one envelope; any other text has only its verdict. */
export function outcomeOf(checked: Checked): HTMLElement {
  const { statement, name } = checked;
  const signed = () =>
    statement === null ? signedPart(checked) : statement.draw.statementPart(statement.stated, checked);
  return el(
    "div",
    {},
    verdictsOf(checked),
    name === null ? null : el("p", { class: "soft" }, texts.fromFile(name)),
    isNone(checked) ? [] : [differencesPart(checked), signed(), checksPart(checked)],
  );
}

/** Several envelopes: a sum of both verdicts first, then each envelope folded up. */
export function listOf(all: readonly Checked[]): HTMLElement {
  const answers = all.map(({ verification }) => verification).filter(({ valid }) => valid);
  const eligible = answers.filter(({ result }) => result?.eligible === true).length;
  const past = answers.filter(isPast).length;
  const hasEnded = answers.some(({ age }) => age !== null && age.licenseEndedOn !== null);
  const isGood = eligible === all.length && !hasEnded;
  const backdatable = all.filter(({ verification }) => isBackdatable(verification)).length;
  const quietTone = answers.length === all.length ? "none" : "warn";
  const first = verdictBox(
    backdatable > 0 ? "warn" : isGood ? "good" : quietTone,
    texts.many(all.length, answers.length),
    backdatable > 0 ? log.someBackdatable(backdatable) : null,
  );
  const second = verdictBox(
    eligible === answers.length ? (hasEnded ? "none" : "good") : "bad",
    texts.manyAnswers(answers.length, eligible),
    past === 0 ? null : texts.since.some(past),
  );
  const items = all.map((checked, index) => {
    const { valid, result } = checked.verification;
    const answer = valid && result !== null ? `; ${answerTitle(result, checked.verification)}` : "";
    const words = `${checked.name ?? texts.item(index + 1)}: ${titleOf(checked)}${answer}`;
    return el("details", { class: "envelope" }, el("summary", {}, words), outcomeOf(checked));
  });
  return el("div", {}, answers.length === 0 ? first : pair(first, second), items);
}
