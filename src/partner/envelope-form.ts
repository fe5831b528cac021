/** The form in which a signature came: alone, or in an envelope. Nothing in it is trusted yet. */

import { type CompactJws, splitCompactJws } from "./jws.ts";
import { findNoEnvelope } from "./not-envelope.ts";
import { type OuterMembers, readOuterMembers } from "./outer-members.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import { cutWrittenEnvelope, type WrittenEnvelope } from "./written-envelope.ts";

export type Form = {
  readonly jws: CompactJws;
  /** The unsigned members; null for a bare signature. */
  readonly outer: OuterMembers | null;
  /** An envelope in the service's own writing, whose claims need not be parsed again; null for any other. */
  readonly written: WrittenEnvelope | null;
};

/** Only an object can open with a brace after white space; anything else is taken for a bare signature. */
function isJsonText(text: string): boolean {
  return /^[\t\n\r ]*\{/.test(text);
}

function readEnvelopeValue(value: JsonValue): Form | Refusal {
  const outer = isJsonObject(value)
    ? readOuterMembers(value)
    : refuse("ENVELOPE_MALFORMED", "This is neither an envelope nor a signature.");
  if (outer instanceof Refusal) return findNoEnvelope(value) ?? outer;
  const jws = splitCompactJws(outer.signature);
  return jws instanceof Refusal ? jws : { jws, outer, written: null };
}

/** A text that the service wrote; null for any other, which the strict reader judges. */
function readWrittenForm(text: string): Form | null {
  const written = cutWrittenEnvelope(text);
  if (written === null) return null;
  const jws = splitCompactJws(written.outer.signature);
  // A signature in an unusual form may be written with escapes: only the strict reader knows those.
  return jws instanceof Refusal ? null : { jws, outer: written.outer, written };
}

/**
 * Reads an envelope or a bare compact JWS.
 *
 * @param input its text, or a value that was read strictly
 */
export function readForm(input: string | JsonValue): Form | Refusal {
  if (typeof input !== "string") return readEnvelopeValue(input);
  if (isJsonText(input)) {
    const written = readWrittenForm(input);
    if (written !== null) return written;
    const reading = readStrictJson(input);
    return reading instanceof Refusal ? reading : readEnvelopeValue(reading);
  }
  const jws = splitCompactJws(input);
  return jws instanceof Refusal ? (findNoEnvelope(input) ?? jws) : { jws, outer: null, written: null };
}
