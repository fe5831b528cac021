/** The keys that a client verifies by: those that it was given, or the service's own, fetched when they are needed. */

import { type Connection, send } from "./client-calls.ts";
import { ClientError } from "./client-error.ts";
import type { EligibilityResult, SignedEnvelope } from "./contract.ts";
import { createKeySet, type KeySet } from "./key-set.ts";
import type { JsonValue } from "./strict-json.ts";
import type { Verification } from "./verification.ts";
import { type VerifyOptions, verifyEnvelope } from "./verify-envelope.ts";
import { type StatementVerification, verifyStatement } from "./verify-statement.ts";

/** By what a client verifies the answers that it gets. */
export type ClientVerification = {
  /** The service's issuer address, as the operator told it. */
  readonly issuer: string;
  /** Your partner id. */
  readonly audience: string;
  /** Keys that you keep yourself; without them the client fetches the service's own and keeps them for five minutes. */
  readonly keys?: KeySet;
  /** The id of the key that must have signed the key history, for keys that the client fetches. */
  readonly anchor?: string;
};

/** One answer, and what was found of its signature. */
export type Answer = {
  /** What was answered: from what is signed, when the client verifies. */
  readonly result: EligibilityResult;
  readonly envelope: SignedEnvelope;
  /** Null when the client was not told to verify. */
  readonly verification: Verification | null;
};

/** Judges what came as an answer. @throws ClientError ENVELOPE_REFUSED unless all of it is valid */
type JudgeAnswers = {
  envelopes(values: readonly JsonValue[], signal: AbortSignal | undefined): Promise<Answer[]>;
  /** @returns null when the client was not told to verify */
  statement(value: JsonValue, signal: AbortSignal | undefined): Promise<StatementVerification | null>;
};

/** As long as the service says that its key set may be kept. */
const keepMs = 300_000;
/** A key that the service does not publish either must not make it be asked for every envelope. */
const leastAgeMs = 5_000;

const wellKnown = "/v1/inter-agency/.well-known";

/** Fetches the key set and the key history. The history is what tells of compromised keys. */
async function fetchKeys(
  connection: Connection,
  { issuer, anchor }: ClientVerification,
  signal: AbortSignal | undefined,
): Promise<KeySet> {
  const fetchText = async (name: string) => {
    const call = { method: "GET", path: `${wellKnown}/${name}`, isPublic: true, signal } as const;
    return (await send(connection, call)).text;
  };
  // The history first: a key that has just been published is then in the set that is to have its signer.
  const keyHistory = await fetchText("key-history");
  const jwks = await fetchText("jwks.json");
  return createKeySet({ jwks, keyHistory, issuer, ...(anchor === undefined ? {} : { anchor }) });
}

/** Keeps what was fetched. `isFor` tells whether the keys have the one that is wanted. */
function keepKeys(fetch: (signal: AbortSignal | undefined) => Promise<KeySet>) {
  let kept: { readonly keys: KeySet; readonly atMs: number } | null = null;
  return async (isFor: (keys: KeySet) => boolean, signal: AbortSignal | undefined): Promise<KeySet> => {
    const ageMs = kept === null ? Number.POSITIVE_INFINITY : Math.abs(Date.now() - kept.atMs);
    if (kept !== null && ageMs < keepMs && (ageMs < leastAgeMs || isFor(kept.keys))) return kept.keys;
    kept = { keys: await fetch(signal), atMs: Date.now() };
    return kept.keys;
  };
}

/** Ones that are refused whole are asked for again: they may have been cut off on the way. */
const usableKeys = ({ refusal }: KeySet) => refusal === null;

function unverified(value: JsonValue): Answer {
  const envelope = value as unknown as SignedEnvelope;
  return { result: envelope.result, envelope, verification: null };
}

/** Judges what was answered with one verifier. @throws ClientError ENVELOPE_REFUSED unless all of it is valid */
type JudgeAll = <V extends Verification>(
  values: readonly JsonValue[],
  verify: (value: JsonValue, options: VerifyOptions) => Promise<V>,
  signal: AbortSignal | undefined,
) => Promise<V[]>;

function judgeBy(connection: Connection, options: ClientVerification): JudgeAll {
  const { issuer, audience, keys: given } = options;
  const keysFor = keepKeys((signal) => fetchKeys(connection, options, signal));
  return async (values, verify, signal) => {
    const verifyAll = (keys: KeySet) =>
      Promise.all(values.map((one) => verify(one, { keys, issuer, audience })));
    let verifications = await verifyAll(given ?? (await keysFor(usableKeys, signal)));
    const unknown = verifications.find(({ reason }) => reason === "KID_UNKNOWN")?.kid;
    // The service may have rotated its keys since they were fetched.
    if (given === undefined && unknown != null)
      verifications = await verifyAll(await keysFor(({ keys }) => keys.has(unknown), signal));
    if (verifications.every(({ valid }) => valid)) return verifications;
    const reasons = [...new Set(verifications.flatMap(({ reason }) => reason ?? []))].join(", ");
    const message = `the answer did not verify (${reasons}): do not rely on it, and keep it for the operator`;
    throw new ClientError("ENVELOPE_REFUSED", message, { status: 200, verifications });
  };
}

/**
 * How a client judges its answers.
 *
 * @param connection for the service's keys
 * @param options by what it verifies; when left out it does not
 */
export function createJudge(connection: Connection, options: ClientVerification | undefined): JudgeAnswers {
  if (options === undefined)
    return {
      envelopes: async (values) => values.map(unverified),
      statement: async () => null,
    };
  const judgeAll = judgeBy(connection, options);
  return {
    async envelopes(values, signal) {
      const verifications = await judgeAll(values, verifyEnvelope, signal);
      return values.map((value, index) => {
        const verification = verifications[index] as Verification;
        const envelope = value as unknown as SignedEnvelope;
        return { result: verification.result ?? envelope.result, envelope, verification };
      });
    },
    async statement(value, signal) {
      const [verification = null] = await judgeAll([value], verifyStatement, signal);
      return verification;
    },
  };
}
