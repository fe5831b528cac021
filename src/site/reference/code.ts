/** Code and JSON, coloured, in boxes that scroll by themselves, by keyboard too. */

import { html, raw } from "hono/html";
import type { Markup } from "../markup.ts";

/** From so many characters on, a text of an example is shortened: nobody reads base64. */
const longText = 100;

/** A string; what makes it a member's name; a word or a number. */
const tokens =
  /("(?:\\.|[^"\\\n])*"|'(?:\\'|[^'])*')(\s*(?::|=>)(?= ))?|\b(true|false|null|None|True|False|-?\d+)\b/g;

/** Code as HTML, with names, texts and words told apart. */
function coloured(code: string): string {
  let html = "";
  let from = 0;
  for (const match of code.matchAll(tokens)) {
    const [whole, text, isName, word] = match;
    html += escaped(code.slice(from, match.index));
    if (text !== undefined) html += span(isName === undefined ? "s" : "k", text) + escaped(isName ?? "");
    if (word !== undefined) html += span("n", word);
    from = match.index + whole.length;
  }
  return html + escaped(code.slice(from));
}

function span(kind: string, text: string): string {
  return `<span class="${kind}">${escaped(text)}</span>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * A box of code.
 * @param label what a screen reader calls it; unlike that of any other box
 */
export function codeBox(code: string, label: string): Markup {
  return html`<pre tabindex="0" role="group" aria-label="${label}"><code>${raw(coloured(code))}</code></pre>`;
}

/** A text that is no code in a box. */
export function plainBox(text: string, label: string): Markup {
  return html`<pre tabindex="0" role="group" aria-label="${label}"><code>${text}</code></pre>`;
}

/** A value as JSON in a box, its long texts shortened. */
export function jsonBox(value: unknown, label: string): Markup {
  return typeof value === "string" ? plainBox(shortened(value), label) : codeBox(jsonText(value), label);
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, (_name, member) => shortened(member), 2);
}

function shortened<T>(value: T): T | string {
  if (typeof value !== "string" || value.length < longText || /\s/.test(value)) return value;
  return `${value.slice(0, 40)}…${value.slice(-8)}`;
}
