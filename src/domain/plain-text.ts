/** Checks texts that people read: invisible characters could make two names look alike, or reverse letters. */

/**
 * Invisible characters: control, format, private and unassigned characters, line separators, blank braille, U+FFFD, and
 * characters that renderers may omit (zero-width and direction marks, soft hyphens, variation selectors, fillers, tags).
 */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffd]/u;

const joining = [
  ...["Arabic", "Adlam", "Nko", "Syriac", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil"],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala"],
];
const joiningLetter = `[${joining.map((script) => `\\p{Script_Extensions=${script}}`).join("")}]`;
/** A zero-width joiner or non-joiner between two letters of a joining script, where it is part of the spelling. */
const joiner = new RegExp(`(?<=${joiningLetter})[\\u200c\\u200d](?=${joiningLetter})`, "gu");

/** True if a text contains U+FFFD from a failed decoding, or an invisible character, except a joiner that spelling needs. */
export function hasHiddenCharacter(text: string): boolean {
  return hidden.test(text) && hidden.test(text.replace(joiner, ""));
}

/** Quotes a word for a shell, if necessary, in a command that an operator will paste. */
export function quoteShellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
