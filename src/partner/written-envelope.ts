/**
 * Takes an envelope apart that is written exactly as the service writes it: seven members in the contract's
 * order, no white space, plain texts. There the result needs to be parsed once and not three times, because
 * the same characters stand in the envelope and in what is signed.
 *
 * This is a short cut and never a judge: it gives null for whatever is not so, and the strict reader then
 * decides. What it accepts, the strict reader accepts with the same values; test/partner compares the two over
 * thousands of mutated envelopes.
 */

import type { OuterMembers } from "./outer-members.ts";
import { Refusal } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue, maxJsonDepth, outlineJson } from "./strict-json.ts";

/** An envelope in the service's own writing. */
export type WrittenEnvelope = {
  readonly outer: OuterMembers;
  /** The result as it stands in the envelope, and as `JSON.stringify` writes it. */
  readonly resultText: string;
};

const opening = '{"verificationId":"';
const verifiedAt = '","verifiedAt":"';
const issuer = '","issuer":"';
const audience = '","audience":"';
const result = '","result":{';
const signature = ',"signature":"';
const signatureKid = '","signatureKid":"';
const closing = '"}';

/** Anything but printable ASCII without quote and backslash, which a JSON string holds as it is. */
const unusual = /[^ !#-[\]-~]/;

/** Texts that every envelope of a run has in common are looked at once. */
function createPlainTest(): (text: string) => boolean {
  let last = "";
  return (text) => {
    if (text === last) return true;
    if (unusual.test(text)) return false;
    last = text;
    return true;
  };
}

const isPlainIssuer = createPlainTest();
const isPlainAudience = createPlainTest();
const isPlainKid = createPlainTest();
const isPlainHeader = createPlainTest();

/**
 * The index of the mark that must follow the plain text beginning at `start`; -1 when another one does.
 * A quote ends a JSON string unless it is escaped, and plain texts hold no backslash.
 */
function endOfText(text: string, start: number, mark: string): number {
  const end = text.indexOf('"', start);
  return end !== -1 && text.startsWith(mark, end) ? end : -1;
}

/** Whether every number is exact and nothing lies deeper than the strict reader allows. */
function isModest(value: JsonValue, depth: number): boolean {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (typeof value !== "object" || value === null) return true;
  if (depth >= maxJsonDepth) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isModest(item, depth + 1)) return false;
    return true;
  }
  // A loop over the names alone makes no list of them; JSON.parse gives every member as an own one.
  for (const member in value) if (!isModest(value[member] as JsonValue, depth + 1)) return false;
  return true;
}

/**
 * Parses a result that is written as `JSON.stringify` would write it. Two members of one name, a number that
 * lost digits, half a character and white space would all be written differently; with escapes the strict
 * reader is asked.
 */
function parseResult(text: string): JsonObject | null {
  if (text.includes("\\")) return null;
  if (text.length > usualResultLength && outlineJson(text) instanceof Refusal) return null;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
  // The result is a member of the envelope, hence one level deep.
  return isJsonObject(value) && isModest(value, 1) && JSON.stringify(value) === text ? value : null;
}

/** Up to here no nesting can take much memory, and a profile fits in. */
const usualResultLength = 16 * 1024;

/**
 * Cuts an envelope.
 *
 * @param text one envelope; a carriage return may follow
 * @returns its members, or null when it is not written as the service writes it
 */
export function cutWrittenEnvelope(text: string): WrittenEnvelope | null {
  if (!text.startsWith(opening)) return null;
  const last = text.endsWith("\r") ? text.length - 1 : text.length;
  const idStart = opening.length;
  const idEnd = endOfText(text, idStart, verifiedAt);
  if (idEnd === -1) return null;
  const timeStart = idEnd + verifiedAt.length;
  const timeEnd = endOfText(text, timeStart, issuer);
  if (timeEnd === -1) return null;
  const issuerStart = timeEnd + issuer.length;
  const issuerEnd = endOfText(text, issuerStart, audience);
  if (issuerEnd === -1) return null;
  const audienceStart = issuerEnd + audience.length;
  const audienceEnd = endOfText(text, audienceStart, result);
  if (audienceEnd === -1) return null;
  // Inside a string the quotes would be escaped: this mark cannot stand there, but it may end a nested object,
  // and then what lies before it is no JSON.
  const resultStart = audienceEnd + result.length - 1;
  const resultEnd = text.indexOf(signature, resultStart);
  if (resultEnd === -1) return null;
  const signatureStart = resultEnd + signature.length;
  const signatureEnd = endOfText(text, signatureStart, signatureKid);
  if (signatureEnd === -1) return null;
  const kidStart = signatureEnd + signatureKid.length;
  const kidEnd = endOfText(text, kidStart, closing);
  // What ends before the text does has something behind it.
  if (kidEnd === -1 || kidEnd + closing.length !== last) return null;

  const verificationId = text.slice(idStart, idEnd);
  const time = text.slice(timeStart, timeEnd);
  if (unusual.test(verificationId) || unusual.test(time)) return null;
  const [iss, aud] = [text.slice(issuerStart, issuerEnd), text.slice(audienceStart, audienceEnd)];
  const kid = text.slice(kidStart, kidEnd);
  const jws = text.slice(signatureStart, signatureEnd);
  // The rest of the signature is plain when it is base64url, which whoever decodes it finds out.
  const header = jws.slice(0, jws.indexOf("."));
  if (!isPlainIssuer(iss) || !isPlainAudience(aud) || !isPlainKid(kid) || !isPlainHeader(header)) return null;
  const resultText = text.slice(resultStart, resultEnd);
  const value = parseResult(resultText);
  if (value === null) return null;
  return {
    outer: {
      verificationId,
      verifiedAt: time,
      issuer: iss,
      audience: aud,
      result: value,
      signature: jws,
      signatureKid: kid,
    },
    resultText,
  };
}

/** The time as the service writes it: whole seconds, no sign, no leading zero. */
const wholeSeconds = /^(?:0|[1-9]\d{0,14})$/;

/**
 * Reads the signed claims when they are written as the service writes them and say what the envelope says.
 *
 * @param payload the signed text
 * @param written the envelope around it
 * @returns the claims, whose `result` is the very value of the envelope; null when anything differs
 */
export function readWrittenPayload(payload: string, written: WrittenEnvelope): JsonObject | null {
  const { outer, resultText } = written;
  const head = `{"iss":"${outer.issuer}","aud":"${outer.audience}","sub":"${outer.verificationId}","iat":`;
  const tail = `,"result":${resultText}}`;
  if (!payload.startsWith(head) || !payload.endsWith(tail)) return null;
  const time = payload.slice(head.length, payload.length - tail.length);
  if (!wholeSeconds.test(time)) return null;
  return {
    iss: outer.issuer,
    aud: outer.audience,
    sub: outer.verificationId,
    iat: Number(time),
    result: outer.result,
  };
}
