/** Verifies the answers that a client gets, with the service's keys, and compares each answer with its question. */

import type { Identifier, RosterRequest } from "./api-types.ts";
import type { Connection, ReceivedAnswer } from "./client-calls.ts";
import { createUnusableAnswerError, sendApiCall } from "./client-calls.ts";
import type { EligibilityResult, SignedEnvelope, SignedStatement, StatementRow } from "./contract.ts";
import { createKeySet, type KeySet } from "./key-set.ts";
import { normalizeRegNo } from "./reg-no.ts";
import type { JsonValue } from "./strict-json.ts";
import type { Verification } from "./verification.ts";
import type { VerifyOptions } from "./verify-envelope.ts";

/** The options by which a client verifies answers. */
export type ClientVerifyOptions = {
  /** The service's issuer (usually the service's URL), which the operator gives you. */
  readonly issuer: string;
  /** Your partner id, which each envelope to you names as its audience. */
  readonly audience: string;
  /** Your own copies of the keys; by default the client fetches the service's keys and keeps them for five minutes. */
  readonly keys?: KeySet;
  /** The id of the key that must have signed the key history that the client fetches; ignored if `keys` is given. */
  readonly anchor?: string;
};

export type Answer = {
  /** The signed result; without the option `verify`, the unsigned result. */
  readonly result: EligibilityResult;
  readonly envelope: SignedEnvelope;
  /** The outcome of the verification; null without the option `verify`. */
  readonly verification: Verification | null;
};

/** Milliseconds for which the client keeps fetched keys: the service lets caches keep its key set for the same time. */
const maxAgeMs = 300_000;
/** Minimum age of keys, in milliseconds, for a new fetch: envelopes with an unknown key must not each cause a fetch. */
const minAgeMs = 5_000;

const wellKnown = "/v1/inter-agency/.well-known";

/** Fetches the service's key set, and its key history, which names the compromised keys. */
async function fetchKeys(
  connection: Connection,
  { issuer, anchor }: ClientVerifyOptions,
  signal: AbortSignal | undefined,
): Promise<KeySet> {
  const fetchText = async (name: string) => {
    const call = { method: "GET", path: `${wellKnown}/${name}`, isPublic: true, signal } as const;
    return (await sendApiCall(connection, call)).text;
  };
  // The key set is fetched last, so that it contains the history's signer even if that key was just published.
  const keyHistory = await fetchText("key-history");
  const jwks = await fetchText("jwks.json");
  return createKeySet({ jwks, keyHistory, issuer, ...(anchor === undefined ? {} : { anchor }) });
}

/** Caches fetched keys. The keys are fetched again after `maxAgeMs`, or after `minAgeMs` if they are not usable. */
function cacheKeys(fetch: (signal: AbortSignal | undefined) => Promise<KeySet>) {
  let kept: { readonly keys: KeySet; readonly atMs: number } | null = null;
  return async (areUsable: (keys: KeySet) => boolean, signal: AbortSignal | undefined): Promise<KeySet> => {
    const ageMs = kept === null ? Number.POSITIVE_INFINITY : Math.abs(Date.now() - kept.atMs);
    if (kept !== null && ageMs < maxAgeMs && (ageMs < minAgeMs || areUsable(kept.keys))) return kept.keys;
    kept = { keys: await fetch(signal), atMs: Date.now() };
    return kept.keys;
  };
}

/** A refused key set is fetched again, because it may have been cut off in transit. */
const isUsable = ({ refusal }: KeySet) => refusal === null;

/**
 * Creates the function that verifies the envelopes, or the statement, of an answer.
 * @returns a function that throws ClientError ENVELOPE_REFUSED if an envelope or the statement is not valid
 */
export function createAnswerVerifier(connection: Connection, options: ClientVerifyOptions) {
  const { issuer, audience, keys: given } = options;
  const keysFor = cacheKeys((signal) => fetchKeys(connection, options, signal));
  return async <V extends Verification>(
    values: readonly JsonValue[],
    verify: (value: JsonValue, options: VerifyOptions) => Promise<V>,
    received: ReceivedAnswer,
  ): Promise<V[]> => {
    const { signal } = received.call;
    const verifyAll = (keys: KeySet) =>
      Promise.all(values.map((one) => verify(one, { keys, issuer, audience })));
    let verifications = await verifyAll(given ?? (await keysFor(isUsable, signal)));
    const unknown = verifications.find(({ reason }) => reason === "KID_UNKNOWN")?.kid;
    // The service may have rotated its keys since they were fetched.
    if (given === undefined && unknown != null)
      verifications = await verifyAll(await keysFor(({ keys }) => keys.has(unknown), signal));
    if (verifications.every(({ valid }) => valid)) return verifications;
    const reasons = [...new Set(verifications.flatMap(({ reason }) => reason ?? []))].join(", ");
    const message = `the answer did not verify (${reasons}): do not rely on it, and keep it for the operator`;
    throw createUnusableAnswerError("ENVELOPE_REFUSED", message, received, verifications);
  };
}

// A proxy or cache could return the genuine envelope of an earlier call, so each answer is compared with its question.
// Envelopes contain neither purpose nor NIN, so the purpose and the NIN are not compared.

/** How many milliseconds the clocks of the service and of this machine may differ. */
const clockSlackMs = 60_000;
/** Milliseconds for which the service replays an answer for the same idempotency key. */
const replayLifetimeMs = 72 * 3_600_000;

function isAbout({ result }: Answer, asked: Identifier): boolean {
  if (!result.found) return true;
  if (asked.tId !== undefined) return result.teacher?.tId === Number(asked.tId);
  return asked.regNo === undefined || result.certificate?.regNo === normalizeRegNo(asked.regNo);
}

function isOfThisCall(signedAt: string, { info, call, begunAtMs, endedAtMs }: ReceivedAnswer): boolean {
  const at = Date.parse(signedAt);
  // An idempotency key that the client made for this call has no earlier answer.
  const earliest = info.isReplay && call.isKeyGiven ? endedAtMs - replayLifetimeMs : begunAtMs;
  return at >= earliest - clockSlackMs && at <= endedAtMs + clockSlackMs;
}

/**
 * Compares each answer with the identifier at the same index of `asked`.
 * @returns the first mismatch, as the end of an error message; null if all answers match
 */
export function findAnswerMismatch(
  answers: readonly Answer[],
  asked: readonly Identifier[],
  received: ReceivedAnswer,
): string | null {
  const ids = answers.map(({ envelope }) => envelope.verificationId);
  if (new Set(ids).size < ids.length) return "it has one envelope twice";
  const other = answers.findIndex((answer, index) => !isAbout(answer, asked[index] as Identifier));
  if (other >= 0) return `it is about another teacher${answers.length > 1 ? ` (item ${other})` : ""}`;
  return answers.every(({ envelope }) => isOfThisCall(envelope.verifiedAt, received)) ? null : otherTime;
}

const otherTime = "it was signed at another time than that of the call: is this machine's clock right?";

/** Compares a statement with its request. @returns the first mismatch, as {@link findAnswerMismatch} does */
export function findStatementMismatch(
  { statementId, purpose, list, rows, issuedAt }: SignedStatement,
  asked: RosterRequest,
  received: ReceivedAnswer,
): string | null {
  if (received.verificationId !== statementId) return "its X-Verification-Id is not that of the statement";
  if (purpose !== asked.purpose) return "it is for another purpose";
  const isList = list.name === asked.list.name && list.reference === (asked.list.reference ?? null);
  if (!isList || rows.length !== asked.teachers.length) return "it is about another list";
  const other = rows.findIndex((row, index) => !isRowAbout(row, asked.teachers[index] as Identifier));
  if (other >= 0) return `its row ${other + 1} is about another teacher`;
  return isOfThisCall(issuedAt, received) ? null : otherTime;
}

/** Whether a row is about a list item. The row of an unknown teacher repeats the item's number, unless it may be a NIN. */
function isRowAbout({ tId, regNo, eligible, status }: StatementRow, asked: Identifier): boolean {
  if (tId === null && regNo === null) return !eligible && status === "NOT_FOUND";
  if (asked.tId !== undefined) return tId === Number(asked.tId);
  return asked.regNo === undefined || lettersOf(regNo ?? "") === lettersOf(asked.regNo);
}

/** Reduces a registration number to letters and digits: the service ignores any other character, such as a full stop. */
function lettersOf(regNo: string): string {
  return normalizeRegNo(regNo).replace(/[^\p{L}\p{Nd}]/gu, "");
}
