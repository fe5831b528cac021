/**
 * Tells what is no envelope at all (an error answer, a web page, the wrong file) from an envelope that was damaged or
 * forged. The first says nothing about anybody's honesty and is undecidable; the second is refused.
 *
 * Whatever holds a signature, or a member that only envelopes have, at any depth, claims to be an envelope and is
 * judged as one. A text that mail or an editor has changed is undecidable too: mail-damage.ts names it.
 */

import { type Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue, maxJsonDepth } from "./strict-json.ts";

const ownMembers = ["signature", "signatureKid", "result", "verificationId"];

/**
 * `eyJ` is how `{"` begins in base64url, as the head and the body of a JWS do. Every pattern here takes time in
 * proportion to the text, whatever it holds.
 */
const signatureStart = /^\s*eyJ/;
const signaturePart = /eyJ[\w+/=-]{8}/;
const dottedParts = /^\s*[\w-]+(?:\.[\w-]*){2,}\s*$/;
/** Also a name written with escapes, which only a JSON reader could tell. */
const memberMark = new RegExp(`"(?:${ownMembers.join("|")})"\\s*:|\\\\u00[4-7]`, "i");

function claimsAsText(given: string): boolean {
  // A line of UTF-16 is UTF-8 too, with every other character a NUL.
  const text = given.includes("\0") ? given.replaceAll("\0", "") : given;
  if (signatureStart.test(text) || dottedParts.test(text) || memberMark.test(text)) return true;
  // The parts of a JWS are set apart by dots; the numbers of a key set have none.
  return text.includes(".") && signaturePart.test(text);
}

/** What lies deeper than the strict reader reads is not looked into, and gets no milder verdict. */
function claims(value: JsonValue, depth = 0): boolean {
  if (typeof value === "string") return claimsAsText(value);
  if (typeof value !== "object" || value === null) return false;
  const isOwn = isJsonObject(value) && ownMembers.some((member) => Object.hasOwn(value, member));
  if (isOwn || depth > maxJsonDepth) return true;
  return Object.values(value).some((inner) => claims(inner, depth + 1));
}

function no(what: string): Refusal {
  return refuse("NOT_AN_ENVELOPE", `This is ${what}, not an envelope.`);
}

/** What the service means by a status (contract C24), in our words: the message in the file is anybody's. */
const statusMeanings: Readonly<Record<number, string>> = {
  400: "the request was malformed",
  401: "there was no valid credential",
  403: "the credential did not allow it",
  404: "there is nothing at that address",
  409: "the request conflicts with an earlier one",
  413: "the request was too large",
  429: "too many requests",
};

function errorAnswer({ statusCode, message }: JsonObject): string | null {
  if (typeof statusCode !== "number" || typeof message !== "string") return null;
  if (!Number.isInteger(statusCode) || statusCode < 400 || statusCode > 599) return null;
  const meaning = statusMeanings[statusCode] ?? (statusCode < 500 ? "it was refused" : "the service failed");
  return `an error answer (${statusCode}: ${meaning})`;
}

/** The other documents of the contract, by the members that only they have. */
const documents: readonly (readonly [string, readonly string[]])[] = [
  ["a key set (JWKS)", ["keys"]],
  ["the health document", ["service", "activeKid"]],
  ["a webhook delivery", ["eventId", "eventType"]],
  ["an answer of the public lookup, which is not signed", ["found", "verifiedAt"]],
];

function describeObject(value: JsonObject): string {
  const has = (members: readonly string[]) => members.every((member) => Object.hasOwn(value, member));
  return errorAnswer(value) ?? documents.find(([, members]) => has(members))?.[0] ?? "some other JSON";
}

function describeText(text: string): string {
  if (!/\S/.test(text)) return "an empty text";
  return /^\s*</.test(text) ? "a web page" : "a text that is neither JSON nor a signature";
}

/**
 * Names what is no envelope for what it is.
 *
 * @param value a text that is no JSON, or what strict JSON gave
 * @returns the refusal `NOT_AN_ENVELOPE`, which repeats nothing of the value; null when it claims to be an envelope
 */
export function findNoEnvelope(value: JsonValue): Refusal | null {
  if (claims(value)) return null;
  if (typeof value === "string") return no(describeText(value));
  return no(isJsonObject(value) ? describeObject(value) : "some other JSON");
}

/** PDF, PNG, JPEG. "latin1" means windows-1252 to a decoder, where 0x89 is a per mille sign; to Node 20 it is latin1. */
const pictureStart = /^.{0,1024}%PDF-|^[\x89\u2030]PNG|^\xff\xd8\xff/s;

/**
 * The same for bytes that are not UTF-8: pictures, archives, office documents.
 *
 * @param bytes a file or a line of it
 */
export function findNoEnvelopeInBytes(bytes: Uint8Array): Refusal | null {
  const text = new TextDecoder("latin1").decode(bytes).replaceAll("\0", "");
  if (/^\s*[[{"]/.test(text) || claims(text)) return null;
  return no(pictureStart.test(text) ? "a picture or a PDF" : "a binary file");
}
