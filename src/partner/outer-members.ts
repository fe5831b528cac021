/**
 * Compares the unsigned members of an envelope with what is signed. The signed ones are authoritative
 * (contract C9); a difference means that somebody edited the envelope, and it is refused.
 */

import type { Claims } from "./claims.ts";
import { parseDateTime } from "./date-time.ts";
import { type Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";

/** The members of a SignedEnvelope, of the right types; nothing in it is trusted. */
export type OuterMembers = {
  readonly verificationId: string;
  readonly verifiedAt: string;
  readonly issuer: string;
  readonly audience: string;
  readonly signature: string;
  readonly signatureKid: string;
  readonly result: JsonObject;
};

const textMembers = ["verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid"];

/**
 * Takes the contract's members out of an envelope; unknown members are ignored.
 *
 * @param envelope a parsed JSON object
 * @returns the members, or the refusal `ENVELOPE_MALFORMED` that names the first bad one
 */
export function readOuterMembers(envelope: JsonObject): OuterMembers | Refusal {
  const bad = textMembers.find((member) => typeof envelope[member] !== "string");
  if (bad !== undefined) return refuse("ENVELOPE_MALFORMED", `The member ${bad} is missing or not a text.`);
  if (!isJsonObject(envelope.result)) {
    return refuse("ENVELOPE_MALFORMED", "The member result is missing or not an object.");
  }
  return envelope as unknown as OuterMembers;
}

function differenceInList(signed: JsonValue[], outer: JsonValue | undefined, path: string): string | null {
  if (!Array.isArray(outer) || outer.length !== signed.length) return path;
  for (const [index, item] of signed.entries()) {
    const difference = firstDifference(item, outer[index], `${path}[${index}]`);
    if (difference !== null) return difference;
  }
  return null;
}

function differenceInObject(signed: JsonObject, outer: JsonValue | undefined, path: string): string | null {
  if (!isJsonObject(outer)) return path;
  const members = Object.keys(signed);
  for (const member of members) {
    if (!Object.hasOwn(outer, member)) return `${path}.${member}`;
    const difference = firstDifference(signed[member] as JsonValue, outer[member], `${path}.${member}`);
    if (difference !== null) return difference;
  }
  return Object.keys(outer).length === members.length ? null : path;
}

/**
 * Where two JSON values differ, whatever the order of their members.
 *
 * @param signed the authoritative value; only its member names appear in the path
 * @param outer the other value
 * @param path the name of the value itself
 * @returns the path of the first difference, or null when they are equal
 */
export function firstDifference(
  signed: JsonValue,
  outer: JsonValue | undefined,
  path: string,
): string | null {
  if (signed === outer) return null;
  if (Array.isArray(signed)) return differenceInList(signed, outer, path);
  return isJsonObject(signed) ? differenceInObject(signed, outer, path) : path;
}

/** `iat` has whole seconds, so a `verifiedAt` agrees with it when its whole second does. */
export function isSameSecond(verifiedAt: string, seconds: number): boolean {
  const time = parseDateTime(verifiedAt);
  return time !== null && Math.floor(time / 1000) === seconds;
}

/**
 * Compares every outer member with the signed claims.
 *
 * @param outer the unsigned members
 * @param claims the signed claims
 * @param kid the key id of the signed header
 * @returns the first difference, in the order of decision D6.2, or null
 */
export function findOuterDifference(outer: OuterMembers, claims: Claims, kid: string): Refusal | null {
  const place = firstDifference(claims.result as unknown as JsonValue, outer.result, "result");
  if (place !== null)
    return refuse("OUTER_RESULT_DIFFERS", `The unsigned ${place} differs from the signed one.`);
  if (outer.issuer !== claims.issuer) return refuse("OUTER_ISSUER_DIFFERS");
  if (outer.audience !== claims.audience) return refuse("OUTER_AUDIENCE_DIFFERS");
  if (outer.signatureKid !== kid) return refuse("OUTER_KID_DIFFERS");
  if (outer.verificationId !== claims.verificationId) return refuse("OUTER_VERIFICATION_ID_DIFFERS");
  return isSameSecond(outer.verifiedAt, claims.issuedAtSeconds) ? null : refuse("OUTER_VERIFIED_AT_DIFFERS");
}
