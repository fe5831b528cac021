/** The page's elements, sentences and view. The view shows the form, or a result without the form, to fit a phone. */

import written from "../../../data/texts/en/envelope.json" with { type: "json" };
import statuses from "../../../data/texts/en/statuses.json" with { type: "json" };
import { loadSentences } from "../texts/sentences.ts";

type Child = Node | string | null | undefined | readonly Child[];
type Attributes = Readonly<Record<string, string | boolean>>;

function append(parent: Element, child: Child): void {
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else if (child !== null && child !== undefined) parent.append(child as Node | string);
}

/** Makes an element. A true attribute is written without a value. A false attribute and a null child are left out. */
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

/** Returns the page's element with an id. @throws Error if page and script have different versions */
export function requireElement<T extends HTMLElement>(id: string, kind: { new (): T; prototype: T }): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${id}`);
  return element;
}

/** Makes one line of a list of facts; null if the value is missing or empty. */
export function makeFactLine(name: string, value: Child): HTMLElement | null {
  if (value === null || value === undefined || value === "") return null;
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

export function makeTable(
  caption: string,
  heads: readonly string[],
  rows: readonly HTMLElement[],
): HTMLElement {
  const head = heads.map((text) => el("th", { scope: "col" }, text));
  const parts = [el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)];
  return el("table", {}, parts);
}

/** The colour and the mark of a verdict. `nobody` is for an answer that found nobody. */
export type Tone = "good" | "bad" | "warn" | "none" | "nobody";

/** The mark of each tone, for readers who cannot see its colour. The title beside it says the same in words. */
const marks: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", warn: "?", none: "✓", nobody: "?" };

/** Makes the box of a verdict. Its heading can take the focus, so that a screen reader reads the verdict first. */
export function makeVerdictBox(tone: Tone, title: string, ...sentences: (string | HTMLElement | null)[]) {
  const mark = el("span", { "aria-hidden": "true", class: "mark" }, marks[tone]);
  const paragraphs = sentences.map((one) => (typeof one === "string" ? el("p", {}, one) : one));
  return el("div", { class: `verdict ${tone}` }, el("h2", { tabindex: "-1" }, mark, title), paragraphs);
}

const { licensed, expired, notLicensed, certificates } = statuses;
const said = loadSentences(written);
const english = {
  ...said,
  signed: {
    ...said.signed,
    statuses: { VALID: licensed, EXPIRED: expired, REVOKED: said.signed.revoked, NOT_FOUND: notLicensed },
    certificates,
  },
};

/** The sentences by language tag, as in ../language.ts. */
const languages: Readonly<Record<string, typeof english>> = { en: english };

export const texts = languages[document.documentElement.lang] ?? english;

/** The source of the keys: fetched by the page, or pasted by the user if the page has a field for keys (`jwks`). */
export const keySource = document.getElementById("jwks") === null ? "fetched" : "pasted";

const tool = requireElement("tool", HTMLElement);

/** Reads a value that the server wrote into the page: a relative URL, the issuer or the registry's name; empty if missing. */
export function readPageData(name: string): string {
  return tool.dataset[name] ?? "";
}

/** This service's issuer, if the page verifies with this service's keys; null if the user pastes the keys. */
export const ownIssuer = keySource === "fetched" ? readPageData("issuer") : null;

/** An error that the page shows instead of a result. Its message never quotes the input. */
export class PageError extends Error {}

/** What the page shows: a result without the form, or a note above the form. */
export type PageContent = { readonly kind: "result" | "note"; readonly parts: readonly Node[] };

export function makeActionRow(...actions: readonly (Node | null)[]): HTMLElement {
  return el("div", { class: "actions screen" }, actions);
}

export function makeActionButton(words: string, run: () => void, attributes: Record<string, string> = {}) {
  const button = el("button", { type: "button", ...attributes }, words);
  button.addEventListener("click", run);
  return button;
}

/** Joins the headings of the verdicts, without those in the folded parts of a list of envelopes. */
function headlineOf(outcome: HTMLElement): string {
  const headings = [...outcome.querySelectorAll("h2")].filter(({ parentElement: box }) => {
    return box?.closest("details") === null;
  });
  return headings.map(({ lastChild }) => lastChild?.textContent ?? "").join("; ");
}

export function createPageView() {
  const lead = requireElement("lead", HTMLElement);
  const entry = requireElement("entry", HTMLElement);
  const outcome = requireElement("outcome", HTMLElement);
  const title = requireElement("title", HTMLElement);
  const progress = requireElement("progress", HTMLElement);
  const settings = requireElement("settings", HTMLDetailsElement);
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
    busy(words: string): void {
      outcome.replaceChildren();
      progress.textContent = words;
    },
    show({ kind, parts }: PageContent): void {
      standAlone(kind === "result");
      put(parts);
      nameTab(headlineOf(outcome));
    },
    /** Shows an attestation without the form. The document's title becomes `name`, which is the PDF's default name. */
    showCertificate(made: HTMLElement, name: string, actions: readonly Node[]): void {
      standAlone(true);
      put([makeActionRow(...actions), made]);
      document.title = name;
    },
    /** Shows the form below the result, with its settings open. */
    openSettings(): void {
      standAlone(false);
      settings.open = true;
      requireElement("issuer", HTMLInputElement).focus();
    },
    begin(): void {
      standAlone(false);
      put([]);
      nameTab("");
      title.scrollIntoView({ block: "start" });
      requireElement("files", HTMLInputElement).focus({ preventScroll: true });
    },
  };
}
