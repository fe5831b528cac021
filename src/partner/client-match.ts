/**
 * Whether a genuine answer is the answer to what was asked. A signature says what the service attested, and not to which
 * question: whoever stands between (a proxy, a cache) could give any envelope that it has kept for the answer to this call.
 * Envelopes contain neither purpose nor NIN, so those two are not checked.
 */

import type { Identifier, RosterRequest } from "./api-types.ts";
import type { Received } from "./client-calls.ts";
import type { Answer } from "./client-keys.ts";
import type { SignedStatement, StatementRow } from "./contract.ts";
import { foldRegNo } from "./reg-no.ts";

/** How far the service's clock may be from this machine's. */
const clockSlackMs = 60_000;
/** As long as the service keeps an answer for its idempotency key. */
const keepReplayMs = 72 * 3_600_000;

function isAbout({ result }: Answer, asked: Identifier): boolean {
  if (!result.found) return true;
  if (asked.tId !== undefined) return result.teacher?.tId === Number(asked.tId);
  return asked.regNo === undefined || result.certificate?.regNo === foldRegNo(asked.regNo);
}

function isOfThisCall(signedAt: string, { info, isKeyGiven, begunAtMs, endedAtMs }: Received): boolean {
  const at = Date.parse(signedAt);
  // Under a key that was made for this call nothing can have been answered before it, whatever the answer says.
  const earliest = info.isReplay && isKeyGiven ? endedAtMs - keepReplayMs : begunAtMs;
  return at >= earliest - clockSlackMs && at <= endedAtMs + clockSlackMs;
}

/**
 * Compares answers with what was asked. A verified envelope's unsigned members are what is signed.
 *
 * @param answers in the order of `asked`
 * @param asked whom the call asked about
 * @param received when the call was made, and what its answer says of itself
 * @returns what does not fit, as the end of a sentence; null when all does
 */
export function findMismatch(
  answers: readonly Answer[],
  asked: readonly Identifier[],
  received: Received,
): string | null {
  const ids = answers.map(({ envelope }) => envelope.verificationId);
  if (new Set(ids).size < ids.length) return "it has one envelope twice";
  const other = answers.findIndex((answer, place) => !isAbout(answer, asked[place] as Identifier));
  if (other >= 0) return `it is about another teacher${answers.length > 1 ? ` (item ${other})` : ""}`;
  return answers.every(({ envelope }) => isOfThisCall(envelope.verifiedAt, received)) ? null : otherTime;
}

const otherTime = "it was signed at another time than that of the call: is this machine's clock right?";

/**
 * Compares a statement with the list that was asked about: unlike an envelope it says for what purpose, and of which list.
 *
 * @param statement one whose unsigned members and rows are what is signed
 * @param asked the list
 * @param received when the call was made, and what its answer says of itself
 * @returns as {@link findMismatch}
 */
export function findStatementMismatch(
  { statementId, purpose, list, rows, issuedAt }: SignedStatement,
  asked: RosterRequest,
  received: Received,
): string | null {
  if (received.verificationId !== statementId) return "its X-Verification-Id is not that of the statement";
  if (purpose !== asked.purpose) return "it is for another purpose";
  const isList = list.name === asked.list.name && list.reference === (asked.list.reference ?? null);
  if (!isList || rows.length !== asked.teachers.length) return "it is about another list";
  const other = rows.findIndex((row, place) => !isRowAbout(row, asked.teachers[place] as Identifier));
  if (other >= 0) return `its row ${other + 1} is about another teacher`;
  return isOfThisCall(issuedAt, received) ? null : otherTime;
}

/** A row for nobody repeats the number that was asked, unless that may be a NIN. */
function isRowAbout({ tId, regNo, eligible, status }: StatementRow, asked: Identifier): boolean {
  if (tId === null && regNo === null) return !eligible && status === "NOT_FOUND";
  if (asked.tId !== undefined) return tId === Number(asked.tId);
  return asked.regNo === undefined || lettersOf(regNo ?? "") === lettersOf(asked.regNo);
}

/** A row is found by the number that was meant, too: without a full stop at its end, for example. */
function lettersOf(regNo: string): string {
  return foldRegNo(regNo).replace(/[^\p{L}\p{Nd}]/gu, "");
}
