import { parseAccept } from "hono/utils/accept";
import written from "../../data/texts/en/pages.json" with { type: "json" };
import statuses from "../../data/texts/en/statuses.json" with { type: "json" };
import { sentences } from "./texts/sentences.ts";

const pages = sentences(written);
export const english = { ...pages, lookup: { ...pages.lookup, ...statuses } };

/** What every language has to say; the compiler finds the sentence that one has forgotten. */
export type Texts = typeof english;

/**
 * The languages that the pages speak, by their tag (BCP 47). Hausa, Igbo and Yoruba join as `ha`, `ig` and `yo`:
 * one folder of sentences each, and one line here.
 */
const languages: Readonly<Record<string, Texts>> = { en: english };

const fallback = "en";

/** A language, ready to be written in. */
export type Language = {
  readonly tag: string;
  readonly texts: Texts;
  /** Whether the address asked for it, so that links keep to it. */
  readonly asked?: boolean;
};

/** What a link carries so that the next page speaks the language that was asked for. */
export function queryOf({ asked, tag }: Language): string {
  return asked === true ? `?lang=${tag}` : "";
}

export const allLanguages: readonly Language[] = Object.entries(languages).map(([tag, texts]) => ({
  tag,
  texts,
}));

/**
 * The language to answer in: the one asked for in the link, else the best of the browser's that we speak.
 * @param acceptLanguage the header of that name (RFC 9110, 12.5.4)
 */
export function pickTag(
  asked: string | undefined,
  acceptLanguage: string | undefined,
  spoken: readonly string[] = Object.keys(languages),
): string {
  // The most wanted first; those with q=0 are refused.
  const accepted = parseAccept(acceptLanguage ?? "").filter(({ q }) => q > 0);
  const wanted = [...(asked === undefined ? [] : [asked]), ...accepted.map(({ type }) => type)];
  return wanted.map((tag) => spokenTag(tag, spoken)).find((tag) => tag !== null) ?? fallback;
}

/** `yo-NG` is answered in `yo`: no page differs by region. */
function spokenTag(tag: string, spoken: readonly string[]): string | null {
  const [primary = ""] = tag.trim().toLowerCase().split("-");
  return spoken.includes(primary) ? primary : null;
}

/** The language to answer in, with its texts. @see pickTag */
export function pickLanguage(asked: string | undefined, acceptLanguage: string | undefined): Language {
  const tag = pickTag(asked, acceptLanguage);
  const isAsked = asked !== undefined && spokenTag(asked, Object.keys(languages)) === tag;
  return { tag, texts: languages[tag] ?? english, ...(isAsked ? { asked: true } : {}) };
}
