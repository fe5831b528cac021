/** Describes an answer's day and age in words: an answer becomes outdated while its signature stays valid. */

import { type Claims, parseIssuerUrl } from "./claims.ts";
import { formatDayInWords, parseDateTime } from "./date-time.ts";
import type { AnswerAge, StatementVerification, Verification } from "./verification.ts";

const oldAfterDays = 30;
const dayMs = 86_400_000;
/** Time from the end of a day in UTC to the day's end in the last time zone, UTC-12. */
const lastZoneMs = dayMs / 2;

function findLicenseEnd({ license }: Claims["result"], nowMs: number): string | null {
  if (license?.status !== "VALID" || license.expiryDate === null) return null;
  const { expiryDate } = license;
  const overEverywhere = new Date(nowMs - lastZoneMs - dayMs).toISOString().slice(0, 10);
  const isOver = expiryDate <= overEverywhere;
  return isOver && parseDateTime(`${expiryDate}T00:00:00Z`) !== null ? expiryDate : null;
}

/** Computes the age of an answer at the Unix time `nowSeconds`. */
export function computeAnswerAge({ issuedAtSeconds, result }: Claims, nowSeconds: number): AnswerAge {
  const ageMs = Math.max(0, Math.round((nowSeconds - issuedAtSeconds) * 1000));
  return {
    days: Math.floor(ageMs / dayMs),
    isOld: ageMs > oldAfterDays * dayMs,
    licenseEndedOn: findLicenseEnd(result, nowSeconds * 1000),
  };
}

/**
 * Describes an answer with its day, in UTC: `Answer on 23 November 2026: VALID, eligible`.
 * @returns null if the verification has no result that can be trusted
 */
export function describeAnswer({ result, verifiedAt }: Verification): string | null {
  if (result === null || verifiedAt === null) return null;
  const { status, eligible, reasons } = result;
  const verdict = [status, eligible ? "eligible" : "not eligible", ...reasons].join(", ");
  return `Answer on ${formatDayInWords(verifiedAt)}: ${verdict}`;
}

/** Describes a valid statement over a list in one sentence, with the numbers of teachers; null if it is not valid. */
export function describeSignedStatement(verification: StatementVerification): string | null {
  const { statement, verifiedAt, valid } = verification;
  if (!valid || statement === null || verifiedAt === null) return null;
  const { listed, distinct, eligible, percentEligible } = statement.summary;
  const people = `of the ${listed} named by the list, ${distinct} different people`;
  return `Statement on ${formatDayInWords(verifiedAt)}: ${people}; ${eligible} of them eligible (${percentEligible} %)`;
}

/** Says that an answer is old or its licence has ended, with a link to today's answer; null for any other answer. */
export function describeAge(verification: Verification): string | null {
  const { age } = verification;
  if (age === null || (age.licenseEndedOn === null && !age.isOld)) return null;
  const ended = age.licenseEndedOn;
  const what =
    ended === null
      ? `The answer is ${age.days} days old`
      : `The licence it speaks of ended on ${formatDayInWords(ended)}`;
  const address = lookupUrlOfAnswer(verification);
  return address === null ? `${what}. Ask the issuer again.` : `${what}. Today's answer: ${address}`;
}

/** Matches a text that could be a NIN or phone number, which must not be in a URL: ten digits, a space or non-ASCII. */
const isPersonal = /\d{10}|[^\x21-\x7e]/;

/**
 * Builds the URL of the issuer's public lookup, with the teacher's number unless the number could be a NIN or phone number.
 * @param ownOrigin the origin of the calling page, or null; an issuer at any other origin must have an https URL
 * @returns null if the verification is not valid, or the issuer's URL is not accepted
 */
export function lookupUrlOfAnswer({ valid, issuer, result }: Verification, ownOrigin: string | null = null) {
  const url = valid && issuer !== null ? parseIssuerUrl(issuer) : null;
  if (url === null || (url.protocol !== "https:" && url.origin !== ownOrigin)) return null;
  const numbers = { tId: result?.teacher?.tId?.toString(), regNo: result?.certificate?.regNo };
  const about = Object.entries(numbers).find(
    ([, number]) => typeof number === "string" && number !== "" && !isPersonal.test(number),
  );
  const query = about === undefined ? "" : `?${about[0]}=${encodeURIComponent(about[1] ?? "")}`;
  return `${url.href.replace(/\/+$/, "")}/${query}`;
}
