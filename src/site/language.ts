import { parseAccept } from "hono/utils/accept";
import envelopeForm from "../../data/texts/en/envelope-form.json" with { type: "json" };
import written from "../../data/texts/en/pages.json" with { type: "json" };
import statuses from "../../data/texts/en/statuses.json" with { type: "json" };
import { loadSentences } from "./texts/sentences.ts";

const pages = loadSentences(written);
export const englishTexts = { ...pages, lookup: { ...pages.lookup, ...statuses }, envelopeForm };

export type SiteTexts = typeof englishTexts;

/** Texts by language tag (BCP 47). To add a language, such as Hausa (`ha`), add a folder to data/texts and a line here. */
const languages: Readonly<Record<string, SiteTexts>> = { en: englishTexts };

const fallback = "en";

export type Language = {
  readonly tag: string;
  readonly texts: SiteTexts;
  /** True if the page's URL has `?lang=` with this language. The links on the page then repeat `?lang=`. */
  readonly asked?: boolean;
};

/** Makes the query of the page's links: `?lang=TAG` if the page's URL has this query, else empty. */
export function formatLanguageQuery({ asked, tag }: Language): string {
  return asked === true ? `?lang=${tag}` : "";
}

export const allLanguages: readonly Language[] = Object.entries(languages).map(([tag, texts]) => ({
  tag,
  texts,
}));

/** Picks the language of `?lang=`, else the best by `Accept-Language` (RFC 9110, 12.5.4), else English. */
export function pickLanguageTag(
  asked: string | undefined,
  acceptLanguage: string | undefined,
  spoken: readonly string[] = Object.keys(languages),
): string {
  // `parseAccept` sorts by preference (`q`). A browser excludes a language by q=0.
  const accepted = parseAccept(acceptLanguage ?? "").filter(({ q }) => q > 0);
  const wanted = [...(asked === undefined ? [] : [asked]), ...accepted.map(({ type }) => type)];
  return wanted.map((tag) => spokenTag(tag, spoken)).find((tag) => tag !== null) ?? fallback;
}

/** Finds the language of a tag without its region: `yo` for `yo-NG`. @returns null if the site lacks the language */
function spokenTag(tag: string, spoken: readonly string[]): string | null {
  const [primary = ""] = tag.trim().toLowerCase().split("-");
  return spoken.includes(primary) ? primary : null;
}

export function pickLanguage(asked: string | undefined, acceptLanguage: string | undefined): Language {
  const tag = pickLanguageTag(asked, acceptLanguage);
  const isAsked = asked !== undefined && spokenTag(asked, Object.keys(languages)) === tag;
  return { tag, texts: languages[tag] ?? englishTexts, ...(isAsked ? { asked: true } : {}) };
}
