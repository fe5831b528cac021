/** Numbers, times and commands as the console writes them: figures short and of even width, never with false precision. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(value: number): string {
  return whole.format(value);
}

/** Three figures at most: 0.04, 3.2, 47, 1,260. */
export function figure(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (value < 0.995) return value.toFixed(2);
  return value < 9.95 ? value.toFixed(1) : count(value);
}

export function bytes(value: number): string {
  return value < 1e9 ? `${count(value / 1e6)} MB` : `${(value / 1e9).toFixed(1)} GB`;
}

/** A span of time in its largest unit that says enough: 40 s, 12 min, 5 h, 3 days. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** A moment in the service's time zone, to the minute: 2026-03-01 09:30. */
export function moment(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" }).format(at);
}

export function percent(share: number): string {
  return `${count(Math.min(999, share * 100))} %`;
}

/** Writes a command that can be pasted into any shell, whatever folder it is in. */
export type CommandLine = (words: string) => string;

/** @param options the words that make a command mean the running service's data, for example `["--data", "/srv/tvs"]` */
export function createCommandLine(options: readonly string[]): CommandLine {
  const suffix = options.map((word) => ` ${quoted(word)}`).join("");
  return (words) => `tvs ${words}${suffix}`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
