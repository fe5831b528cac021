/** The form of the public lookup, and what is entered into it. */

import { html } from "hono/html";
import { maxTermLength, meantTerm } from "../domain/teachers/mistyped-term.ts";
import { cleanTerm, type TermKind, termKind } from "../domain/teachers/search-term.ts";
import { canonicalRegNo } from "../domain/teachers/teachers.ts";
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

/** What is wrong, before all else, with a way to the field. */
function problemNotice(title: string, error: string): Markup {
  return html`<div class="notice bad" role="alert" aria-labelledby="problem">
<h2 id="problem">${title}</h2>
<p><a href="#term">${error}</a></p>
</div>`;
}

/** The page before anything was asked, or after something that cannot be asked. */
export function lookupQuestion(texts: Texts["lookup"], state: FormState): Markup {
  return html`${state.error === undefined ? "" : problemNotice(texts.problem, state.error)}
<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
${lookupForm(texts, state)}
<p class="soft after-form">${texts.privacy}</p>`;
}
