import { html } from "hono/html";
import { exampleRegNo, mayRepeat } from "./lookup-term.ts";
import type { Markup } from "./shell.ts";
import type { Texts } from "./texts-en.ts";

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
  const described = error === undefined ? "term-hint" : "term-error term-hint";
  return html`<form method="post" action="${action}" novalidate>
<label for="term">${texts.field}</label>
<p class="hint" id="term-hint">${texts.hint(exampleRegNo)}</p>
${error === undefined ? "" : html`<p class="field-error" id="term-error">${error}</p>`}
<input type="text" id="term" name="searchTerm" value="${value}" aria-describedby="${described}"
${error === undefined ? "" : html`aria-invalid="true"`} autocomplete="off" autocapitalize="none" spellcheck="false">
<button type="submit">${texts.button}</button>
</form>`;
}

/** What is wrong, before all else, with a way to the field. */
export function problemNotice(title: string, error: string): Markup {
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
