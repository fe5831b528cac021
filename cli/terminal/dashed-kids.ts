import { argsOf, type OurCommand } from "../command.ts";

/**
 * The words of a command line with the key ids at the end. One key id in sixty-four begins with a dash and would be
 * read as options. No option is as long, so such a word is an operand, or the value of an option that takes one:
 * whoever has to declare a key compromised must not have to know of `--` first.
 */
export function kidsLast(words: readonly string[], command: OurCommand): string[] {
  const isKid = (word: string | undefined) => /^-[\w-]{42}$/.test(word ?? "");
  const args = argsOf(command);
  const takesNext = (word: string | undefined) =>
    word?.startsWith("--") === true && args[word.slice(2)]?.type === "string";
  const joined = words.flatMap((word, index) => {
    if (takesNext(word) && isKid(words[index + 1])) return [`${word}=${words[index + 1]}`];
    return isKid(word) && takesNext(words[index - 1]) ? [] : [word];
  });
  const kids = joined.filter(isKid);
  if (kids.length === 0 || words.includes("--")) return joined;
  return [...joined.filter((word) => !kids.includes(word)), "--", ...kids];
}
