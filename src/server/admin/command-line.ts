/** Builds command lines that can be pasted into any shell, whatever folder it is in. */
export type CommandLine = (words: string) => string;

/** @param options the words that make a command mean the running service's data, for example `["--data", "/srv/tvs"]` */
export function createCommandLine(options: readonly string[]): CommandLine {
  const suffix = options.map((word) => ` ${quoted(word)}`).join("");
  return (words) => `tvs ${words}${suffix}`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
