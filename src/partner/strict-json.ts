/**
 * Strict JSON (RFC 8259 narrowed by I-JSON, RFC 7493): what two readers could understand differently is
 * refused, because an attacker lives in that difference.
 *
 * Refused: duplicate members anywhere (also in another spelling, `"a"` and `"\u0061"`), trailing bytes, bytes
 * that are not UTF-8, lone surrogates, numbers that a double cannot hold, nesting beyond `maxJsonDepth`.
 */

import type { RefusalReason } from "./reasons.ts";

/** What a JSON text can hold. Member names are own properties, `__proto__` included. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [member: string]: JsonValue };

/** The refusals of this reader. */
export type JsonReason = Extract<RefusalReason, `JSON_${string}` | "INPUT_NOT_UTF8">;

/** The value, or the one reason why there is none. */
export type JsonReading = { readonly value: JsonValue } | { readonly problem: JsonReason };

/** An envelope is about six levels deep; a profile may add a few. */
export const maxJsonDepth = 32;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Any escape that could write half of a surrogate pair; only then are the strings looked at one by one. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

type Census = { members: number; readonly checkStrings: boolean; problem: JsonReason | null };

/** Tells an object from null, arrays and scalars. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The bytes as text, or null when they are not UTF-8. A byte order mark is kept, hence refused by JSON. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Whether the quote at `index` is escaped: an odd number of backslashes stands before it. */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1;
  while (text.charCodeAt(before) === 0x5c) before--;
  return (index - before) % 2 === 0;
}

function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (text.charCodeAt(end - 1) === 0x5c && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/**
 * Counts the members written in a text that is known to be JSON: every string that a colon follows.
 * It leaps from quote to quote, so a long signature costs one native search.
 */
function countWrittenMembers(text: string): number {
  let members = 0;
  let quote = text.indexOf('"');
  while (quote !== -1) {
    let next = endOfString(text, quote + 1) + 1;
    while (text.charCodeAt(next) <= 0x20) next++;
    if (text.charCodeAt(next) === 0x3a) members++;
    quote = text.indexOf('"', next);
  }
  return members;
}

function surveyString(text: string, census: Census): void {
  if (census.checkStrings && !text.isWellFormed()) census.problem ??= "JSON_LONE_SURROGATE";
}

/** Infinity, and whole numbers beyond 2^53, have lost what was written. */
function surveyNumber(value: number, census: Census): void {
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) census.problem ??= "JSON_NUMBER_RANGE";
}

function surveyNested(value: JsonValue[] | JsonObject, depth: number, census: Census): void {
  if (depth >= maxJsonDepth) {
    // Beneath it nothing is counted, so this comes before all else.
    census.problem = "JSON_TOO_DEEP";
  } else if (Array.isArray(value)) {
    for (const item of value) survey(item, depth + 1, census);
  } else {
    for (const member of Object.keys(value)) {
      census.members++;
      surveyString(member, census);
      survey(value[member] as JsonValue, depth + 1, census);
    }
  }
}

function survey(value: JsonValue, depth: number, census: Census): void {
  if (typeof value === "string") surveyString(value, census);
  else if (typeof value === "number") surveyNumber(value, census);
  else if (typeof value === "object" && value !== null) surveyNested(value, depth, census);
}

function parse(text: string): JsonReading {
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch {
    return { problem: "JSON_MALFORMED" };
  }
}

/**
 * Reads one JSON text strictly.
 *
 * The runtime's parser keeps only the last of several members with one name, whatever their spelling. So the
 * text has a duplicate exactly when it writes more members than the parsed value holds.
 *
 * @param input the text, or its bytes in UTF-8
 * @returns the value, or the reason for refusing it; it never throws
 */
export function readStrictJson(input: string | Uint8Array): JsonReading {
  const text = typeof input === "string" ? input : decodeUtf8(input);
  if (text === null) return { problem: "INPUT_NOT_UTF8" };
  const reading = parse(text);
  if ("problem" in reading) return reading;
  const checkStrings = surrogateEscape.test(text) || !text.isWellFormed();
  const census: Census = { members: 0, checkStrings, problem: null };
  survey(reading.value, 0, census);
  const { members, problem } = census;
  if (problem === "JSON_TOO_DEEP") return { problem };
  if (members !== countWrittenMembers(text)) return { problem: "JSON_DUPLICATE_MEMBER" };
  return problem === null ? reading : { problem };
}
