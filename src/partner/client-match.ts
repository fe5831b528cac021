/**
 * Whether a genuine answer is the answer to what was asked. A signature says what the service attested, and not to which
 * question: whoever stands between (a proxy, a cache) could give any envelope that it has kept for the answer to this call.
 * The purpose and a NIN are in no envelope, so of these nothing can be held.
 */

import type { Identifier } from "./api-types.ts";
import type { Received } from "./client-calls.ts";
import type { Answer } from "./client-keys.ts";
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

function isOfThisCall({ envelope }: Answer, { info, isKeyGiven, begunAtMs, endedAtMs }: Received): boolean {
  const at = Date.parse(envelope.verifiedAt);
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
  if (answers.every((answer) => isOfThisCall(answer, received))) return null;
  return "it was signed at another time than that of the call: is this machine's clock right?";
}
