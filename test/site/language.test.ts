import { expect, test } from "bun:test";
import { allLanguages, englishTexts, pickLanguage, pickLanguageTag } from "../../src/site/language.ts";

const spoken = ["en", "ha", "ig", "yo"];

const cases: [asked: string | undefined, accepted: string | undefined, picked: string][] = [
  [undefined, undefined, "en"],
  ["yo", undefined, "yo"],
  ["YO-ng", undefined, "yo"],
  ["xx", "ig;q=0.3, ha;q=0.9", "ha"],
  [undefined, "fr, ig", "ig"],
  [undefined, "ha;q=0, ig;q=0.1", "ig"],
  [undefined, "yo-NG,en;q=0.8", "yo"],
  [undefined, ";;,,q=", "en"],
  ["__proto__", "constructor", "en"],
];

test.each(cases)("the language of ?lang=%p with Accept-Language %p is %p", (asked, accepted, picked) => {
  expect(pickLanguageTag(asked, accepted, spoken)).toBe(picked);
});

test("a page in a language that the site lacks is in English", () => {
  expect(pickLanguage("yo", "ha").texts).toBe(englishTexts);
  expect(allLanguages.map(({ tag }) => tag)).toContain("en");
});

/** Yields each text with its path. A sentence with parameters is made once, with the values 1 and 2. */
function* sentences(value: unknown, path: string): Generator<[string, string]> {
  if (typeof value === "string") yield [path, value];
  else if (typeof value === "function") yield [path, String(value("1", "2"))];
  else for (const [name, part] of Object.entries(value as object)) yield* sentences(part, `${path}.${name}`);
}

test.each(allLanguages.map(({ tag, texts }) => [tag, texts] as const))(
  "no text in the language %s is empty, and its locale can format dates",
  (tag, texts) => {
    for (const [path, text] of sentences(texts, "texts"))
      expect([path, text.trim() !== ""]).toEqual([path, true]);
    expect(Intl.DateTimeFormat.supportedLocalesOf(texts.locale)).toEqual([texts.locale]);
    expect(texts.locale).toStartWith(tag);
  },
);

test("no text for the public says that a licence was revoked (contract C13)", () => {
  for (const [path, text] of sentences(englishTexts.lookup, "lookup")) {
    expect([path, /revok/i.test(text)]).toEqual([path, false]);
  }
});
