import { TvsError } from "../../src/domain/errors.ts";
import { option } from "../command.ts";
import { parseChoice, parseCount, parseDuration, parseTime, parseWordList } from "./output.ts";

const maxLimit = 100_000;

export function choiceOption<const T extends string>(choices: readonly T[], description = "") {
  return option(choices.join("|"), description, (text, flag) => parseChoice(text, flag, choices));
}

/** Defines an option whose value is `all`, or some of the known words. @param description the option's text in `--help` */
export function listOption<const T extends string>(known: readonly T[], description: string) {
  const read = (text: string, flag: string) => parseWordList(text, flag, known);
  return {
    ...option("all|A,B", `${description}, separated by commas`, read),
    values: { listOf: ["all", ...known] },
  };
}

/** Defines an option such as `--since`. @param which the beginning of the option's text in `--help`: `Only those made` */
export function sinceOption(which: string) {
  const words = `${which} from this time on (ISO 8601, or a duration such as 24h: so long ago)`;
  return option("TIME", words, readSince);
}

export function limitOption(defaultLimit: number) {
  return {
    ...option("N", `At most this many (default ${defaultLimit})`, readLimit),
    default: `${defaultLimit}`,
  };
}

/** Reads a time; `24h` means 24 hours ago. @returns milliseconds since the epoch @throws TvsError USAGE */
function readSince(text: string, flag: string): number {
  if (/^\d+[a-z]$/.test(text)) return Date.now() - parseDuration(text, flag);
  return parseTime(text, flag, ", or a duration such as 24h");
}

function readLimit(text: string, flag: string): number {
  const limit = parseCount(text, flag);
  if (limit < 1 || limit > maxLimit) throw new TvsError("USAGE", `${flag} must be from 1 to ${maxLimit}`);
  return limit;
}
