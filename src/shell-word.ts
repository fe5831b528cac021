/**
 * A word of a command that is printed to be pasted: as it is where every shell takes it so, else in quotes.
 * @param isWindows for its shells, which know no single quotes, and take a backslash for what it is
 */
export function shellWord(word: string, isWindows = false): string {
  if (isWindows) return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `"${word}"`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
