/** A verdict's box: a word, a sign and a colour that say the same. */

import { el } from "./dom.ts";

export type Tone = "good" | "bad" | "warn" | "none" | "nobody";

/** The mark says in a shape what the colour says; the word beside it says it to everybody. */
const marks: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", warn: "?", none: "✓", nobody: "?" };

/** Its heading takes the focus, so that a screen reader reads the answer next. */
export function verdictBox(
  tone: Tone,
  title: string,
  ...sentences: (string | HTMLElement | null)[]
): HTMLElement {
  const mark = el("span", { "aria-hidden": "true", class: "mark" }, marks[tone]);
  return el(
    "div",
    { class: `verdict ${tone}` },
    el("h2", { tabindex: "-1" }, mark, title),
    sentences.map((sentence) => (typeof sentence === "string" ? el("p", {}, sentence) : sentence)),
  );
}

let pairs = 0;

/** The first heading takes the focus, so a screen reader is told of what belongs to it at once. */
export function pair(first: HTMLElement, ...others: (HTMLElement | null)[]): HTMLElement[] {
  const id = `answer-${++pairs}`;
  const shown = others.filter((other) => other !== null);
  const ids = shown.map((other, index) => {
    const described = other.querySelector("h2") ?? other;
    described.id = `${id}-${index}`;
    return described.id;
  });
  first.querySelector("h2")?.setAttribute("aria-describedby", ids.join(" "));
  return [first, ...shown];
}
