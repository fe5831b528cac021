/**
 * What of the page is to be seen: the form, with a note above it when something is missing, or a result that stands
 * alone, because on a phone nobody should have to look for it. The browser's tab says what was found.
 */

import { byId, type EnvelopeTexts, el } from "./dom.ts";

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

/** @param texts the page's sentences */
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
