/** Finds names by the beginning of any of their parts. Case and diacritics are ignored. */

/** ASCII for letters that Unicode does not decompose: hooked letters of Hausa, crossed and joined ones of others. */
const plainLetters: Readonly<Record<string, string>> = Object.fromEntries(
  "ɓ-b ɗ-d đ-d ð-d ǝ-e ɛ-e ə-e ı-i ƙ-k ł-l ŋ-n ɔ-o ø-o ƴ-y æ-ae œ-oe ß-ss þ-th"
    .split(" ")
    .map((pair) => pair.split("-")),
);
const otherLetter = new RegExp(`[${Object.keys(plainLetters).join("")}]`, "gu");

const plainName = /^[a-z ]*$/;
/** Apostrophes inside a name (Ma'aruf), which people often leave out. */
const apostrophe = /['’‘ʼʾʿ`´]/gu;

/** The first characters of a name that are compared: the time to remove diacritics is quadratic. */
export const maxComparedCharacters = 1_000;

/** Removes case and diacritics, and puts one space before each part, so that ` oka` finds a part's beginning. */
export function foldName(text: string): string {
  const name = text.slice(0, maxComparedCharacters);
  const lower = name.toLowerCase();
  if (plainName.test(lower)) return ` ${lower}`;
  const letters = lower
    .replace(apostrophe, "")
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(otherLetter, (letter) => plainLetters[letter] ?? letter)
    .replace(/[^\p{L}\p{N}]+/gu, " ");
  return ` ${letters.trimStart()}`;
}

/**
 * Makes a test for names. A name passes if each word of the term begins one of its parts: `oka ad` finds Ada Okafor.
 * @returns null for a term without letters
 */
export function createNameMatcher(term: string): ((name: string) => boolean) | null {
  if (!/\p{L}/u.test(term)) return null;
  const beginnings = foldName(term)
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => ` ${word}`);
  return (name) => {
    const text = foldName(name);
    return beginnings.every((beginning) => text.includes(beginning));
  };
}
