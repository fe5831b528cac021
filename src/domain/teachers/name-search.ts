/** Finds names by the beginning of any part, without regard to case and marks. Nothing folded is ever stored. */

/** Letters that no decomposition takes apart: hooked ones of Hausa, crossed and joined ones of other languages. */
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
/** What stands within a part of a name (Ma'aruf) and is often left out. */
const apostrophe = /['’‘ʼʾʿ`´]/gu;

/** Characters of a name that are read, at most: taking marks off takes the square of their number. */
export const maxNameRead = 1_000;

/** A name without case and marks, its parts a blank apart, with a blank before each. */
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
 * A test for names of which some part begins with each word of the term, in any order: `oka ada` finds Adaeze Okafor.
 * @returns null when the term has no letter, and so is not the beginning of a name
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
