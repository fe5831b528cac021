import { parseAccept } from "hono/utils/accept";
import written from "../../data/texts/en/pages.json" with { type: "json" };
import statuses from "../../data/texts/en/statuses.json" with { type: "json" };
import { sentences } from "./texts/sentences.ts";

const pages = sentences(written);
export const english = { ...pages, lookup: { ...pages.lookup, ...statuses } };

export type Texts = typeof english;

/** Texts by language tag (BCP 47). A further language, such as Hausa (`ha`), is a folder of sentences and a line here. */
const languages: Readonly<Record<string, Texts>> = { en: english };

const fallback = "en";

export type Language = {
  readonly tag: string;
  readonly texts: Texts;
  /** Whether the address names the language, so that links keep it. */
  readonly asked?: boolean;
};

/** The part of a link that keeps the language of the address. */
export function queryOf({ asked, tag }: Language): string {
  return asked === true ? `?lang=${tag}` : "";
}

export const allLanguages: readonly Language[] = Object.entries(languages).map(([tag, texts]) => ({
  tag,
  texts,
}));

/** Picks the language of the link, else the best by Accept-Language (RFC 9110, 12.5.4). */
export function pickTag(
  asked: string | undefined,
  acceptLanguage: string | undefined,
  spoken: readonly string[] = Object.keys(languages),
): string {
  // Sorted by q; a language with q=0 is refused.
  const accepted = parseAccept(acceptLanguage ?? "").filter(({ q }) => q > 0);
  const wanted = [...(asked === undefined ? [] : [asked]), ...accepted.map(({ type }) => type)];
  return wanted.map((tag) => spokenTag(tag, spoken)).find((tag) => tag !== null) ?? fallback;
}

/** The known language of a tag: `yo` for `yo-NG`, because pages do not differ by region. */
function spokenTag(tag: string, spoken: readonly string[]): string | null {
  const [primary = ""] = tag.trim().toLowerCase().split("-");
  return spoken.includes(primary) ? primary : null;
}

export function pickLanguage(asked: string | undefined, acceptLanguage: string | undefined): Language {
  const tag = pickTag(asked, acceptLanguage);
  const isAsked = asked !== undefined && spokenTag(asked, Object.keys(languages)) === tag;
  return { tag, texts: languages[tag] ?? english, ...(isAsked ? { asked: true } : {}) };
}
