/**
 * Finds the envelopes in whatever a partner has kept: an envelope, a bare JWS, a batch response, a JSON
 * array, or NDJSON of any of these. One bad part never hides the others.
 */

import { findDamagedUtf16, findMisreadUtf16, textOf } from "./file-text.ts";
import { damageOr, findDamage, findDamageInBytes } from "./mail-damage.ts";
import { findNoEnvelope, findNoEnvelopeInBytes } from "./not-envelope.ts";
import { Refusal, refuse } from "./reasons.ts";
import {
  decodeUtf8,
  isJsonObject,
  isParsed,
  type JsonObject,
  type JsonValue,
  readStrictJson,
  sliceJson,
  sliceMembers,
} from "./strict-json.ts";

/** Where in the input an envelope stood: `line` from 1 in NDJSON, `index` from 0 in an array or batch. */
export type Place = { readonly line: number | null; readonly index: number | null };

/** One candidate for `verifyEnvelope`, or the refusal of a part that is none. */
export type EnvelopeItem =
  | { readonly place: Place; readonly value: JsonValue }
  | { readonly place: Place; readonly refusal: Refusal };

const nowhere: Place = { line: null, index: null };

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}

/** A batch response has `results` and no signature of its own (contract C8). */
function isBatch(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, "results") && !Object.hasOwn(value, "signature");
}

function isJsonText(text: string): boolean {
  return /^[\t\n\r ]*[[{"]/.test(text);
}

function* expandList(values: readonly JsonValue[], line: number | null): Generator<EnvelopeItem> {
  for (const [index, value] of values.entries()) yield { place: { line, index }, value };
}

/** A wrong count means that envelopes were added or taken away; those that are there are judged as well. */
function* expandBatch(batch: JsonObject, place: Place): Generator<EnvelopeItem> {
  if (!Array.isArray(batch.results)) return yield { place, refusal: refuse("BATCH_MALFORMED") };
  if (batch.count !== batch.results.length) yield { place, refusal: refuse("BATCH_COUNT_MISMATCH") };
  yield* expandList(batch.results, place.line);
}

function* expand(value: JsonValue, place: Place): Generator<EnvelopeItem> {
  if (Array.isArray(value)) yield* expandList(value, place.line);
  else if (isBatch(value)) yield* expandBatch(value, place);
  else yield { place, value };
}

function* readSlices(slices: readonly string[], line: number | null): Generator<EnvelopeItem> {
  for (const [index, slice] of slices.entries()) {
    const reading = readStrictJson(slice);
    const place = { line, index };
    yield reading instanceof Refusal ? { place, refusal: reading } : { place, value: reading };
  }
}

/**
 * The slices to judge one by one, when the parts can be told apart without doubt: an array, or a batch
 * whose own members are unique and in order.
 */
function findSlices(text: string): string[] | null {
  if (text.startsWith("[")) return sliceJson(text);
  if (!text.startsWith("{")) return null;
  const members = sliceMembers(text);
  const results = members.find(({ name }) => name === "results");
  if (results === undefined || !results.value.startsWith("[")) return null;
  const names = new Set(members.map(({ name }) => name));
  if (names.size < members.length || names.has("signature")) return null;
  const slices = sliceJson(results.value);
  const others = members.filter((member) => member !== results);
  const isSound = others.every(({ value }) => !(readStrictJson(value) instanceof Refusal));
  const count = others.find(({ name }) => name === "count")?.value;
  return isSound && Number(count) === slices.length ? slices : null;
}

function* readJson(text: string, place: Place): Generator<EnvelopeItem> {
  const reading = readStrictJson(text);
  if (!(reading instanceof Refusal)) return yield* expand(reading, place);
  const slices = isParsed(text, reading) ? findSlices(text.trim()) : null;
  if (slices !== null) yield* readSlices(slices, place.line);
  else yield { place, refusal: damageOr(reading, text) };
}

/**
 * Reads one record: a JSON text or a bare JWS. White space around a JWS is not canonical, so it stays and
 * is refused later; only the end of the line is taken off.
 *
 * @param text the record, for example one line of NDJSON
 * @param line its number from 1, or null when it is the whole input
 */
export function* readRecord(text: string, line: number | null): Generator<EnvelopeItem> {
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

/** A line that may be a piece of an envelope, with what it gives when it is read alone. */
type Piece = { readonly line: number; readonly record: string; readonly item: EnvelopeItem };

/** More lines than mail makes of one envelope. */
const maxPieces = 1000;
const wholeJws = /^\s*[\w-]+\.[\w-]+\.[\w-]*\s*$/;

function isPiece(items: readonly EnvelopeItem[]): boolean {
  const [item, second] = items;
  if (item === undefined || second !== undefined) return false;
  return "refusal" in item || (typeof item.value === "string" && !wholeJws.test(item.value));
}

/** Lines that mail made of one envelope are one item, and not as many as there are lines. */
function* joinPieces(pieces: readonly Piece[]): Generator<EnvelopeItem> {
  const [first] = pieces;
  const damage = pieces.length < 2 ? null : findDamage(pieces.map(({ record }) => record).join("\n"));
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

/** Whether a line is an envelope, or a list of them, by itself. */
function isWholeLine(line: string): boolean {
  return wholeJws.test(line) || (isJsonText(line) && isRecord(line));
}

/** One envelope that was folded or quoted is one item, however many lines it has. */
function findFolded(text: string): Refusal | null {
  for (const line of splitLines(text)) if (isWholeLine(line)) return null;
  return findDamage(text);
}

function notUtf8(bytes: Uint8Array): Refusal {
  return findNoEnvelopeInBytes(bytes) ?? findDamageInBytes(bytes) ?? refuse("INPUT_NOT_UTF8");
}

/** Counts lines over several blocks of one input. */
type LineCounter = { line: number };

/**
 * Reads the records in whole lines of bytes. Each line is decoded by itself, so that one invalid byte costs
 * one line and not the file.
 *
 * @param bytes one or more lines
 * @param counter the number of lines before these; moved on with every line
 */
export function* readLineBlock(bytes: Uint8Array, counter: LineCounter): Generator<EnvelopeItem> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start);
    const record = decodeUtf8(bytes.subarray(start, end === -1 ? bytes.length : end));
    counter.line++;
    if (record === null)
      yield {
        place: { line: counter.line, index: null },
        refusal: notUtf8(bytes.subarray(start, end === -1 ? bytes.length : end)),
      };
    else yield* readRecord(record, counter.line);
    start = end === -1 ? bytes.length : end + 1;
  }
}

/**
 * Whether a line is a record by itself, which no line of an indented document is.
 *
 * @param line the text of one line
 */
export function isRecord(line: string): boolean {
  if (/^[A-Za-z0-9_-]+\.[^\s"]*$/.test(line.trimEnd())) return true;
  return /^\s*[[{]/.test(line) && !(readStrictJson(line) instanceof Refusal);
}

/** The first two lines that are not blank. */
function firstLines(text: string): string[] {
  const found: string[] = [];
  for (const line of splitLines(text)) {
    if (!isBlank(line)) found.push(line);
    if (found.length === 2) break;
  }
  return found;
}

function hasRecordLine(text: string): boolean {
  for (const line of splitLines(text)) if (isRecord(line)) return true;
  return false;
}

/**
 * Whether the text is to be read line by line. The first line mostly tells; when it is the bad one, the
 * text as a whole is tried, and then any other line.
 */
function isLines(text: string): boolean {
  const [first = "", second] = firstLines(text);
  if (second === undefined) return false;
  if (!/^\s*[[{"]/.test(first) || isRecord(first)) return true;
  const reading = readStrictJson(text);
  return reading instanceof Refusal && !isParsed(text, reading) && hasRecordLine(text);
}

/** A web page is one thing that is no envelope, however many lines it has; so is a text in the wrong encoding. */
function findNone(text: string): Refusal | null {
  return findMisreadUtf16(text) ?? (isJsonText(text) ? null : findNoEnvelope(text));
}

/**
 * Finds every envelope in a text: one, a bare JWS, a batch response, a JSON array, or NDJSON of these.
 *
 * @param input the text, or its bytes in UTF-8 or UTF-16; a byte order mark is skipped
 * @returns the candidates in order, lazily; nothing for a blank input, an empty array or an empty batch
 *
 * @example
 * ```ts
 * for (const item of readEnvelopes(await file.text())) {
 *   if ("refusal" in item) console.log(item.place, item.refusal.reason);
 *   else console.log(item.place, (await verifyEnvelope(item.value, options)).verdict);
 * }
 * ```
 */
export function* readEnvelopes(input: string | Uint8Array): Generator<EnvelopeItem> {
  const text = textOf(input);
  if (text === null) {
    const bytes = input as Uint8Array;
    const refusal = findNoEnvelopeInBytes(bytes) ?? findDamagedUtf16(bytes);
    if (refusal !== null) return yield { place: nowhere, refusal };
    return yield* readLineBlock(bytes, { line: 0 });
  }
  const refusal = isBlank(text) ? null : findNone(text);
  if (refusal !== null) return yield { place: nowhere, refusal };
  if (!isLines(text)) return yield* readRecord(text, null);
  const folded = findFolded(text);
  if (folded === null) yield* readLines(text);
  else yield { place: nowhere, refusal: folded };
}
