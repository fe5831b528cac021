/** What the page says while the codes of an attestation come in one at a time. */

import { el } from "./dom.ts";
import type { Count, Gathered } from "./gathering.ts";
import type { EnvelopeTexts } from "./texts.ts";
import { actionButton } from "./view.ts";

type Waiting = Extract<Gathered, { state: "waiting" }>;

/** What can be done meanwhile. */
type Actions = { readonly forget: () => void; readonly withoutProof: () => void };

function here({ total, missing }: Count): number {
  return total - missing.length;
}

/** The codes as squares with their numbers, for who looks; the sentences say the same. */
function squares({ total, missing }: Count): HTMLElement {
  const items = Array.from({ length: total }, (_, index) => {
    const isHere = !missing.includes(index + 1);
    return el("li", { class: isHere ? "here" : "" }, String(index + 1));
  });
  return el("ol", { class: "squares", "aria-hidden": "true" }, items);
}

function sentencesOf({ envelope, proof }: Waiting, { gathering: words, locale }: EnvelopeTexts): string[] {
  const anyOf = (numbers: readonly number[]) =>
    new Intl.ListFormat(locale, { type: "disjunction" }).format(numbers.map(String));
  const sentences: string[] = [];
  if (envelope === null) sentences.push(proof?.missing.length === 0 ? words.nextEnvelope : "");
  else if (envelope.missing.length > 0)
    sentences.push(words.next(envelope.missing.length, anyOf(envelope.missing)));
  if (proof !== null && proof.missing.length > 0)
    sentences.push(words.nextProof(proof.missing.length, proof.missing.join(", ")));
  return [...sentences, words.photograph].filter((sentence) => sentence !== "");
}

const quietButton = (words: string, act: () => void) => actionButton(words, act, { class: "quiet" });

/**
 * @param waiting what is here, and what is missing
 * @param actions by which the reader goes on without the rest
 */
export function gatheringBox(waiting: Waiting, actions: Actions, texts: EnvelopeTexts): HTMLElement {
  const { gathering: words } = texts;
  const { envelope, proof } = waiting;
  const isAboutProof = envelope === null || envelope.missing.length === 0;
  const first = (isAboutProof ? proof : envelope) ?? { total: 0, missing: [] };
  const title = (isAboutProof ? words.proofTitle : words.title)(here(first), first.total);
  return el(
    "div",
    { class: "gathering" },
    el("h2", { tabindex: "-1" }, title),
    squares(first),
    sentencesOf(waiting, texts).map((sentence) => el("p", {}, sentence)),
    el("p", { class: "hint" }, words.kept),
    el(
      "div",
      { class: "actions" },
      envelope?.missing.length === 0 ? quietButton(words.withoutProof, actions.withoutProof) : null,
      quietButton(words.forget, actions.forget),
    ),
  );
}
