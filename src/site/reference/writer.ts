/** What every part of the reference is written with, and the forms that they share. */

import { html } from "hono/html";
import written from "../../../data/texts/en/reference.json" with { type: "json" };
import type { Markup } from "../markup.ts";
import { sentences } from "../texts/sentences.ts";
import type { DocumentReader } from "./document.ts";
import type { Prose } from "./prose.ts";

const english = sentences(written);
const languages: Readonly<Record<string, typeof english>> = { en: english };

/** The sentences of the reference, but for those of the OpenAPI document itself. @param tag a language's (BCP 47) */
export function referenceTexts(tag: string): typeof english {
  return languages[tag] ?? english;
}

export type Writer = DocumentReader & {
  readonly prose: Prose;
  readonly texts: typeof english;
  /** The public address of the service, which the examples call. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** What keeps links to other pages in the language that was asked for. */
  readonly query: string;
  /** The demo partner's key, for a reader who may see it. */
  readonly apiKey: string | null;
};

/** A part of the reference: what it is at the left, what it looks like at the right. */
type Part = {
  readonly id: string;
  readonly title: Markup | string;
  /** The rank of its heading. */
  readonly rank: 2 | 3;
  readonly what: Markup;
  readonly shown?: Markup;
};

export function part({ texts }: Pick<Writer, "texts">, { id, title, rank, what, shown }: Part): Markup {
  const anchor = html`<a class="anchor" href="#${id}" aria-label="${texts.linkTo(id)}">#</a>`;
  const heading =
    rank === 2
      ? html`<h2 id="${id}">${title}&nbsp;${anchor}</h2>`
      : html`<h3 id="${id}">${title}&nbsp;${anchor}</h3>`;
  return html`<div class="part"><div class="what">
${heading}
${what}
</div>
${shown === undefined ? "" : html`<div class="shown">${shown}</div>`}
</div>
`;
}
