/**
 * What mail and editors do to a text on its way: lines are folded and quoted, quotation marks bent, spaces made invisible.
 * A signature in such a text may be genuine. It is not repaired, because then one signature had many spellings: the
 * refusal names what happened, and whoever has the file gets it once more.
 */

import { type Refusal, type RefusalReason, refuse } from "./reasons.ts";

/** A text longer than this is no single envelope that somebody mailed. */
const maxCharacters = 1024 * 1024;
const quotes = /^[ \t]*(?:[>|][ \t]?)+/gm;
const softBreaks = /=[ \t]*\r?\n/g;
const blank = /[\s\u00AD\u200B-\u200F\u2060\uFEFF]+/g;
const bentQuotes = /[\u2018-\u201F\u00AB\u00BB]/;
const hiddenSpaces = /[\u00A0\u00AD\u2000-\u200F\u202F\u2060\uFEFF]/;

/** Whether a compact JWS of a plausible length stands in the text; in time proportional to it. */
function hasJws(text: string): boolean {
  return text.split(/[^\w.-]+/).some((run) => {
    const parts = run.split(".");
    return parts.some((part, at) => {
      const [payload = "", signature = ""] = parts.slice(at + 1, at + 3);
      return part.includes("eyJ") && payload.startsWith("eyJ") && signature.length >= 100;
    });
  });
}

/** The text without quote marks, soft line breaks and white space. */
function unfolded(text: string): string {
  const plain = text.replace(quotes, "").replace(softBreaks, "").replaceAll("=3D", "=");
  return plain
    .replace(blank, "")
    .replace(/[\u2010\u2011\u2212]/g, "-")
    .replace(/[\u2013\u2014]/g, "--");
}

function describeJson(text: string): string | null {
  if (/[^}\]]/.test(text.trimEnd().slice(-1))) return "Its end is missing, or another text follows it.";
  const isFolded = text.replace(/"(?:[^"\\\r\n]|\\.)*"/g, "").includes('"');
  return isFolded ? "A line ends inside a text; mail has folded it." : null;
}

function describe(text: string): string | null {
  const isWhole = hasJws(text);
  if (/^[ \t]*>/m.test(text)) return "Quote marks (>) stand before its lines; mail has quoted it.";
  if (/=[ \t]*\r?\n|=3D/.test(text)) return "It is in quoted-printable, as mail carries a text.";
  if (!isWhole && /[\u2010-\u2014\u2212]/.test(text)) return "An editor has put dashes for hyphens.";
  const isTorn = /\S\s+\S/.test(text) && /^[\w.-]+$/.test(unfolded(text));
  if (!isWhole || isTorn) return "There is white space inside the signature; mail has folded it.";
  if (bentQuotes.test(text)) return "An editor has put curly quotation marks for straight ones.";
  if (/&(?:quot|#0*34);/.test(text)) return "It is in HTML, as a web page or a mail carries a text.";
  if (hiddenSpaces.test(text)) return "An editor has put other spaces for plain ones.";
  if (/^\s*[[{]/.test(text)) return describeJson(text);
  const isAlone = /^[^\s<>"'(),:;[\]{}]*$/.test(text);
  return isAlone ? null : "White space or another text stands around the signature.";
}

function describeDamage(text: string): string | null {
  return text.length <= maxCharacters && hasJws(unfolded(text)) ? describe(text) : null;
}

/**
 * Says what has become of a text that holds a signature, and that strict reading did not accept.
 *
 * @param text as it was given
 * @returns the refusal `TEXT_DAMAGED`, which repeats nothing of the text; null where no signature or no damage is seen
 */
export function findDamage(text: string): Refusal | null {
  const damage = describeDamage(text);
  return damage === null ? null : refuse("TEXT_DAMAGED", `${damage} Get the file itself.`);
}

/** The same for bytes that are no UTF-8. */
export function findDamageInBytes(bytes: Uint8Array): Refusal | null {
  if (bytes.length > maxCharacters || !hasJws(new TextDecoder("latin1").decode(bytes))) return null;
  return refuse("TEXT_DAMAGED", "It was saved in another character set than UTF-8. Get the file itself.");
}

const reasonsOfForm: readonly RefusalReason[] = [
  "JSON_MALFORMED",
  "JWS_MALFORMED",
  "BASE64URL_NOT_CANONICAL",
];

/** What has become of the text where that is why it could not be read, else the refusal. */
export function damageOr(refusal: Refusal, text: string): Refusal {
  return (reasonsOfForm.includes(refusal.reason) ? findDamage(text) : null) ?? refusal;
}
