/** The form in which a signature came: alone, or in an envelope. Nothing in it is trusted yet. */

import { findMisreadUtf16, withoutMark } from "./file-text.ts";
import { type CompactJws, splitCompactJws } from "./jws.ts";
import { damageOr, findDamage } from "./mail-damage.ts";
import { findNoEnvelope } from "./not-envelope.ts";
import { type OuterMembers, readOuterMembers } from "./outer-members.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isStatement } from "./statement-form.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";

export type Form = {
  readonly jws: CompactJws;
  /** The unsigned members; null for a bare signature. */
  readonly outer: OuterMembers | null;
};

/** Only an object can open with a brace after white space; anything else is taken for a bare signature. */
function isJsonText(text: string): boolean {
  return /^[\t\n\r ]*\{/.test(text);
}

function readEnvelopeValue(value: JsonValue): Form | Refusal {
  const outer = isJsonObject(value)
    ? readOuterMembers(value)
    : refuse("ENVELOPE_MALFORMED", "This is neither an envelope nor a signature.");
  if (outer instanceof Refusal) {
    return isStatement(value) ? refuse("IS_A_STATEMENT") : (findNoEnvelope(value) ?? outer);
  }
  const jws = splitCompactJws(outer.signature);
  if (jws instanceof Refusal) return damageOr(jws, outer.signature);
  return findDamageOfHeader(jws, outer.signature) ?? { jws, outer };
}

/** The header is read later; white space in or before it is damage, as it is in the other parts. */
function findDamageOfHeader({ protectedHeader }: CompactJws, text: string): Refusal | null {
  return /[^\w-]/.test(protectedHeader) ? findDamage(text) : null;
}

/**
 * Reads an envelope or a bare compact JWS.
 *
 * @param input its text, or a value that was read strictly
 */
export function readForm(input: string | JsonValue): Form | Refusal {
  if (typeof input !== "string") return readEnvelopeValue(input);
  const text = withoutMark(input);
  const misread = findMisreadUtf16(text);
  if (misread !== null) return misread;
  if (isJsonText(text)) {
    const reading = readStrictJson(text);
    return reading instanceof Refusal ? damageOr(reading, text) : readEnvelopeValue(reading);
  }
  const jws = splitCompactJws(text);
  if (!(jws instanceof Refusal)) return findDamageOfHeader(jws, text) ?? { jws, outer: null };
  return findNoEnvelope(text) ?? damageOr(jws, text);
}
