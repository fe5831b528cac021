/**
 * Reads strict JSON (RFC 8259 narrowed by I-JSON, RFC 7493): a text that two parsers could read differently is refused.
 * Refused are duplicate members (also in another spelling, `"a"` and `"\u0061"`), trailing bytes, bytes that are not
 * UTF-8, lone surrogates, numbers that a double cannot hold, nesting beyond `maxJsonDepth`, and too many values.
 */

import { Refusal, type RefusalReason, refuse } from "./reasons.ts";

/** A parsed JSON value. Its members are own properties, `__proto__` included. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [member: string]: JsonValue };

export type JsonErrorCode = Extract<RefusalReason, `JSON_${string}` | "INPUT_NOT_UTF8" | "INPUT_TOO_LARGE">;

/** The deepest nesting that is read. An envelope has about six levels, and a profile may add a few. */
export const maxJsonDepth = 32;
/** The most values of a text, about as many as 40,000 envelopes have. A value of 2 characters can take 40 bytes. */
export const maxJsonValues = 2_000_000;

/** The longest text (in characters) that cannot exhaust the memory, whatever its content. */
const harmlessLength = 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Matches an escaped surrogate. Only the strings of a text with a match, or of an ill-formed text, are checked. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

type Census = { members: number; readonly checkStrings: boolean; problem: JsonErrorCode | null };

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Decodes UTF-8; null for other bytes. A byte order mark is kept, so the JSON parser refuses it. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Whether the quote at `index` is escaped: it follows an odd number of backslashes. */
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
 * Counts the members (strings before a colon) of a text, and refuses too deep or too many values before parsing: sixty
 * megabytes of brackets would take gigabytes of memory. The count is wrong for a text that the parser refuses afterwards.
 */
function outlineJson(text: string): number | Refusal {
  let [members, values, depth] = [0, 0, 0];
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at++);
    if (code === 0x22) {
      at = endOfString(text, at) + 1;
      if (at === 0) return refuse("JSON_MALFORMED");
      while (text.charCodeAt(at) <= 0x20) at++;
      if (text.charCodeAt(at) === 0x3a) members++;
    } else if (code === 0x2c) {
      if (++values > maxJsonValues) return refuse("INPUT_TOO_LARGE");
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxJsonDepth) return refuse("JSON_TOO_DEEP");
      if (++values > maxJsonValues) return refuse("INPUT_TOO_LARGE");
    } else if (code === 0x5d || code === 0x7d) {
      depth--;
    }
  }
  return members;
}

function surveyString(text: string, census: Census): void {
  if (census.checkStrings && !text.isWellFormed()) census.problem ??= "JSON_LONE_SURROGATE";
}

function surveyNested(value: JsonValue[] | JsonObject, depth: number, census: Census): void {
  if (depth >= maxJsonDepth) {
    // Deeper members are not counted and would be reported as duplicates, so `JSON_TOO_DEEP` has priority.
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
  else if (typeof value === "number") {
    // A number of 2^53 or more, or infinity, can differ from the number in the text.
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) census.problem ??= "JSON_NUMBER_RANGE";
  } else if (typeof value === "object" && value !== null) surveyNested(value, depth, census);
}

function parse(text: string): JsonValue | Refusal {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return refuse("JSON_MALFORMED");
  }
}

/**
 * Reads one JSON text strictly. The runtime's parser keeps only the last of several members with one name, so a text has a
 * duplicate exactly when it writes more members than the parsed value holds.
 * @param input the text, or its bytes in UTF-8
 * @returns the value, or a refusal with a {@link JsonErrorCode}; it never throws
 */
export function readStrictJson(input: string | Uint8Array): JsonValue | Refusal {
  const text = typeof input === "string" ? input : decodeUtf8(input);
  if (text === null) return refuse("INPUT_NOT_UTF8");
  const membersWritten = outlineJson(text);
  if (membersWritten instanceof Refusal && text.length > harmlessLength) return membersWritten;
  const value = parse(text);
  if (value instanceof Refusal) return value;
  const checkStrings = surrogateEscape.test(text) || !text.isWellFormed();
  const census: Census = { members: 0, checkStrings, problem: null };
  survey(value, 0, census);
  const { members, problem } = census;
  if (problem === "JSON_TOO_DEEP") return refuse(problem);
  if (members !== membersWritten) return refuse("JSON_DUPLICATE_MEMBER");
  return problem === null ? value : refuse(problem);
}

/** Whether a text that `readStrictJson` refused is JSON all the same, and can be sliced into its parts. */
export function isJsonThoughRefused(text: string, { reason }: Refusal): boolean {
  if (reason === "JSON_TOO_DEEP") return text.length <= harmlessLength;
  return reason !== "JSON_MALFORMED" && reason !== "INPUT_NOT_UTF8" && reason !== "INPUT_TOO_LARGE";
}

/** Slices a text, known to be a JSON array or object, into the text of each element or `"name": value` pair. */
export function sliceJsonParts(text: string): string[] {
  const parts: string[] = [];
  let [depth, start, index] = [0, 0, 0];
  while (index < text.length) {
    const character = text[index];
    if (character === '"') {
      index = endOfString(text, index + 1) + 1;
      continue;
    }
    if (character === "[" || character === "{") {
      depth++;
      if (depth === 1) start = index + 1;
    }
    const isEnd = (character === "]" || character === "}") && depth-- === 1;
    if (isEnd || (character === "," && depth === 1)) {
      parts.push(text.slice(start, index).trim());
      start = index + 1;
    }
    index++;
  }
  return parts.filter((part) => part !== "");
}

/** Slices a text, known to be a JSON object, into its members as written, duplicates included. */
export function sliceJsonMembers(text: string): { name: string; value: string }[] {
  return sliceJsonParts(text).map((part) => {
    const end = endOfString(part, 1) + 1;
    return {
      name: JSON.parse(part.slice(0, end)) as string,
      value: part.slice(part.indexOf(":", end) + 1).trim(),
    };
  });
}
