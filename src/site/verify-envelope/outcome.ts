/** What was found, as the page shows it: the verdict in words first, then the signed values, what was changed, and every check. */

import { type RefusalReason, refusalReasons } from "../../partner/reasons.ts";
import type { Check, Verification } from "../../partner/verification.ts";
import type { Judged } from "./judge.ts";
import type { KeySource } from "./keys.ts";
import { answerFacts, differencesOf, signatureFacts, signerOf, writtenTime } from "./signed-values.ts";
import {
  answerBox,
  answerTitle,
  answerTone,
  compromiseAdvice,
  evidenceLine,
  isAboutProof,
  isBackdatable,
  isPast,
  pair,
  proofTitle,
  sinceBox,
  standingLine,
  type Tone,
  verdictBox,
} from "./verdicts.ts";
import { type EnvelopeTexts, el } from "./view.ts";

const tones = { valid: "good", refused: "bad", undecidable: "warn" } as const;

/** Text that is no envelope at all: it is no worse than one that cannot be decided, and says nothing of a teacher. */
function isNone({ verification }: Judged): boolean {
  return verification.reason === "NOT_AN_ENVELOPE";
}

/** Whether the signature is good, and only a list that counts is missing. */
function isAboutList({ reason }: Verification): boolean {
  return reason?.startsWith("STATUS_LIST_") === true;
}

/** Whether the signature is good, and something beside it is not what was signed. */
function isChanged(reason: RefusalReason | null): boolean {
  return reason === "ROWS_DIFFER" || reason?.startsWith("OUTER_") === true;
}

export function titleOf(judged: Judged, texts: EnvelopeTexts): string {
  const { verdicts } = texts;
  const { reason, verdict } = judged.verification;
  if (isAboutProof(judged.verification)) return proofTitle(judged.verification, texts);
  if (isBackdatable(judged.verification)) return verdicts.backdatable;
  if (isChanged(reason)) return verdicts.changed;
  if (reason === "AUDIENCE_MISMATCH") return verdicts.otherPartner;
  if (reason === "ISSUER_MISMATCH") return verdicts.otherIssuer;
  // Nobody knows that these are false: the key's owner may have signed the one, and a clock be wrong for the other.
  if (reason === "KEY_COMPROMISED") return verdicts.compromised;
  if (reason === "ISSUED_IN_FUTURE") return verdicts.future;
  if (reason === "WITHDRAWN_SINCE") return verdicts.withdrawn;
  if (isAboutList(judged.verification)) return verdicts.noList;
  if (judged.elsewhere !== null) return verdicts.elsewhere;
  if (isNone(judged)) return verdicts.notAnEnvelope;
  const isAboutKeys = /^KEY_(SET|HISTORY)_/.test(reason ?? "");
  return verdict === "refused" && isAboutKeys ? verdicts.badKeys : verdicts[verdict];
}

function meaningOf(judged: Judged, texts: EnvelopeTexts): string | null {
  const { meanings } = texts;
  const { reason } = judged.verification;
  if (reason === null) return meanings.valid(signerOf(judged, texts));
  if (isChanged(reason)) return meanings.changed;
  if (reason === "ISSUER_MISMATCH") return meanings.otherIssuer;
  if (reason === "WITHDRAWN_SINCE") return meanings.withdrawn;
  if (isAboutList(judged.verification)) return meanings.noList;
  return reason === "AUDIENCE_MISMATCH" ? meanings.otherPartner : null;
}

/** A genuine signature has the colour of good news only when what it signs is good news, and is as old as it says. */
export function signatureTone(verification: Verification, stated: Tone = "good"): Tone {
  const { verdict, result } = verification;
  if (isBackdatable(verification)) return "warn";
  const isQuiet = result !== null && verdict === "valid" && answerTone(verification) !== "good";
  return isQuiet || (verdict === "valid" && stated !== "good") ? "none" : tones[verdict];
}

/** Why it was not accepted. What another service signed is none of this one's keys, so no other keys are asked for. */
function reasonOf({ verification, elsewhere }: Judged, texts: EnvelopeTexts, source: KeySource) {
  const { reason, checks, claimedIssuer } = verification;
  if (elsewhere !== null) return texts.meanings.elsewhere(elsewhere);
  if (reason === "KID_UNKNOWN" && source === "fetched") return texts.meanings.unknownKey;
  const why = explanationOf(reason, checks);
  return claimedIssuer === null ? why : `${why} ${texts.meanings.claimed(claimedIssuer)}`;
}

function explanationOf(reason: RefusalReason | null, checks: readonly Check[]): string | null {
  if (reason === null) return null;
  const detail = checks.find(({ ok }) => ok === false)?.detail;
  const { explanation } = refusalReasons[reason];
  if (reason === "NOT_AN_ENVELOPE") return detail ?? explanation;
  if (detail === undefined || detail === explanation) return explanation;
  return reason.startsWith("OUTER_") ? detail : `${explanation} ${detail}`;
}

function signatureBox(judged: Judged, texts: EnvelopeTexts, source: KeySource): HTMLElement {
  const { meanings } = texts;
  const { verdict, reason, trust } = judged.verification;
  const isLoose = verdict === "valid" && trust?.basis === "key-history";
  const signedAt = writtenTime(trust?.historySignedAt ?? "", texts);
  const { statement } = judged;
  const box = verdictBox(
    signatureTone(judged.verification, statement?.draw.statementTone(statement.stated)),
    titleOf(judged, texts),
    meaningOf(judged, texts),
    isLoose ? meanings.trust(trust.historySigner ?? "", signedAt) : null,
    reasonOf(judged, texts, source),
    compromiseAdvice(judged, texts),
    isAboutProof(judged.verification) ? texts.log.aboutProof : null,
    verdict === "undecidable" && !isAboutProof(judged.verification)
      ? isNone(judged)
        ? meanings.noEnvelope
        : meanings.undecidable
      : null,
  );
  if (reason !== null) box.append(el("p", { class: "code" }, `${meanings.code} ${reason}`));
  return box;
}

/** Two verdicts where there is an answer that can be trusted: of the signature, and of what it signs. */
function verdictsOf(judged: Judged, texts: EnvelopeTexts, source: KeySource): (HTMLElement | null)[] {
  const first = signatureBox(judged, texts, source);
  const { verification } = judged;
  const { valid, result } = verification;
  if (judged.statement !== null) {
    const { stated, draw } = judged.statement;
    return [...pair(first, draw.statementBox(stated, judged, texts)), evidenceLine(judged, texts)];
  }
  if (!valid || result === null) return [first];
  const answer = answerBox(verification, result, texts);
  const others = [evidenceLine(judged, texts), standingLine(verification, texts)];
  return [...pair(first, answer, sinceBox(verification, texts)), ...others];
}

function signedPart(judged: Judged, texts: EnvelopeTexts): HTMLElement | null {
  const { signed } = texts;
  const { verification } = judged;
  const title = el("h3", {}, signed.title);
  const { result } = verification;
  if (result === null && isAboutProof(verification)) return null;
  if (result === null) return el("section", {}, title, el("p", {}, signed.none));
  const facts = [
    ...answerFacts(result, texts),
    ...signatureFacts(verification, texts, signerOf(judged, texts)),
  ];
  const { verificationId, verifiedAt, issuer, audience, kid } = verification;
  const all = JSON.stringify({ verificationId, verifiedAt, issuer, audience, kid, result }, null, 2);
  const json = el("pre", { tabindex: "0" }, el("code", {}, all));
  const details = el("details", {}, el("summary", {}, signed.all), json);
  const { meanings } = texts;
  const left = judged.notCompared.map((member) =>
    el("p", { class: "soft" }, meanings.notCompared(meanings[member])),
  );
  return el("section", {}, title, el("dl", { class: "facts" }, facts), left, details);
}

function differencesPart(judged: Judged, texts: EnvelopeTexts): HTMLElement | null {
  if (judged.envelope === null) return null;
  const rows = differencesOf(judged.envelope, judged.verification);
  if (rows.length === 0) return null;
  const words = texts.differences;
  const head = [words.member, words.signed, words.outer].map((text) => el("th", { scope: "col" }, text));
  const body = rows.map(({ member, signed, outer }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("code", {}, member), " ", el("strong", {}, words.differs)),
      el("td", { "data-label": words.signed }, el("ins", {}, signed ?? words.absent)),
      el("td", { "data-label": words.outer }, el("del", {}, outer ?? words.absent)),
    ),
  );
  const caption = el("caption", {}, words.caption);
  const table = el("table", {}, caption, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body));
  const title = el("h3", {}, words.title);
  return el("section", { class: "differences" }, title, table, el("p", { class: "soft" }, words.same));
}

/** One check; what the reader left out counts as not made. */
function checkRow({ name, ok, detail }: Check, judged: Judged, texts: EnvelopeTexts): HTMLElement {
  const { checks, meanings } = texts;
  const skipped = judged.notCompared.find((member) => member === name);
  const value = skipped === undefined ? null : (judged.verification[skipped] ?? "");
  const isPassed = skipped === undefined ? ok : null;
  const text =
    skipped === undefined || value === null ? detail : checks.notCompared(meanings[skipped], value);
  return checkLine({ name: checks.names[name], ok: isPassed, detail: text }, texts);
}

/** One line of a list of checks: its verdict in a word, its name, and what was found. */
function checkLine(
  check: { name: string; ok: boolean | null; detail: string },
  { checks }: EnvelopeTexts,
): HTMLElement {
  const { name, ok, detail } = check;
  const [word, tone] =
    ok === null
      ? ([checks.skipped, "none"] as const)
      : ok
        ? ([checks.passed, "good"] as const)
        : ([checks.failed, "bad"] as const);
  const badge = el("strong", { class: `badge ${tone}` }, word);
  return el("li", { "data-ok": String(ok) }, badge, el("span", {}, el("b", {}, `${name}.`), ` ${detail}`));
}

/** Folded up while all is well: the verdict says it in words already. */
function checksPart(judged: Judged, texts: EnvelopeTexts): HTMLElement {
  const { checks } = texts;
  const lines = judged.verification.checks.map((check) => checkRow(check, judged, texts));
  const count = (ok: string) => lines.filter((line) => line.dataset.ok === ok).length;
  const [passed, failed, skipped] = [count("true"), count("false"), count("null")] as const;
  const sum = [checks.sum(passed)];
  if (failed > 0) sum.push(checks.sumFailed(failed));
  if (skipped > 0) sum.push(checks.sumSkipped(skipped));
  return el(
    "details",
    { open: failed > 0 },
    el("summary", {}, sum.join(", ")),
    el("ol", { class: "checks" }, lines),
  );
}

/** Everything about one envelope; of what is none there is nothing to say but what it is. */
export function outcomeOf(judged: Judged, texts: EnvelopeTexts, source: KeySource): HTMLElement {
  const { statement } = judged;
  const signed =
    statement === null ? signedPart : () => statement.draw.statementPart(statement.stated, judged, texts);
  const parts = isNone(judged) ? [] : [differencesPart, signed, checksPart];
  return el(
    "div",
    {},
    verdictsOf(judged, texts, source),
    judged.name === null ? null : el("p", { class: "soft" }, texts.fromFile(judged.name)),
    parts.map((part) => part(judged, texts)),
  );
}

/** Several envelopes: a sum of both verdicts first, then each envelope behind a line that opens. */
export function listOf(all: readonly Judged[], texts: EnvelopeTexts, source: KeySource): HTMLElement {
  const answers = all.map(({ verification }) => verification).filter(({ valid }) => valid);
  const eligible = answers.filter(({ result }) => result?.eligible === true).length;
  const past = answers.filter(isPast).length;
  const hasEnded = answers.some(({ age }) => age !== null && age.licenseEndedOn !== null);
  const isGood = eligible === all.length && !hasEnded;
  const isGenuine = answers.length === all.length;
  const backdatable = all.filter(({ verification }) => isBackdatable(verification)).length;
  const first = verdictBox(
    backdatable > 0 ? "warn" : isGood ? "good" : isGenuine ? "none" : "warn",
    texts.many(all.length, answers.length),
    backdatable > 0 ? texts.log.someBackdatable(backdatable) : null,
  );
  const second = verdictBox(
    eligible === answers.length ? (hasEnded ? "none" : "good") : "bad",
    texts.manyAnswers(answers.length, eligible),
    past === 0 ? null : texts.since.some(past),
  );
  const items = all.map((judged, index) => {
    const { valid, result } = judged.verification;
    const place = judged.name ?? texts.item(index + 1);
    const answer = valid && result !== null ? `; ${answerTitle(result, judged.verification, texts)}` : "";
    const summary = el("summary", {}, `${place}: ${titleOf(judged, texts)}${answer}`);
    return el("details", { class: "envelope" }, summary, outcomeOf(judged, texts, source));
  });
  return el("div", {}, answers.length === 0 ? first : pair(first, second), items);
}
