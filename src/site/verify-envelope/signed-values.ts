/** Signed values in words, and beside the unsigned ones. What is shown as signed has a signature that was found good. */

import type { Certificate, EligibilityResult, License } from "../../partner/contract.ts";
import { dayInWords } from "../../partner/date-time.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../partner/strict-json.ts";
import type { Verification } from "../../partner/verification.ts";
import type { Judged } from "./judge.ts";
import { type EnvelopeTexts, el, fact } from "./view.ts";

/** `2026-03-01T12:00:00Z` as "1 March 2026, 12:00:00 UTC", which no reader takes for another day. */
export function writtenTime(time: string, { locale, signed }: EnvelopeTexts): string {
  return signed.time(dayInWords(time, locale), time.slice(11, 19));
}

/** The register's word for a code; one that is newer than this page is shown as it was signed. */
function coded(code: string, words: Readonly<Record<string, string>>, texts: EnvelopeTexts): string {
  const word = words[code];
  return word === undefined ? code : texts.signed.coded(word, code);
}

function licenseText({ status, issueDate, expiryDate }: License, texts: EnvelopeTexts): string {
  const { signed: words, locale } = texts;
  const dates = [
    issueDate === null ? null : words.begins(dayInWords(issueDate, locale)),
    expiryDate === null ? null : words.ends(dayInWords(expiryDate, locale)),
  ];
  const word = coded(status, words.statuses, texts);
  return [word, ...dates.filter((date) => date !== null)].join(", ");
}

function certificateText({ status, issueDate }: Certificate, texts: EnvelopeTexts): string {
  const word = coded(status, texts.signed.certificates, texts);
  return issueDate === null ? word : `${word}, ${texts.signed.issued(dayInWords(issueDate, texts.locale))}`;
}

/** A reason that is newer than this page is shown as it was signed. */
export function reasonTexts(result: EligibilityResult, texts: EnvelopeTexts): string {
  const known: Readonly<Record<string, string>> = texts.reasons;
  return result.reasons.map((reason) => `${known[reason] ?? reason} (${reason})`).join("; ");
}

/** Who was asked about, and what the register has of them. */
export function recordFacts(result: EligibilityResult, texts: EnvelopeTexts): (HTMLElement | null)[] {
  const { signed: words } = texts;
  const { teacher, license, certificate } = result;
  return [
    fact(words.teacher, teacher?.name ?? words.notFound),
    fact(words.regNo, certificate?.regNo),
    fact(words.tId, teacher?.tId?.toString()),
    fact(words.state, teacher?.state),
    fact(words.category, teacher?.category),
    fact(words.license, license === null ? null : licenseText(license, texts)),
    fact(words.certificate, certificate === null ? null : certificateText(certificate, texts)),
  ];
}

/** An envelope has no purpose, and a reader who is not told so supplies one. */
export function purposeFact({ signed }: EnvelopeTexts): HTMLElement | null {
  return fact(signed.purpose, signed.purposeUnsigned);
}

export function answerFacts(result: EligibilityResult, texts: EnvelopeTexts): (HTMLElement | null)[] {
  const words = texts.signed;
  return [
    ...recordFacts(result, texts),
    result.found ? fact(words.eligible, result.eligible ? words.yes : words.no) : null,
    fact(words.reasons, reasonTexts(result, texts)),
    purposeFact(texts),
  ];
}

/** The signer's address, after the registry's name where this page knows that the address is the registry's. */
export function signerOf({ verification, registry }: Judged, { signed }: EnvelopeTexts): string {
  const issuer = verification.issuer ?? "";
  return registry === null ? issuer : signed.named(registry, issuer);
}

export function signatureFacts(
  verification: Verification,
  texts: EnvelopeTexts,
  signer = verification.issuer,
): (HTMLElement | null)[] {
  const { signed: words } = texts;
  const { verifiedAt, audience, kid, verificationId } = verification;
  const code = (text: string | null) => (text === null ? null : el("code", {}, text));
  return [
    fact(words.issuer, signer),
    fact(words.audience, audience),
    fact(words.verifiedAt, verifiedAt === null ? null : writtenTime(verifiedAt, texts)),
    fact(words.verificationId, code(verificationId)),
    fact(words.kid, code(kid)),
  ];
}

/** `signed` and `outer` are JSON texts; undefined where there is no such member. */
type Difference = { member: string; signed: string | undefined; outer: string | undefined };

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

/** The members in which an envelope differs from what is signed in it. */
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
