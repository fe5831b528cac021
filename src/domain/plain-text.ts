/** Text for people: what nobody sees must not tell two names apart, nor turn letters around. */

/**
 * Control, format, private and unassigned characters, line separators, whatever a renderer may leave out (zero-width
 * marks, direction marks, soft hyphens, variation selectors, fillers, tags), a pattern of braille without a dot, and
 * the mark of a failed decoding.
 */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffd]/u;

const joining = [
  ...["Arabic", "Adlam", "Nko", "Syriac", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil"],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala"],
];
const joiningLetter = `[${joining.map((script) => `\\p{Script_Extensions=${script}}`).join("")}]`;
/** A zero-width (non-)joiner is spelling between letters of a script that joins them. Anywhere else it hides. */
const joiner = new RegExp(`(?<=${joiningLetter})[\\u200c\\u200d](?=${joiningLetter})`, "gu");

/** Whether the text holds a character that cannot be seen, or was damaged on its way. */
export function hasHiddenCharacter(text: string): boolean {
  return hidden.test(text) && hidden.test(text.replace(joiner, ""));
}

/** A word of a command that is printed to be pasted: as it is where every shell takes it so, else in quotes. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
