/** The options by which a list is cut: from when on, and how many. */

import { TvsError } from "../../src/domain/errors.ts";
import { option } from "../command.ts";
import { parseCount, parseDuration, parseTime } from "./output.ts";

/** The largest `--limit`; more is wanted in parts. */
const maxLimit = 100_000;

/** From when on. @param which whose time it is, such as `Only those made` */
export function sinceArg(which: string) {
  return option("TIME", `${which} from this time on (ISO 8601, or a duration such as 24h: so long ago)`);
}

export function limitArg(defaultLimit: number) {
  return option("N", `At most this many (default ${defaultLimit})`);
}

/**
 * Reads from when a list begins: a time, or a duration, which is counted back from now.
 * @returns milliseconds since the epoch; undefined where nothing is said
 * @throws TvsError USAGE
 */
export function parseSince(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+[a-z]$/.test(text)) return Date.now() - parseDuration(flag, text);
  return parseTime(flag, text, ", or a duration such as 24h");
}

/** Reads `--limit`. @throws TvsError USAGE */
export function parseLimit(text: string | undefined, defaultLimit: number): number {
  const limit = text === undefined ? defaultLimit : parseCount("--limit", text);
  if (limit < 1 || limit > maxLimit) throw new TvsError("USAGE", `--limit must be from 1 to ${maxLimit}`);
  return limit;
}
