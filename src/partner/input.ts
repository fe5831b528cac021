/**
 * Finds the envelopes in a file that a partner has kept: an envelope, a bare JWS, a batch response, a JSON array, or NDJSON
 * of these. A malformed part is refused alone, and the other parts are still found.
 */

import {
  decodeBytesOrText,
  explainByDamage,
  findDamagedUtf16,
  findDamageInBytes,
  findMisreadUtf16,
  findTextDamage,
} from "./file-text.ts";
import { Refusal, refuse } from "./reasons.ts";
import {
  decodeUtf8,
  isJsonObject,
  isJsonThoughRefused,
  type JsonObject,
  type JsonValue,
  maxJsonDepth,
  readStrictJson,
  sliceJsonMembers,
  sliceJsonParts,
} from "./strict-json.ts";

// An input that does not claim to be an envelope, such as a web page, gets the verdict `undecidable`, because it shows no
// forgery. An input claims to be an envelope if it looks like a JWS, or has one of these members at any depth.

const ownMembers = ["signature", "signatureKid", "result", "verificationId"];

// The header and the payload of a JWS begin with `{"`, which is `eyJ` in base64url. Every pattern here takes linear time.
const signatureStart = /^\s*eyJ/;
const signaturePart = /eyJ[\w+/=-]{8}/;
const dottedParts = /^\s*[\w-]+(?:\.[\w-]*){2,}\s*$/;
/** Matches a member of `ownMembers` in JSON text. A name can be written with escapes, so an escaped letter matches too. */
const memberMark = new RegExp(`"(?:${ownMembers.join("|")})"\\s*:|\\\\u00[4-7]`, "i");

function claimsEnvelopeAsText(given: string): boolean {
  // ASCII text in UTF-16 is also valid UTF-8, with a NUL as every other character.
  const text = given.includes("\0") ? given.replaceAll("\0", "") : given;
  if (signatureStart.test(text) || dottedParts.test(text) || memberMark.test(text)) return true;
  // Dots separate the parts of a JWS. The numbers of a key set are base64url too, but have no dots.
  return text.includes(".") && signaturePart.test(text);
}

/** Whether a value claims to be an envelope. A value nested too deeply counts as one: nesting must not hide a forgery. */
function claimsEnvelope(value: JsonValue, depth = 0): boolean {
  if (typeof value === "string") return claimsEnvelopeAsText(value);
  if (typeof value !== "object" || value === null) return false;
  const isOwn = isJsonObject(value) && ownMembers.some((member) => Object.hasOwn(value, member));
  if (isOwn || depth > maxJsonDepth) return true;
  return Object.values(value).some((inner) => claimsEnvelope(inner, depth + 1));
}

function notEnvelope(what: string): Refusal {
  return refuse("NOT_AN_ENVELOPE", `This is ${what}, not an envelope.`);
}

/** The meaning of each HTTP status (contract C24), shown in place of the file's message, which anybody can forge. */
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

/** The contract's documents that are not envelopes, each recognised by members that no other document has. */
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
 * Refuses an input that does not claim to be an envelope (`NOT_AN_ENVELOPE`). The detail repeats nothing of the input.
 * @param value a text that is not JSON, or a value of `readStrictJson`
 */
export function refuseNonEnvelope(value: JsonValue): Refusal | null {
  if (claimsEnvelope(value)) return null;
  if (typeof value === "string") return notEnvelope(describeText(value));
  return notEnvelope(isJsonObject(value) ? describeObject(value) : "some other JSON");
}

/** Matches the start of a PDF, PNG or JPEG. In "latin1", 0x89 is a per mille sign; Node 20 decodes 0x89 as U+0089. */
const pictureStart = /^.{0,1024}%PDF-|^[\x89\u2030]PNG|^\xff\xd8\xff/s;

/** Refuses bytes that are not UTF-8, such as a picture; null if they begin as JSON or claim to be an envelope. */
function refuseNonEnvelopeBytes(bytes: Uint8Array): Refusal | null {
  const text = new TextDecoder("latin1").decode(bytes).replaceAll("\0", "");
  if (/^\s*[[{"]/.test(text) || claimsEnvelope(text)) return null;
  return notEnvelope(pictureStart.test(text) ? "a picture or a PDF" : "a binary file");
}

/** An envelope's position: `line`, from 1, in NDJSON; `index`, from 0, in an array or batch; null elsewhere. */
export type EnvelopePosition = { readonly line: number | null; readonly index: number | null };

/** One value for `verifyEnvelope`, or the refusal of a malformed part of the input. */
export type EnvelopeItem =
  | { readonly place: EnvelopePosition; readonly value: JsonValue }
  | { readonly place: EnvelopePosition; readonly refusal: Refusal };

const nowhere: EnvelopePosition = { line: null, index: null };

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}

function isJsonText(text: string): boolean {
  return /^[\t\n\r ]*[[{"]/.test(text);
}

function* expandList(values: readonly JsonValue[], line: number | null): Generator<EnvelopeItem> {
  for (const [index, value] of values.entries()) yield { place: { line, index }, value };
}

/** Yields the envelopes of a batch, after a refusal if `count` shows that envelopes were added or removed. */
function* expandBatch(batch: JsonObject, place: EnvelopePosition): Generator<EnvelopeItem> {
  if (!Array.isArray(batch.results)) return yield { place, refusal: refuse("BATCH_MALFORMED") };
  if (batch.count !== batch.results.length) yield { place, refusal: refuse("BATCH_COUNT_MISMATCH") };
  yield* expandList(batch.results, place.line);
}

function* expand(value: JsonValue, place: EnvelopePosition): Generator<EnvelopeItem> {
  // A batch response has `results` and no signature of its own (contract C8).
  const isBatch = (members: JsonObject) =>
    Object.hasOwn(members, "results") && !Object.hasOwn(members, "signature");
  if (Array.isArray(value)) yield* expandList(value, place.line);
  else if (isJsonObject(value) && isBatch(value)) yield* expandBatch(value, place);
  else yield { place, value };
}

function* readSlices(slices: readonly string[], line: number | null): Generator<EnvelopeItem> {
  for (const [index, slice] of slices.entries()) {
    const reading = readStrictJson(slice);
    const place = { line, index };
    yield reading instanceof Refusal ? { place, refusal: reading } : { place, value: reading };
  }
}

/** Slices an array, or a batch in which only `results` was refused, into its envelopes' texts; null for other texts. */
function findSlices(text: string): string[] | null {
  if (text.startsWith("[")) return sliceJsonParts(text);
  if (!text.startsWith("{")) return null;
  const members = sliceJsonMembers(text);
  const results = members.find(({ name }) => name === "results");
  if (results === undefined || !results.value.startsWith("[")) return null;
  const names = new Set(members.map(({ name }) => name));
  if (names.size < members.length || names.has("signature")) return null;
  const slices = sliceJsonParts(results.value);
  const others = members.filter((member) => member !== results);
  const isSound = others.every(({ value }) => !(readStrictJson(value) instanceof Refusal));
  const count = others.find(({ name }) => name === "count")?.value;
  return isSound && Number(count) === slices.length ? slices : null;
}

function* readJson(text: string, place: EnvelopePosition): Generator<EnvelopeItem> {
  const reading = readStrictJson(text);
  if (!(reading instanceof Refusal)) return yield* expand(reading, place);
  const slices = isJsonThoughRefused(text, reading) ? findSlices(text.trim()) : null;
  if (slices !== null) yield* readSlices(slices, place.line);
  else yield { place, refusal: explainByDamage(reading, text) };
}

/**
 * Reads one record: a JSON text or a bare JWS. Only the line end is removed: the verifier refuses other white space.
 * @param line the line number, from 1; null if the record is the whole input
 */
function* readRecord(text: string, line: number | null): Generator<EnvelopeItem> {
  if (isBlank(text)) return;
  const place = line === null ? nowhere : { line, index: null };
  if (isJsonText(text)) yield* readJson(text, place);
  else yield { place, value: text.replace(/[\r\n]+$/, "") };
}

function* splitLines(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    yield text.slice(start, end === -1 ? text.length : end);
    start = end === -1 ? text.length : end + 1;
  }
}

/** A line that may be a piece of an envelope that mail has folded; `item` is the result of reading the line alone. */
type Piece = { readonly line: number; readonly record: string; readonly item: EnvelopeItem };

/** The most lines that are joined to find a folded envelope. Mail folds no envelope into more lines. */
const maxPieces = 1000;
const wholeJws = /^\s*[\w-]+\.[\w-]+\.[\w-]*\s*$/;

function isPiece(items: readonly EnvelopeItem[]): boolean {
  const [item, second] = items;
  if (item === undefined || second !== undefined) return false;
  return "refusal" in item || (typeof item.value === "string" && !wholeJws.test(item.value));
}

/** Yields one refusal if the lines together are an envelope that mail has folded; else yields the item of each line. */
function* joinPieces(pieces: readonly Piece[]): Generator<EnvelopeItem> {
  const [first] = pieces;
  const damage = pieces.length < 2 ? null : findTextDamage(pieces.map(({ record }) => record).join("\n"));
  if (first === undefined || damage === null) yield* pieces.map(({ item }) => item);
  else yield { place: { line: first.line, index: null }, refusal: damage };
}

function* readLines(text: string): Generator<EnvelopeItem> {
  let line = 0;
  let pieces: Piece[] = [];
  for (const record of splitLines(text)) {
    const items = [...readRecord(record, ++line)];
    const [item] = items;
    if (item !== undefined && isPiece(items) && pieces.length < maxPieces) {
      pieces.push({ line, record, item });
      continue;
    }
    yield* joinPieces(pieces);
    pieces = [];
    yield* items;
  }
  yield* joinPieces(pieces);
}

function hasLine(text: string, isMatch: (line: string) => boolean): boolean {
  for (const line of splitLines(text)) if (isMatch(line)) return true;
  return false;
}

/** Refuses a text that is one folded or quoted envelope; null if a line is a whole JWS or JSON text. */
function refuseFoldedEnvelope(text: string): Refusal | null {
  const isWhole = (line: string) => wholeJws.test(line) || (isJsonText(line) && isJsonOrJwsLine(line));
  return hasLine(text, isWhole) ? null : findTextDamage(text);
}

/**
 * Reads whole lines of bytes. Each line is decoded alone, so an invalid byte makes only its own line unreadable.
 * @param counter the number of lines before `bytes`; each line that is read raises `counter.line` by one
 */
export function* readLineBlock(bytes: Uint8Array, counter: { line: number }): Generator<EnvelopeItem> {
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(0x0a, start);
    const end = found === -1 ? bytes.length : found;
    const lineBytes = bytes.subarray(start, end);
    const record = decodeUtf8(lineBytes);
    counter.line++;
    const notUtf8 = () =>
      refuseNonEnvelopeBytes(lineBytes) ?? findDamageInBytes(lineBytes) ?? refuse("INPUT_NOT_UTF8");
    if (record !== null) yield* readRecord(record, counter.line);
    else yield { place: { line: counter.line, index: null }, refusal: notUtf8() };
    start = end + 1;
  }
}

/** Whether a line is a whole JSON text or JWS. A line of an indented JSON document is neither. */
export function isJsonOrJwsLine(line: string): boolean {
  if (/^[A-Za-z0-9_-]+\.[^\s"]*$/.test(line.trimEnd())) return true;
  return /^\s*[[{]/.test(line) && !(readStrictJson(line) instanceof Refusal);
}

/** Matches the first line that is not blank, if another such line follows. The match takes linear time. */
const firstOfLines = /^\s*(\S[^\n]*)\n\s*\S/;

/** Whether to read a text line by line. If the first line is unfinished JSON, the whole text is tried as JSON first. */
function isReadByLine(text: string): boolean {
  const [, first] = firstOfLines.exec(text) ?? [];
  if (first === undefined) return false;
  if (!/^[[{"]/.test(first) || isJsonOrJwsLine(first)) return true;
  const reading = readStrictJson(text);
  const isJson = !(reading instanceof Refusal) || isJsonThoughRefused(text, reading);
  return !isJson && hasLine(text, isJsonOrJwsLine);
}

/**
 * Finds every envelope in a text, which may be an envelope, a bare JWS, a batch response, a JSON array, or NDJSON of these.
 * @param input the text, or its bytes in UTF-8 or UTF-16; a byte order mark is skipped
 * @returns the items in order, read lazily; no item for a blank input, an empty array or an empty batch
 * @example
 * ```ts
 * for (const item of readEnvelopes(await file.text())) {
 *   if ("refusal" in item) console.log(item.place, item.refusal.reason);
 *   else console.log(item.place, (await verifyEnvelope(item.value, options)).verdict);
 * }
 * ```
 */
export function* readEnvelopes(input: string | Uint8Array): Generator<EnvelopeItem> {
  const text = decodeBytesOrText(input);
  if (text === null) {
    const bytes = input as Uint8Array;
    const refusal = refuseNonEnvelopeBytes(bytes) ?? findDamagedUtf16(bytes);
    if (refusal !== null) return yield { place: nowhere, refusal };
    return yield* readLineBlock(bytes, { line: 0 });
  }
  if (isBlank(text)) return;
  // A web page, or a text in a wrong encoding, is refused as a whole, not line by line.
  const refusal = findMisreadUtf16(text) ?? (isJsonText(text) ? null : refuseNonEnvelope(text));
  if (refusal !== null) return yield { place: nowhere, refusal };
  if (!isReadByLine(text)) return yield* readRecord(text, null);
  const folded = refuseFoldedEnvelope(text);
  if (folded === null) yield* readLines(text);
  else yield { place: nowhere, refusal: folded };
}
