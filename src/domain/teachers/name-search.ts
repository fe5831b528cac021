/** Finds names by the beginning of any of their parts. Case and diacritics are ignored. */

/** ASCII for letters that Unicode does not decompose: hooked letters of Hausa, and crossed letters and ligatures. */
const plainLetters: Readonly<Record<string, string>> = Object.fromEntries(
  "ɓ-b ɗ-d đ-d ð-d ǝ-e ɛ-e ə-e ı-i ƙ-k ł-l ŋ-n ɔ-o ø-o ƴ-y æ-ae œ-oe ß-ss þ-th"
    .split(" ")
    .map((pair) => pair.split("-")),
);
const otherLetter = new RegExp(`[${Object.keys(plainLetters).join("")}]`, "gu");

const plainName = /^[a-z ]*$/;
/** Apostrophes inside a name (Ma'aruf), which people often leave out. */
const apostrophe = /['’‘ʼʾʿ`´]/gu;

/** Maximum characters of a name that are compared, because the removal of diacritics takes quadratic time. */
export const maxComparedCharacters = 1_000;

/** Converts a name to lower case without diacritics. A space precedes each part: ` oka` finds a part's beginning. */
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
 * Makes a function that tests a name: each word of the term must begin a part of the name. `oka ad` finds Ada Okafor.
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
