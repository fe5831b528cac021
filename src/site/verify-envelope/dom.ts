/** Elements of the page, built and found. All text goes in as text, so nothing that is pasted can become markup. */

import written from "../../../data/texts/en/envelope.json" with { type: "json" };
import statuses from "../../../data/texts/en/statuses.json" with { type: "json" };
import { sentences } from "../texts/sentences.ts";

type Child = Node | string | null | undefined | readonly Child[];
type Attributes = Readonly<Record<string, string | boolean>>;

function append(parent: Element, child: Child): void {
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else if (child !== null && child !== undefined) parent.append(child as Node | string);
}

/**
 * @param name the element's name
 * @param attributes by name; `true` sets one without a value, `false` leaves it out
 * @param children elements and texts; null and undefined are left out
 */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

/**
 * The element of an id that the page is known to have.
 * @throws Error when the page and its script do not belong together
 */
export function byId<T extends HTMLElement>(id: string, kind: { new (): T; prototype: T }): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${id}`);
  return element;
}

/** The element of an id that only one form of the page has. */
export function maybeById<T extends HTMLElement>(id: string, kind: { new (): T; prototype: T }): T | null {
  const element = document.getElementById(id);
  return element instanceof kind ? element : null;
}

/** One line of a list of facts, as the style sheet knows it; nothing for an unknown value. */
export function fact(name: string, value: Child): HTMLElement | null {
  if (value === null || value === undefined || value === "") return null;
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

const { licensed, expired, notLicensed, certificates } = statuses;
const said = sentences(written);
const english = {
  ...said,
  signed: {
    ...said.signed,
    statuses: { VALID: licensed, EXPIRED: expired, REVOKED: said.signed.revoked, NOT_FOUND: notLicensed },
    certificates,
  },
};

/** What every language has to say. */
export type EnvelopeTexts = typeof english;

/** By the tags of ../language.ts. */
const languages: Readonly<Record<string, EnvelopeTexts>> = { en: english };

/** @param tag a language's tag (BCP 47), as in the document's `lang` */
export function envelopeTexts(tag: string): EnvelopeTexts {
  return languages[tag] ?? english;
}

/** Something that keeps the page from checking. Its message is for the reader, and never quotes what was put in. */
export class PageProblem extends Error {}
