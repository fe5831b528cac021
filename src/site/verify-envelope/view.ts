/**
 * What of the page is to be seen: the form, with a note above it when something is missing, or a result that stands
 * alone, because on a phone nobody should have to look for it. The browser's tab says what was found.
 */

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

/** What a check found. A result stands alone; a note stands above the form, in which something is still to be done. */
export type Shown = { readonly kind: "result" | "note"; readonly parts: readonly Node[] };

/** A row of buttons; nothing of it is printed. */
export function actionsRow(...actions: readonly (Node | null)[]): HTMLElement {
  return el("div", { class: "actions screen" }, actions);
}

export function actionButton(words: string, act: () => void, attributes: Record<string, string> = {}) {
  const button = el("button", { type: "button", ...attributes }, words);
  button.addEventListener("click", act);
  return button;
}

/** The verdicts on all that was put in, without those on each of several envelopes, which are folded up. */
function headlineOf(outcome: HTMLElement): string {
  const headings = [...outcome.querySelectorAll("h2")].filter(({ parentElement: box }) => {
    return box?.closest("details") === null;
  });
  return headings.map(({ lastChild }) => lastChild?.textContent ?? "").join("; ");
}

export function createView(texts: EnvelopeTexts) {
  const lead = byId("lead", HTMLElement);
  const entry = byId("entry", HTMLElement);
  const outcome = byId("outcome", HTMLElement);
  const title = byId("title", HTMLElement);
  const progress = byId("progress", HTMLElement);
  const settings = byId("settings", HTMLDetailsElement);
  const pageTitle = document.title;

  function standAlone(isAlone: boolean): void {
    lead.hidden = isAlone;
    entry.hidden = isAlone;
    title.classList.toggle("small", isAlone);
  }

  function nameTab(said: string): void {
    document.title = said === "" ? pageTitle : texts.tab(said, pageTitle);
  }

  function put(parts: readonly Node[]): void {
    outcome.replaceChildren(...parts);
    progress.textContent = "";
    outcome.querySelector("h2")?.focus();
    outcome.scrollIntoView({ block: "start" });
  }

  return {
    /** Tells of work that takes a while; what was shown before goes. */
    busy(words: string): void {
      outcome.replaceChildren();
      progress.textContent = words;
    },
    show({ kind, parts }: Shown): void {
      standAlone(kind === "result");
      put(parts);
      nameTab(headlineOf(outcome));
    },
    /** An attestation alone, under the name that its PDF gets. */
    showCertificate(made: HTMLElement, name: string, actions: readonly Node[]): void {
      standAlone(true);
      put([actionsRow(...actions), made]);
      document.title = name;
    },
    /** The form below the result, with its settings open. */
    openSettings(): void {
      standAlone(false);
      settings.open = true;
      byId("issuer", HTMLInputElement).focus();
    },
    begin(): void {
      standAlone(false);
      put([]);
      nameTab("");
      title.scrollIntoView({ block: "start" });
      byId("files", HTMLInputElement).focus({ preventScroll: true });
    },
  };
}
