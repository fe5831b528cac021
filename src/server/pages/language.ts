import { english, type Texts } from "./texts-en.ts";

/**
 * The languages that the pages speak, by their tag (BCP 47). Hausa, Igbo and Yoruba join as `ha`, `ig` and `yo`:
 * one file of sentences each, and one line here.
 */
const languages: Readonly<Record<string, Texts>> = { en: english };

const fallback = "en";

/** A language, ready to be written in. */
export type Language = { readonly tag: string; readonly texts: Texts };

/** Every language there is, for the reader to choose from. */
export const allLanguages: readonly Language[] = Object.entries(languages).map(([tag, texts]) => ({
  tag,
  texts,
}));

/**
 * The language to answer in: the one asked for in the link, else the best of the browser's that we speak.
 * @param asked the value of `?lang=`
 * @param acceptLanguage the header of that name (RFC 9110, 12.5.4)
 * @param spoken the tags to pick from, the fallback among them
 */
export function pickTag(
  asked: string | undefined,
  acceptLanguage: string | undefined,
  spoken: readonly string[] = Object.keys(languages),
): string {
  const wanted = [...(asked === undefined ? [] : [asked]), ...preferences(acceptLanguage ?? "")];
  for (const tag of wanted) {
    // `yo-NG` is answered in `yo`: no page differs by region.
    const [primary = ""] = tag.trim().toLowerCase().split("-");
    if (spoken.includes(primary)) return primary;
  }
  return fallback;
}

/** @see pickTag */
export function pickLanguage(asked: string | undefined, acceptLanguage: string | undefined): Language {
  const tag = pickTag(asked, acceptLanguage);
  return { tag, texts: languages[tag] ?? english };
}

/** The tags of an Accept-Language header, the most wanted first, refused ones left out. */
function preferences(header: string): string[] {
  return header
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.split(";");
      const quality = /q\s*=\s*([\d.]+)/.exec(parameters.join(";"))?.[1];
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality)
    .map(({ tag }) => tag);
}
