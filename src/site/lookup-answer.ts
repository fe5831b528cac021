/** The answer of the public lookup in words. */

import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import type { Site } from "../domain/site.ts";
import type { PublicAnswer } from "../domain/teachers/public-lookup.ts";
import {
  cleanTerm,
  likelyRegNo,
  maxTermLength,
  meantTerm,
  type TermKind,
  termKind,
} from "../domain/teachers/search-term.ts";
import { canonicalRegNo } from "../domain/teachers/teachers.ts";
import { dayInWords } from "../partner/date-time.ts";
import type { Texts } from "./language.ts";
import type { Markup } from "./markup.ts";

/** An example that has the form of a registration number. */
const exampleRegNo = "TR/2019/LA/000001";

/** What somebody entered, read as far as it can be. */
export type Asked =
  | { readonly term: string; readonly kind: TermKind }
  | { readonly term: string; readonly problem: (texts: Texts["lookup"]) => string };

/**
 * Reads what people type or paste. A term that is a registration number as it stands is left so: that one is looked up
 * before the one that may be meant.
 */
export function readTerm(text: string): Asked {
  const clean = cleanTerm(text);
  const term = canonicalRegNo(clean) === null ? meantTerm(clean) : clean;
  if (term === "") return { term, problem: ({ empty }) => empty };
  if (term.length > maxTermLength) return { term: "", problem: tooLong };
  const kind = termKind(term);
  if (kind === "email" && !/^[^@\s\p{C}]+@[^@\s\p{C}]+$/u.test(term)) {
    return { term, problem: ({ emailWrong }) => emailWrong };
  }
  if (kind !== null) return { term, kind };
  const regNoWrong = (texts: Texts["lookup"]) => texts.regNoWrong(exampleRegNo);
  // A few letters, then digits: a registration number that was written with other signs than slashes, or with none.
  const isLikeRegNo = term.includes("/") || /^[a-z]{1,4}[-_\\. ]?\d/i.test(term);
  return { term, problem: isLikeRegNo ? regNoWrong : ({ unreadable }) => unreadable };
}

function tooLong(texts: Texts["lookup"]): string {
  return texts.tooLong(maxTermLength);
}

/**
 * A link can stand for these alone: it ends up in histories, logs and messages, where no personal number belongs. Nor
 * does one that lacks a digit, or its first zero, and is therefore taken for a teacher id.
 */
export function linkTo(term: string, kind: TermKind | null): string | null {
  if (kind !== "regNo" && kind !== "tId") return null;
  return mayRepeat(term) ? `?${kind}=${encodeURIComponent(term)}` : null;
}

/**
 * Whether the page may show again what was entered. It may not when it is, or may be a mistyped, personal number or
 * address, because the page may be printed, saved or seen over a shoulder.
 */
export function mayRepeat(term: string): boolean {
  if (/\d{10}|@|[^\x20-\x7e]/.test(term)) return false;
  return term.includes("/") || termKind(term) === "tId";
}

export type FormState = {
  /** Where the form is sent, relative to the page. */
  readonly action: string;
  readonly term?: string;
  readonly error?: string;
};

/**
 * The one field. It is sent by POST, because what a GET form asks ends up in the address, and with it in histories,
 * logs and shared links.
 */
export function lookupForm(texts: Texts["lookup"], { action, term = "", error }: FormState): Markup {
  const value = mayRepeat(term) ? term : "";
  const isEmptied = term !== "" && value === "";
  const described = [
    ...(error === undefined ? [] : ["term-error"]),
    "term-hint",
    ...(isEmptied ? ["term-emptied"] : []),
  ].join(" ");
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

/** The page before anything was asked, or after something that cannot be asked. */
export function lookupQuestion(texts: Texts["lookup"], state: FormState): Markup {
  // What is wrong comes before all else, with a way to the field.
  const problem = html`<div class="notice bad" role="alert" aria-labelledby="problem">
<h2 id="problem">${texts.problem}</h2>
<p><a href="#term">${state.error ?? ""}</a></p>
</div>`;
  return html`${state.error === undefined ? "" : problem}
<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
${lookupForm(texts, state)}
<p class="soft after-form">${texts.privacy}</p>`;
}

type Lookup = Texts["lookup"];
type Found = Extract<PublicAnswer, { found: true }>;
type Mood = "good" | "warn" | "bad" | "none";

/** An answer, and all that it takes to put it into words. */
type Answered = {
  readonly answer: PublicAnswer;
  readonly asked: { readonly term: string; readonly kind: TermKind };
  readonly texts: Texts;
  readonly timeZone: string;
  /** The service's public address, for paper. */
  readonly address: string;
  readonly form: FormState;
  readonly site: Site;
};

type Verdict = {
  readonly word: string;
  readonly mood: Mood;
  readonly summary: string;
  readonly means: readonly string[];
};

/** The answer in a word and a sentence. It never says of a licence more than the public lookup does. */
export function verdictOf(answer: PublicAnswer, { lookup: texts, locale }: Texts): Verdict {
  if (!answer.found) {
    return { word: texts.nobody, mood: "none", summary: texts.nobodySummary, means: texts.nobodyMeans };
  }
  const { name, license } = answer;
  const words = (date: string | null) => (date === null ? texts.unknown : dayInWords(date, locale));
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

/** Colour alone would not reach everybody: there is the word, and a sign. */
function sign(mood: Mood): Markup {
  const strokes = 'fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"';
  return raw(
    `<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" ${strokes}><circle cx="12" cy="12" r="10.7" stroke-width="1.8"/>${signs[mood]}</svg>`,
  );
}

/** The button is there only where it does something: without a script the page prints by the browser's own. */
const printScript =
  'const button = document.getElementById("print"); button.hidden = false; button.addEventListener("click", () => print());';

/** It stands in the page, which saves a slow phone a round trip; its hash lets it. */
export const printScriptHash = `'sha256-${createHash("sha256").update(printScript).digest("base64")}'`;

export function lookupAnswer(answered: Answered): Markup {
  const { answer, texts, form } = answered;
  const { lookup } = texts;
  const { word, mood, summary, means } = verdictOf(answer, texts);
  return html`<section class="verdict ${mood}" aria-labelledby="verdict">
<h1 id="verdict">${sign(mood)}${word}</h1>
<p class="lead">${summary}</p>
${answer.found ? "" : likelyNumber(answered)}
</section>
<h2>${answer.found ? lookup.facts : lookup.thisLookup}</h2>
<dl class="facts">
${answer.found ? factsOf(answer, texts) : ""}
${given(answered)}
</dl>
<h2>${lookup.means}</h2>
${list(means)}
<h2>${lookup.meansNot}</h2>
${list(answer.found ? lookup.foundMeansNot : lookup.nobodyMeansNot)}
<p class="paper">${lookup.onPaper(answered.address)}</p>
<div class="screen">
${answer.found ? wrongRecord(answered) : ""}
<h2>${lookup.keep}</h2>
<p>${lookup.keepHow}</p>
<p><button type="button" id="print" hidden>${lookup.print}</button></p>
${sharing(answered)}
<h2>${lookup.again}</h2>
${lookupForm(lookup, answer.found ? { action: form.action } : form)}
</div>
<script type="module">${raw(printScript)}</script>`;
}

/** The number that may have been meant, where the one that was entered looks mistyped. */
function likelyNumber({ asked, texts: { lookup } }: Answered): Markup | string {
  const likely = asked.kind === "regNo" ? likelyRegNo(asked.term) : null;
  const href = likely === null ? null : linkTo(likely, "regNo");
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

/** A value, and what the register's term means. */
function explained(value: string, meaning: string | undefined): Markup | string {
  return meaning === undefined ? value : html`${value}<small>${meaning}</small>`;
}

/** The way to whoever can put a record right, where the site names one. */
function wrongRecord({ site, texts: { lookup } }: Answered): Markup | string {
  const { reportUrl, contact } = site;
  if (reportUrl === null && contact.email === undefined) return "";
  const how =
    reportUrl === null
      ? html`<p>${lookup.wrongEmail(contact.email ?? "")}</p>`
      : html`<p><a href="${reportUrl}">${lookup.wrongReport}</a></p>`;
  return html`<h2>${lookup.wrong}</h2>
${how}`;
}

function factsOf(answer: Found, { lookup, locale }: Texts): Markup[] {
  const { name, tId, state, teacher, certificate, license } = answer;
  const date = (iso: string | null) => (iso === null ? lookup.unknown : dayInWords(iso, locale));
  return [
    fact(lookup.name, name),
    fact(lookup.regNo, certificate.regNo ?? lookup.unknown),
    ...(tId === null ? [] : [fact(lookup.tId, tId)]),
    fact(lookup.state, state ?? lookup.unknown),
    fact(
      lookup.category,
      teacher.category === null ? lookup.unknown : explained(teacher.category, lookup.terms.category),
    ),
    ...licenseFacts(license, lookup, date),
    fact(
      lookup.certificate,
      explained(
        wordOf(certificate.status, lookup.certificates) ?? lookup.unknown,
        wordOf(certificate.status, lookup.terms.certificates),
      ),
    ),
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
  const left = status === "VALID" && daysRemaining !== null ? ` (${timeLeft(daysRemaining, lookup)})` : "";
  return [
    fact(lookup.licenseIssued, date(issueDate)),
    fact(lookup.licenseExpires, `${date(expiryDate)}${left}`),
  ];
}

/** Nobody can picture thousands of days. */
function timeLeft(days: number, { daysLeft, yearsLeft }: Lookup): string {
  const years = Math.floor(days / 366);
  return years < 2 ? daysLeft(days) : yearsLeft(years);
}

function wordOf(status: string, words: Lookup["certificates"]): string | undefined {
  return (words as Readonly<Record<string, string>>)[status];
}

/** A link and no picture: a picture would tell another website who is being looked up, before anybody chose to. */
function photoFact(photoUrl: string, lookup: Lookup): Markup[] {
  const url = URL.parse(photoUrl);
  if (url?.protocol !== "https:") return [];
  const link = html`<a href="${url.href}" rel="external noreferrer noopener">${lookup.photoLink(url.host)}</a>`;
  return [fact(lookup.photo, html`${link}<small>${lookup.photoHint}</small>`)];
}

/** When the answer was given, and to what; it belongs to every answer, on paper too. */
function given({ answer, asked, texts, timeZone }: Answered): Markup[] {
  const { lookup, locale } = texts;
  const { verifiedAt } = answer;
  const time = html`<time datetime="${verifiedAt}">${timeInWords(verifiedAt, locale, timeZone)}</time>`;
  const isPublic = asked.kind === "regNo" || asked.kind === "tId";
  const mayLink = linkTo(asked.term, asked.kind) !== null;
  const isLong = isPublic && !mayLink && /\d{10}/.test(asked.term);
  const by = lookup.kinds[isLong ? "longNumber" : asked.kind];
  const shown = mayLink ? `${by} ${asked.term}` : by;
  return [fact(lookup.asked, shown), fact(lookup.answered, time)];
}

/**
 * The link that asks the same again. Who was found by something personal has one only by the teacher id, which the
 * answer shows anyway.
 */
function sharing({ answer, asked, texts }: Answered): Markup {
  const { lookup } = texts;
  const tId = answer.found ? answer.tId : null;
  const byId = tId === null ? null : linkTo(tId, termKind(tId));
  const href = linkTo(asked.term, asked.kind) ?? byId;
  if (href === null) return html`<p>${lookup.noLink}</p>`;
  return html`<p><a href="./${href}">${lookup.linkBefore}</a> ${lookup.linkAfter}</p>`;
}

/** Formatters, one for each language, zone and form: they are few, and dear to make. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, options]);
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(locale, options);
    formats.set(key, format);
  }
  return format;
}

/** A moment in words, to the second, in the operator's time zone, which is named. @param time ISO 8601 */
function timeInWords(time: string, locale: string, timeZone: string): string {
  const options = {
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone,
    timeZoneName: "long",
  } as const;
  return `${formatOf(locale, options).format(Date.parse(time))} (${timeZone})`;
}
