/** What the script of the envelope page says; the reasons of a refusal are the partner library's own. */

import written from "../../../data/texts/en/envelope.json" with { type: "json" };
import statuses from "../../../data/texts/en/statuses.json" with { type: "json" };
import { sentences } from "../texts/sentences.ts";

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
