/** The day of an answer, and what has become of it since: a signature stays good while what it signs grows old. */

import type { Claims } from "./claims.ts";
import { dayInWords, parseDateTime } from "./date-time.ts";
import { addressOfIssuer } from "./issuer-address.ts";
import type { Verification } from "./verification.ts";
import type { StatementVerification } from "./verify-statement.ts";

/** An answer that is older says too little of today to be shown without a word. */
const oldAfterDays = 30;

const dayMs = 86_400_000;

/** The last zone in which a day ends is twelve hours behind UTC. */
const lastZoneMs = dayMs / 2;

/** How an answer that was accepted stands at the time of the verification. */
export type AnswerAge = {
  /** Whole days since it was signed. */
  readonly days: number;
  /** More than 30 days. */
  readonly isOld: boolean;
  /**
   * The last day, `YYYY-MM-DD`, of a license that was valid when it was signed and has ended since. In which time zone
   * the service counts its days is not signed, so it has ended when that day is over everywhere.
   */
  readonly licenseEndedOn: string | null;
};

/** The last day that is over everywhere. */
function overEverywhere(nowMs: number): string {
  return new Date(nowMs - lastZoneMs - dayMs).toISOString().slice(0, 10);
}

function endedOn({ license }: Claims["result"], nowMs: number): string | null {
  if (license?.status !== "VALID" || license.expiryDate === null) return null;
  const { expiryDate } = license;
  const isOver = expiryDate <= overEverywhere(nowMs);
  return isOver && parseDateTime(`${expiryDate}T00:00:00Z`) !== null ? expiryDate : null;
}

/**
 * The age of an answer.
 *
 * @param claims what was signed
 * @param nowMs the time to judge by, in milliseconds since the epoch
 */
export function ageOf({ issuedAtSeconds, result }: Claims, nowMs: number): AnswerAge {
  const ageMs = Math.max(0, nowMs - issuedAtSeconds * 1000);
  return {
    days: Math.floor(ageMs / dayMs),
    isOld: ageMs > oldAfterDays * dayMs,
    licenseEndedOn: endedOn(result, nowMs),
  };
}

/**
 * What was answered, with its day, which is counted in UTC: `Answer on 23 November 2026: VALID, eligible`.
 *
 * @returns null where nothing is signed that can be trusted
 */
export function describeAnswer({ result, verifiedAt }: Verification): string | null {
  if (result === null || verifiedAt === null) return null;
  const { status, eligible, reasons } = result;
  const verdict = [status, eligible ? "eligible" : "not eligible", ...reasons].join(", ");
  return `Answer on ${dayInWords(verifiedAt)}: ${verdict}`;
}

/**
 * What a statement over a list says, in one sentence: it never speaks of more than those whom the list names.
 *
 * @param verification what `verifyStatement` gave
 * @returns null unless it was accepted
 */
export function describeStatement({ statement, verifiedAt, valid }: StatementVerification): string | null {
  if (!valid || statement === null || verifiedAt === null) return null;
  const { listed, distinct, eligible, percentEligible } = statement.summary;
  const people = `of the ${listed} named by the list, ${distinct} different people`;
  return `Statement on ${dayInWords(verifiedAt)}: ${people}; ${eligible} of them eligible (${percentEligible} %)`;
}

/**
 * What to know of an answer that is not of today any more.
 *
 * @returns one or two sentences; null while there is nothing to say
 */
export function describeAge(verification: Verification): string | null {
  const { age } = verification;
  if (age === null || (age.licenseEndedOn === null && !age.isOld)) return null;
  const ended = age.licenseEndedOn;
  const what =
    ended === null
      ? `The answer is ${age.days} days old`
      : `The licence it speaks of ended on ${dayInWords(ended)}`;
  const address = lookupAddress(verification);
  return address === null ? `${what}. Ask the issuer again.` : `${what}. Today's answer: ${address}`;
}

/** A number that may be somebody's own is in no address: NINs and phone numbers have ten digits or more. */
const isPersonal = /\d{10}|[^\x21-\x7e]/;

/**
 * Where the issuer tells everybody how things stand today.
 *
 * @param verification one that was accepted: its issuer is signed
 * @param ownOrigin of the page that asks; another issuer is believed by https alone
 * @returns its look-up, about this teacher where the number may stand in an address; null for no such issuer
 */
export function lookupAddress(
  { valid, issuer, result }: Verification,
  ownOrigin: string | null = null,
): string | null {
  const url = valid && issuer !== null ? addressOfIssuer(issuer) : null;
  if (url === null || (url.protocol !== "https:" && url.origin !== ownOrigin)) return null;
  const numbers = { tId: result?.teacher?.tId?.toString(), regNo: result?.certificate?.regNo };
  const about = Object.entries(numbers).find(
    ([, number]) => typeof number === "string" && number !== "" && !isPersonal.test(number),
  );
  const query = about === undefined ? "" : `?${about[0]}=${encodeURIComponent(about[1] ?? "")}`;
  return `${url.href.replace(/\/+$/, "")}/${query}`;
}
