/**
 * A language to test with (decision D8.6), made from the English one: letters with marks, brackets, and a third longer,
 * as translations are. On a page, a sentence without brackets is one that was forgotten, and one whose bracket is cut
 * off has too little room.
 */

import { raw } from "hono/html";

/** The tag that is customary for it: English with accents. */
export const testLanguageTag = "en-XA";

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const marked = [..."àƀçđéƒĝĥíĵķļɱñóþǫŕšţûṽŵẋýžÀƁÇĐÉƑĜĤÍĴĶĻṀÑÓÞǪŔŠŢÛṼŴẊÝŽ"];

/** Stands for a value in a sentence while its letters are marked; the private use area holds no letter of ours. */
const firstStandIn = 0xe000;

/**
 * Texts in the test language: every sentence changed, every value that a sentence is made of kept as it is.
 * @param texts sentences, HTML (`html` of hono/html), lists of them, and functions that make them of values, in any depth
 */
export function inTestLanguage<Part>(texts: Part): Part {
  return translated(texts) as Part;
}

/** The same sentences by the tags of the languages that they were translated into. */
export type Translations<Texts> = { readonly en: Texts } & Readonly<Record<string, Texts>>;

/** The sentences in a language; where nobody has translated them, in English. */
export function textsIn<Texts>(tag: string, translations: Translations<Texts>): Texts {
  return tag === testLanguageTag ? inTestLanguage(translations.en) : (translations[tag] ?? translations.en);
}

function translated(part: unknown): unknown {
  if (typeof part === "string") return sentence(part);
  if (typeof part === "function") return (...values: unknown[]) => ofValues(part as Sentence, values);
  if (Array.isArray(part)) return part.map(translated);
  if (part instanceof String) return raw(markup(String(part)));
  if (typeof part !== "object" || part === null) return part;
  // The form of dates and numbers is no sentence.
  const members = Object.entries(part).map(([name, inner]) => [
    name,
    name === "locale" ? inner : translated(inner),
  ]);
  return Object.fromEntries(members);
}

type Sentence = (...values: unknown[]) => unknown;

function ofValues(make: Sentence, values: readonly unknown[]): unknown {
  const standIns = values.map((value, index) =>
    typeof value === "string" ? String.fromCharCode(firstStandIn + index) : value,
  );
  const made = make(...standIns);
  if (typeof made !== "string") return translated(made);
  return sentence(made).replace(/[\ue000-\ue0ff]/g, (standIn) =>
    String(values[standIn.charCodeAt(0) - firstStandIn]),
  );
}

/** Tags with what is code between them, and entities. */
const untouched = /<(code|pre)\b[^>]*>.*?<\/\1>|<[^>]*>|&#?\w+;/gs;

/** HTML with its text in the test language: each piece between two tags is a sentence. */
function markup(html: string): string {
  const kept = html.match(untouched) ?? [];
  const between = html.replace(untouched, "\0").split("\0");
  return between
    .map((piece, index) => piece.replace(/\S.*\S|\S/s, sentenceIn) + (kept[index] ?? ""))
    .join("");
}

/** Punctuation between two tags is no sentence. */
const sentenceIn = (piece: string) => (/\p{L}/u.test(piece) ? sentence(piece) : piece);

function sentence(text: string): string {
  const letters = [...text].map((letter) => marked[plain.indexOf(letter)] ?? letter).join("");
  return `[${letters}${" ~".repeat(Math.ceil(text.length / 6))}]`;
}
