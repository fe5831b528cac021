/** Sets every unsigned member of an envelope beside the signed one, for people to see what was changed. */

import { isJsonObject, type JsonObject, type JsonValue } from "../../../partner/strict-json.ts";
import type { Verification } from "../../../partner/verification.ts";

/** `signed` and `outer` are JSON texts; undefined where there is no such member. */
export type Difference = { member: string; signed: string | undefined; outer: string | undefined };

const maxDifferences = 200;

function leaves(value: JsonValue | undefined, path: string, found: Map<string, string>): void {
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    for (const [name, member] of Object.entries(value)) leaves(member, `${path}.${name}`, found);
  } else if (Array.isArray(value) && value.length > 0) {
    for (const [index, item] of value.entries()) leaves(item, `${path}[${index}]`, found);
  } else if (value !== undefined) {
    found.set(path, JSON.stringify(value));
  }
}

function leavesOf(members: JsonObject): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(members)) leaves(value, name, found);
  return found;
}

/** The contract's members of an envelope, the signature itself left out. */
function outerMembers(envelope: JsonObject): JsonObject {
  const names = ["verificationId", "verifiedAt", "issuer", "audience", "signatureKid", "result"];
  const present = names.filter((name) => Object.hasOwn(envelope, name));
  return Object.fromEntries(present.map((name) => [name, envelope[name] as JsonValue]));
}

function signedMembers(verification: Verification): JsonObject {
  const { verificationId, verifiedAt, issuer, audience, kid, result } = verification;
  return {
    verificationId,
    verifiedAt,
    issuer,
    audience,
    signatureKid: kid,
    result: result as unknown as JsonValue,
  };
}

/** What is signed has whole seconds; the copy beside it may have more. */
function isSame(member: string, signed: string | undefined, outer: string | undefined): boolean {
  if (signed === outer) return true;
  if (member !== "verifiedAt" || signed === undefined || outer === undefined) return false;
  const [one, other] = [signed, outer].map((text) => Date.parse(String(JSON.parse(text))) / 1000);
  return one !== undefined && other !== undefined && Math.floor(one) === Math.floor(other);
}

/**
 * The members in which an envelope differs from what is signed in it.
 *
 * @param envelope the envelope, of which nothing is trusted
 * @param verification a verification that got as far as the signed values
 */
export function differencesOf(envelope: JsonObject, verification: Verification): Difference[] {
  if (verification.result === null) return [];
  const signed = leavesOf(signedMembers(verification));
  const outer = leavesOf(outerMembers(envelope));
  const members = [...new Set([...signed.keys(), ...outer.keys()])];
  return members
    .map((member) => ({ member, signed: signed.get(member), outer: outer.get(member) }))
    .filter((row) => !isSame(row.member, row.signed, row.outer))
    .slice(0, maxDifferences);
}
