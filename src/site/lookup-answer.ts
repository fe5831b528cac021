/** The HTML of the public lookup: the form and the answer page. */

import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import type { Settings } from "../domain/settings.ts";
import type { PublicAnswer } from "../domain/teachers/public-lookup.ts";
import {
  cleanTerm,
  correctTypingErrors,
  guessRegNo,
  maxTermLength,
  type SearchTermKind,
  searchTermKindOf,
} from "../domain/teachers/search-term.ts";
import { canonicalizeRegNo } from "../domain/teachers/teachers.ts";
import { formatDayInWords } from "../partner/date-time.ts";
import type { SiteTexts } from "./language.ts";
import type { Markup } from "./shell.ts";

const exampleRegNo = "TR/2019/LA/000001";

export type ParsedSearchTerm =
  | { readonly term: string; readonly kind: SearchTermKind }
  | { readonly term: string; readonly problem: (texts: SiteTexts["lookup"]) => string };

/** Corrects and classifies a typed search term. A well-formed registration number is not corrected, because it may exist. */
export function parseSearchTerm(text: string): ParsedSearchTerm {
  const clean = cleanTerm(text);
  const term = canonicalizeRegNo(clean) === null ? correctTypingErrors(clean) : clean;
  if (term === "") return { term, problem: ({ empty }) => empty };
  if (term.length > maxTermLength) return { term: "", problem: ({ tooLong }) => tooLong(maxTermLength) };
  const kind = searchTermKindOf(term);
  if (kind === "email" && !/^[^@\s\p{C}]+@[^@\s\p{C}]+$/u.test(term)) {
    return { term, problem: ({ emailWrong }) => emailWrong };
  }
  if (kind !== null) return { term, kind };
  // A few letters, then digits: probably a registration number without its slashes.
  const isLikeRegNo = term.includes("/") || /^[a-z]{1,4}[-_\\. ]?\d/i.test(term);
  return {
    term,
    problem: ({ regNoWrong, unreadable }) => (isLikeRegNo ? regNoWrong(exampleRegNo) : unreadable),
  };
}

/**
 * Makes the link that looks a term up. Links end up in histories, logs and messages, so they contain no personal data.
 * @returns null if the term is or may be personal: ten digits can be a phone number without its first zero
 */
export function formatLookupLink(term: string, kind: SearchTermKind | null): string | null {
  if (kind !== "regNo" && kind !== "tId") return null;
  return canShowTerm(term) ? `?${kind}=${encodeURIComponent(term)}` : null;
}

/** Decides whether the page may repeat a term. A mistyped term can be a personal number, an e-mail address or a name. */
export function canShowTerm(term: string): boolean {
  if (/\d{10}|@|[^\x20-\x7e]/.test(term)) return false;
  return term.includes("/") || searchTermKindOf(term) === "tId";
}

export type LookupFormState = {
  /** The relative URL that the form is sent to. */
  readonly action: string;
  readonly term?: string;
  readonly error?: string;
};

/** Makes the search form, which is sent by POST, so that no URL, history or log contains the term. */
export function renderLookupForm(
  texts: SiteTexts["lookup"],
  { action, term = "", error }: LookupFormState,
): Markup {
  const value = canShowTerm(term) ? term : "";
  const isEmptied = term !== "" && value === "";
  const described = `${error === undefined ? "" : "term-error "}term-hint${isEmptied ? " term-emptied" : ""}`;
  return html`<form method="post" action="${action}" novalidate>
<label for="term">${texts.field}</label>
<p class="hint" id="term-hint">${texts.hint(exampleRegNo)}</p>
${error === undefined ? "" : html`<p class="field-error" id="term-error">${error}</p>`}
${isEmptied ? html`<p class="hint" id="term-emptied">${texts.emptied}</p>` : ""}
<input type="text" id="term" name="searchTerm" value="${value}" aria-describedby="${described}"
${error === undefined ? "" : html`aria-invalid="true"`} autocomplete="off" autocapitalize="none" spellcheck="false">
<button type="submit">${texts.button}</button>
</form>`;
}

/** Makes the page with the form, and with `state.error` above the form if the term was malformed. */
export function renderLookupFormPage(texts: SiteTexts["lookup"], state: LookupFormState): Markup {
  const problem = html`<div class="notice bad" role="alert" aria-labelledby="problem">
<h2 id="problem">${texts.problem}</h2>
<p><a href="#term">${state.error ?? ""}</a></p>
</div>`;
  return html`${state.error === undefined ? "" : problem}
<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
${renderLookupForm(texts, state)}
<p class="soft after-form">${texts.privacy}</p>`;
}

type Lookup = SiteTexts["lookup"];
type Found = Extract<PublicAnswer, { found: true }>;
type Mood = "good" | "warn" | "bad" | "none";

type Answered = {
  readonly answer: PublicAnswer;
  readonly asked: { readonly term: string; readonly kind: SearchTermKind };
  readonly texts: SiteTexts;
  readonly settings: Pick<Settings, "issuer" | "timeZone" | "site">;
  readonly form: LookupFormState;
};

type Verdict = {
  readonly word: string;
  readonly mood: Mood;
  readonly summary: string;
  readonly means: readonly string[];
};

/** Makes the headline and sentences of an answer, which reveal no more about a licence than the public lookup's JSON. */
export function describeLookupVerdict(answer: PublicAnswer, { lookup: texts, locale }: SiteTexts): Verdict {
  if (!answer.found) {
    return { word: texts.nobody, mood: "none", summary: texts.nobodySummary, means: texts.nobodyMeans };
  }
  const { name, license } = answer;
  const words = (date: string | null) => (date === null ? texts.unknown : formatDayInWords(date, locale));
  if (license.status === "VALID") {
    const summary = texts.licensedSummary(name, words(license.expiryDate));
    return { word: texts.licensed, mood: "good", summary, means: texts.licensedMeans };
  }
  if (license.status === "EXPIRED") {
    const summary = texts.expiredSummary(name, words(license.expiryDate));
    return { word: texts.expired, mood: "warn", summary, means: texts.expiredMeans };
  }
  const summary =
    license.issueDate === null
      ? texts.notLicensedSummary(name)
      : texts.notYetSummary(name, words(license.issueDate));
  return { word: texts.notLicensed, mood: "bad", summary, means: texts.notLicensedMeans };
}

const signs: Readonly<Record<Mood, string>> = {
  good: '<path d="m5 12.5 4.5 4.5L19 7"/>',
  warn: '<path d="M12 6v7m0 4.2v.1"/>',
  bad: '<path d="m7 7 10 10M17 7 7 17"/>',
  none: '<path d="M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .5-1.5 1-1.5 2.3m0 3v.1"/>',
};

/** Makes the symbol beside the headline, for readers who cannot distinguish its colours. */
function sign(mood: Mood): Markup {
  const strokes = 'fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"';
  return raw(
    `<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" ${strokes}><circle cx="12" cy="12" r="10.7" stroke-width="1.8"/>${signs[mood]}</svg>`,
  );
}

/** The script of the print button, which stays hidden in browsers without scripts. */
const printScript =
  'const button = document.getElementById("print"); button.hidden = false; button.addEventListener("click", () => print());';

/** CSP source that allows the print button's script. The script is inline, which saves a slow phone a round trip. */
export const printScriptCspSource = `'sha256-${createHash("sha256").update(printScript).digest("base64")}'`;

export function renderLookupAnswer(answered: Answered): Markup {
  const { answer, texts, form, settings } = answered;
  const { lookup } = texts;
  const { word, mood, summary, means } = describeLookupVerdict(answer, texts);
  return html`<section class="verdict ${mood}" aria-labelledby="verdict">
<h1 id="verdict">${sign(mood)}${word}</h1>
<p class="lead">${summary}</p>
${answer.found ? "" : likelyNumber(answered)}
</section>
<h2>${answer.found ? lookup.facts : lookup.thisLookup}</h2>
<dl class="facts">
${answer.found ? factsOf(answer, texts) : ""}
${lookupFacts(answered)}
</dl>
<h2>${lookup.means}</h2>
${list(means)}
<h2>${lookup.meansNot}</h2>
${list(answer.found ? lookup.foundMeansNot : lookup.nobodyMeansNot)}
<p class="paper">${lookup.onPaper(settings.issuer)}</p>
<div class="screen">
${answer.found ? wrongRecord(answered) : ""}
<h2>${lookup.keep}</h2>
<p>${lookup.keepHow}</p>
<p><button type="button" id="print" hidden>${lookup.print}</button></p>
${shareLink(answered)}
<h2>${lookup.again}</h2>
${renderLookupForm(lookup, answer.found ? { action: form.action } : form)}
</div>
<script type="module">${raw(printScript)}</script>`;
}

function likelyNumber({ asked, texts: { lookup } }: Answered): Markup | string {
  const likely = asked.kind === "regNo" ? guessRegNo(asked.term) : null;
  const href = likely === null ? null : formatLookupLink(likely, "regNo");
  if (href === null) return "";
  return html`<p>${lookup.didYouMean} <a href="./${href}">${likely}</a>?</p>
<p>${lookup.didYouMeanWhy}</p>`;
}

function list(sentences: readonly string[]): Markup {
  return html`<ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>`;
}

function fact(term: string, value: Markup | string): Markup {
  return html`<div><dt>${term}</dt><dd>${value}</dd></div>
`;
}

function explained(value: string, meaning: string | undefined): Markup | string {
  return meaning === undefined ? value : html`${value}<small>${meaning}</small>`;
}

/** Explains how to have a record corrected, if the operator's settings have a URL or an e-mail address for reports. */
function wrongRecord({ settings: { site }, texts: { lookup } }: Answered): Markup | string {
  const { reportUrl, contact } = site;
  if (reportUrl === null && contact.email === undefined) return "";
  const how =
    reportUrl === null
      ? html`<p>${lookup.wrongEmail(contact.email ?? "")}</p>`
      : html`<p><a href="${reportUrl}">${lookup.wrongReport}</a></p>`;
  return html`<h2>${lookup.wrong}</h2>
${how}`;
}

function factsOf(answer: Found, { lookup, locale }: SiteTexts): Markup[] {
  const { name, tId, state, teacher, certificate, license } = answer;
  const { category } = teacher;
  const date = (iso: string | null) => (iso === null ? lookup.unknown : formatDayInWords(iso, locale));
  const wordOf = (words: Readonly<Record<string, string>>) => words[certificate.status];
  const word = wordOf(lookup.certificates);
  return [
    fact(lookup.name, name),
    fact(lookup.regNo, certificate.regNo ?? lookup.unknown),
    ...(tId === null ? [] : [fact(lookup.tId, tId)]),
    fact(lookup.state, state ?? lookup.unknown),
    fact(lookup.category, category === null ? lookup.unknown : explained(category, lookup.terms.category)),
    ...licenseFacts(license, lookup, date),
    fact(lookup.certificate, explained(word ?? lookup.unknown, wordOf(lookup.terms.certificates))),
    ...(certificate.issueDate === null ? [] : [fact(lookup.certificateIssued, date(certificate.issueDate))]),
    ...(teacher.photoUrl === undefined ? [] : photoFact(teacher.photoUrl, lookup)),
  ];
}

function licenseFacts(
  { status, issueDate, expiryDate, daysRemaining }: Found["license"],
  lookup: Lookup,
  date: (iso: string | null) => string,
): Markup[] {
  if (issueDate === null && expiryDate === null) return [fact(lookup.license, lookup.noLicense)];
  // Above two years, the time is in years, because nobody can picture thousands of days.
  const timeLeft = (days: number) =>
    days < 2 * 366 ? lookup.daysLeft(days) : lookup.yearsLeft(Math.floor(days / 366));
  const left = status === "VALID" && daysRemaining !== null ? ` (${timeLeft(daysRemaining)})` : "";
  return [
    fact(lookup.licenseIssued, date(issueDate)),
    fact(lookup.licenseExpires, `${date(expiryDate)}${left}`),
  ];
}

/** Links to the photo and does not show it: loading it would reveal to the photo's host which teacher is looked up. */
function photoFact(photoUrl: string, lookup: Lookup): Markup[] {
  const url = URL.parse(photoUrl);
  if (url?.protocol !== "https:") return [];
  const link = html`<a href="${url.href}" rel="external noreferrer noopener">${lookup.photoLink(url.host)}</a>`;
  return [fact(lookup.photo, html`${link}<small>${lookup.photoHint}</small>`)];
}

/** Shows the search term and the time of the lookup, so that a printed answer has both. */
function lookupFacts({ answer, asked, texts, settings: { timeZone } }: Answered): Markup[] {
  const { lookup, locale } = texts;
  const { verifiedAt } = answer;
  const time = html`<time datetime="${verifiedAt}">${timeInWords(verifiedAt, locale, timeZone)}</time>`;
  const isPublic = asked.kind === "regNo" || asked.kind === "tId";
  const mayLink = formatLookupLink(asked.term, asked.kind) !== null;
  const isLong = isPublic && !mayLink && /\d{10}/.test(asked.term);
  const by = lookup.kinds[isLong ? "longNumber" : asked.kind];
  const shown = mayLink ? `${by} ${asked.term}` : by;
  return [fact(lookup.asked, shown), fact(lookup.answered, time)];
}

/** Makes the link to this answer. If the term is personal, the link has the teacher id, which the answer shows anyway. */
function shareLink({ answer, asked, texts }: Answered): Markup {
  const { lookup } = texts;
  const tId = answer.found ? answer.tId : null;
  const byId = tId === null ? null : formatLookupLink(tId, searchTermKindOf(tId));
  const href = formatLookupLink(asked.term, asked.kind) ?? byId;
  if (href === null) return html`<p>${lookup.noLink}</p>`;
  return html`<p><a href="./${href}">${lookup.linkBefore}</a> ${lookup.linkAfter}</p>`;
}

/** A cache of time formats by locale and time zone, because making an `Intl.DateTimeFormat` is slow. */
const formats = new Map<string, Intl.DateTimeFormat>();

const toSecond = {
  day: "numeric",
  month: "long",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
  timeZoneName: "long",
} as const;

/** Formats an ISO 8601 time to the second, in the operator's time zone and with the zone's name. */
function timeInWords(time: string, locale: string, timeZone: string): string {
  const key = `${locale} ${timeZone}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat(locale, { ...toSecond, timeZone });
  formats.set(key, format);
  return `${format.format(Date.parse(time))} (${timeZone})`;
}
