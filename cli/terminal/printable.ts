/**
 * Control characters, and the marks that reverse or hide text. What comes from files and callers may hold them, and
 * must not be able to steer the reader's terminal.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text that is safe for a terminal: what would not be seen is written as JSON escapes it. */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

/** JSON for a terminal, laid out: names in it come from the register, and must not steer it. */
export function printableJson(value: object): string {
  return JSON.stringify(value, null, 2).split("\n").map(printable).join("\n");
}

function escaped(character: string): string {
  // Beyond the basic plane JSON knows a character by its two halves only.
  const halves = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return halves.map((half) => `\\u${half.toString(16).padStart(4, "0")}`).join("");
}
