/** Finds names by the beginning of any part, without case and diacritics. Folded names are not stored. */

/** Letters without a Unicode decomposition: hooked ones of Hausa, crossed and joined ones of other languages. */
const plainLetters: Readonly<Record<string, string>> = {
  ɓ: "b",
  ɗ: "d",
  đ: "d",
  ð: "d",
  ǝ: "e",
  ɛ: "e",
  ə: "e",
  ı: "i",
  ƙ: "k",
  ł: "l",
  ŋ: "n",
  ɔ: "o",
  ø: "o",
  ƴ: "y",
  æ: "ae",
  œ: "oe",
  ß: "ss",
  þ: "th",
};
const otherLetter = new RegExp(`[${Object.keys(plainLetters).join("")}]`, "gu");

const plainName = /^[a-z ]*$/;
/** Signs inside a part of a name (Ma'aruf), which people often leave out. */
const apostrophe = /['’‘ʼʾʿ`´]/gu;

/** Characters of a name that are read: the time to remove diacritics is quadratic. */
export const maxNameRead = 1_000;

/** Removes case and diacritics; one space is before each part of the name. */
export function foldedName(text: string): string {
  const name = text.slice(0, maxNameRead);
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
 * Makes a test for names with parts that begin with the words of the term, in any order: `oka ada` finds Adaeze Okafor.
 * @returns null for a term without letters
 */
export function nameTest(term: string): ((name: string) => boolean) | null {
  if (!/\p{L}/u.test(term)) return null;
  const beginnings = foldedName(term)
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => ` ${word}`);
  return (name) => {
    const text = foldedName(name);
    return beginnings.every((beginning) => text.includes(beginning));
  };
}
