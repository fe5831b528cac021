/** The OpenAPI document's descriptions, which are Markdown, as HTML. It is our own text: nothing in it is anybody's input. */

import { html, raw } from "hono/html";
import type { Markup } from "../markup.ts";

export type Prose = Awaited<ReturnType<typeof loadProse>>;

/** @param language the page's tag: on a page in another language, the document's sentences say that they are English */
export async function loadProse(language: string) {
  // Loaded here, because most services never serve the reference.
  const { Marked } = await import("marked");
  const marked = new Marked();
  const isForeign = language !== "en";
  const phrase = (text: Markup | string) => (isForeign ? html`<span lang="en">${text}</span>` : text);
  return {
    /** A sentence or two, without a paragraph around. */
    inline: (markdown: string | undefined): Markup | string =>
      markdown === undefined ? "" : phrase(html`${raw(marked.parseInline(markdown, { async: false }))}`),
    /** Paragraphs. */
    block: (markdown: string): Markup => {
      const text = raw(marked.parse(markdown, { async: false }));
      return isForeign ? html`<div lang="en">${text}</div>` : html`${text}`;
    },
    /** A plain text of the document's. */
    said: phrase,
  };
}

/** The parts of a description under its headings of the second rank; what stands before the first has none. */
export function sectionsOf(markdown: string): { readonly title: string; readonly text: string }[] {
  return markdown.split(/^## /m).map((part, index) => {
    const end = index === 0 ? 0 : part.indexOf("\n");
    return { title: part.slice(0, end).trim(), text: part.slice(end).trim() };
  });
}
