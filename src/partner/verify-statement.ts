/** Verifies one signed statement over a list offline (decision D16.2). */

import { decodeHash } from "./base64.ts";
import { isText, isWhole, orNull, readLimit, shape } from "./claims.ts";
import { type SignedStatement, type StatementRow, statementType } from "./contract.ts";
import { isSameHash, rootOfLeaves } from "./merkle-proof.ts";
import { firstDifference, isSameSecond } from "./outer-members.ts";
import { Refusal, refuse } from "./reasons.ts";
import { readStatementForm, rowLeafHash, type StatementForm } from "./statement-form.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";
import { accept, fail, note, passed, skipped, type Verification } from "./verification.ts";
import {
  answer,
  assertOptions,
  judge,
  judgeExpected,
  type Kind,
  open,
  readHeaderOf,
  type VerifyOptions,
} from "./verify-envelope.ts";

/** What a statement says of its list. */
export type Stated = Pick<SignedStatement, "purpose" | "policyVersion" | "list" | "summary"> & {
  /** All rows, where they are those that were signed; null where they are not. */
  readonly rows: readonly StatementRow[] | null;
};

/** As for an envelope, but that a statement has no result; `verificationId` is its `statementId`. */
export type StatementVerification = Verification & {
  /** Null unless the signature is good and its key was sound and in use. */
  readonly statement: Stated | null;
};

/** A list that is given is of envelopes' places. */
export type StatementOptions = Omit<VerifyOptions, "statusLists" | "maxListAgeSeconds">;

const outcomes = {
  form: passed("A well-formed statement, strict JSON, canonical base64url."),
  outer: passed("Every row, and what stands beside the signature, is what is signed."),
  noPlace: skipped("A statement names no places in status lists."),
};

/** What is signed, beside the times; whether it is what is expected is another check. */
type StatementClaims = Omit<Stated, "rows"> & {
  readonly issuer: string;
  readonly audience: string;
  readonly verificationId: string;
  readonly issuedAtSeconds: number;
  readonly result: null;
  readonly expiresSeconds: number | null;
  readonly notBeforeSeconds: number | null;
  readonly rowsRoot: Uint8Array;
};

const isCount = (value: JsonValue | undefined) => isWhole(value) && Number(value) >= 0;
const rules = {
  iss: isText,
  aud: isText,
  jti: isText,
  purpose: isText,
  policyVersion: isText,
  list: shape({ name: isText, reference: orNull(isText) }),
  summary: shape({
    ...{ listed: isCount, distinct: isCount, found: isCount, eligible: isCount },
    percentEligible: (value) => typeof value === "number",
    byReason: (value) => isJsonObject(value) && Object.values(value).every(isCount),
  }),
  rowsRoot: (value: JsonValue | undefined) => typeof value === "string" && decodeHash(value) !== null,
} as const;

function readStatementClaims(payload: JsonObject, issuedAtSeconds: number): StatementClaims | Refusal {
  if (Array.isArray(payload.aud)) return refuse("AUDIENCE_NOT_SINGLE");
  const names = Object.keys(rules) as (keyof typeof rules)[];
  const missing = names.find((claim) => !Object.hasOwn(payload, claim));
  if (missing !== undefined) return refuse("CLAIM_MISSING", `The claim ${missing} is missing.`);
  const wrong = names.find((claim) => !rules[claim](payload[claim]));
  if (wrong !== undefined) return refuse("CLAIM_TYPE", `The claim ${wrong} is malformed.`);
  const [expiresSeconds, notBeforeSeconds] = [readLimit(payload.exp), readLimit(payload.nbf)];
  if (expiresSeconds === undefined || notBeforeSeconds === undefined)
    return refuse("CLAIM_TYPE", "The claim exp or nbf is not a number.");
  const { purpose, policyVersion, list, summary } = payload as unknown as Stated;
  return {
    ...{ purpose, policyVersion, list, summary, issuedAtSeconds, expiresSeconds, notBeforeSeconds },
    issuer: String(payload.iss),
    audience: String(payload.aud),
    verificationId: String(payload.jti),
    result: null,
    rowsRoot: decodeHash(String(payload.rowsRoot)) as Uint8Array,
  };
}

async function rootOfRows({ rows }: StatementForm): Promise<Uint8Array> {
  return rootOfLeaves(await Promise.all(rows.map(rowLeafHash)));
}

/**
 * Whether the rows, and what stands beside the signature, are what is signed.
 *
 * @param form what was given
 * @param claims what is signed
 * @param root what the rows make
 * @param kid the key id of the signed header
 */
function findDifference(
  { given, rows }: StatementForm,
  claims: StatementClaims,
  root: Uint8Array,
  kid: string,
): Refusal | null {
  const { rowsRoot, summary } = claims;
  const isInOrder = rows.every(({ row }, index) => row === index + 1);
  const isAll = rows.length === summary.listed;
  if (!isInOrder || !isAll || !isSameHash(root, rowsRoot)) return refuse("ROWS_DIFFER");
  return findOuterDifference(given, claims, kid);
}

function findOuterDifference(given: JsonObject, claims: StatementClaims, kid: string): Refusal | null {
  const { purpose, policyVersion, list, summary } = claims;
  for (const [member, signed] of Object.entries({ purpose, policyVersion, list, summary })) {
    const place = firstDifference(signed as unknown as JsonValue, given[member], member);
    if (place !== null)
      return refuse("OUTER_STATEMENT_DIFFERS", `The unsigned ${place} differs from the signed one.`);
  }
  if (given.issuer !== claims.issuer) return refuse("OUTER_ISSUER_DIFFERS");
  if (given.audience !== claims.audience) return refuse("OUTER_AUDIENCE_DIFFERS");
  if (given.signatureKid !== kid) return refuse("OUTER_KID_DIFFERS");
  if (given.statementId !== claims.verificationId) return refuse("OUTER_VERIFICATION_ID_DIFFERS");
  const isSame = typeof given.issuedAt === "string" && isSameSecond(given.issuedAt, claims.issuedAtSeconds);
  return isSame ? null : refuse("OUTER_VERIFIED_AT_DIFFERS");
}

/** @param told is given what is signed, as far as it came */
function statements(
  root: Uint8Array,
  options: StatementOptions,
  told: (stated: Stated) => void,
): Kind<StatementForm> {
  return {
    readHeader: (text) => readHeaderOf(statementType, text),
    formOf: () => outcomes.form,
    judgePayload({ opened }, payload, issuedAt) {
      const { draft, key, rows } = opened;
      const claims = readStatementClaims(payload, issuedAt);
      if (claims instanceof Refusal) return fail(draft, "claims", claims);
      const { purpose, policyVersion, list, summary } = claims;
      told({ purpose, policyVersion, list, summary, rows: null });
      const nowMs = options.now?.getTime() ?? Date.now();
      const unexpected = judgeExpected(draft, claims, options, nowMs);
      if (unexpected !== null) return unexpected;
      const difference = findDifference(opened, claims, root, key.jwk.kid);
      if (difference !== null) return fail(draft, "outer", difference);
      note(draft, outcomes.outer);
      note(draft, outcomes.noPlace);
      told({ purpose, policyVersion, list, summary, rows });
      return accept(draft);
    },
  };
}

/**
 * Verifies one whole statement over a list (decision D16.2; RFC 7515, RS256 alone; RFC 6962 section 2.1 for the rows). It never takes an envelope, nor `verifyEnvelope` a statement.
 *
 * @param input a statement as JSON text, or already read by `readStrictJson`
 * @param options as for `verifyEnvelope`; the audience is the issuer's address for a statement that the operator made
 * @returns the verdict, with every check that was made and what is signed; a bad statement never throws
 * @throws TypeError as `verifyEnvelope` does
 *
 * @example
 * ```ts
 * const { valid, statement } = await verifyStatement(text, { keys, issuer, audience: "exam-board" });
 * if (valid) console.log(statement?.summary.percentEligible);
 * ```
 */
export async function verifyStatement(
  input: string | JsonValue,
  options: StatementOptions,
): Promise<StatementVerification> {
  assertOptions(options);
  const form = readStatementForm(input);
  const root = form instanceof Refusal ? new Uint8Array() : await rootOfRows(form);
  let statement: Stated | null = null;
  const kind = statements(root, options, (stated) => {
    statement = stated;
  });
  const opened = open(form, options, kind);
  if ("verdict" in opened) return { ...opened, statement };
  const verification = judge({ opened, ...(await answer(opened, options)) }, kind);
  return { ...verification, statement };
}

/**
 * Whether a statement whose signature is known to be genuine is whole: that its rows, and what stands beside the signature,
 * are what is signed.
 *
 * @param input the statement
 * @param signed the claims of its signature
 * @param kid the key id of its header
 * @returns what differs; null when nothing does
 */
export async function findStatementDifference(
  input: JsonValue,
  signed: JsonObject,
  kid: string,
): Promise<Refusal | null> {
  const form = readStatementForm(input);
  if (form instanceof Refusal) return form;
  const claims = readStatementClaims(signed, Number(signed.iat));
  if (claims instanceof Refusal) return claims;
  return findDifference(form, claims, await rootOfRows(form), kid);
}
