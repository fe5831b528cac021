import { type EnvelopeTexts, english } from "./texts-en.ts";

/** The envelope page's sentences, by the tags of ../texts.ts; a language without its own gets English. */
const languages: Readonly<Record<string, EnvelopeTexts>> = { en: english };

export type { EnvelopeTexts } from "./texts-en.ts";

/** @param tag a language's tag (BCP 47), as in the document's `lang` */
export function envelopeTexts(tag: string): EnvelopeTexts {
  return languages[tag] ?? english;
}
