/** Checks texts for people. Invisible characters could make two names look alike or reverse letters. */

/**
 * Control, format, private and unassigned characters, line separators, characters that a renderer may leave out (zero-width
 * marks, direction marks, soft hyphens, variation selectors, fillers, tags), blank braille, and U+FFFD.
 */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffd]/u;

const joining = [
  ...["Arabic", "Adlam", "Nko", "Syriac", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil"],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala"],
];
const joiningLetter = `[${joining.map((script) => `\\p{Script_Extensions=${script}}`).join("")}]`;
/** A zero-width (non-)joiner between two letters of a joining script, where it is part of the spelling. */
const joiner = new RegExp(`(?<=${joiningLetter})[\\u200c\\u200d](?=${joiningLetter})`, "gu");

/** Whether a text contains an invisible character, or U+FFFD from a failed decoding. */
export function hasHiddenCharacter(text: string): boolean {
  return hidden.test(text) && hidden.test(text.replace(joiner, ""));
}

/** Quotes a word of a command to paste, if a shell needs it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
