/** Verifies offline one statement, which is a signed answer about a list of teachers (decision D16.2). */

import { decodeBase64Hash } from "./base64.ts";
import { formatCanonicalJson } from "./canonical-json.ts";
import {
  allowNull,
  findJsonDifference,
  findSharedMemberDifference,
  isBoolean,
  isInteger,
  isObjectOf,
  isOneOf,
  isText,
  isTextList,
  readTimeLimits,
} from "./claims.ts";
import { licenseStatuses, type StatementRow, statementJwsType, statementRowHashPrefix } from "./contract.ts";
import { refuseNonEnvelope } from "./input.ts";
import { type CompactJws, isStatement } from "./jws.ts";
import { hashOfLeaf, isSameHash, rootOfLeaves } from "./merkle-proof.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";
import type { SharedClaims, StatementContent, StatementVerification } from "./verification.ts";
import { passedCheck, runVerificationChecks, skippedCheck } from "./verification.ts";
import {
  assertVerifyOptions,
  checkExpectedClaims,
  checkSignatureAndKey,
  readJsonOrJws,
  splitReceivedJws,
  type VerifyOptions,
} from "./verify-envelope.ts";

/** Options of `verifyStatement`: those of `verifyEnvelope` without status lists, which cover only envelopes. */
export type StatementOptions = Omit<VerifyOptions, "statusLists" | "maxListAgeSeconds">;

const outcomes = {
  form: passedCheck("A well-formed statement, strict JSON, canonical base64url."),
  outer: passedCheck("Every row, and what stands beside the signature, is what is signed."),
  noPlace: skippedCheck("A statement names no places in status lists."),
};

type ParsedStatement = {
  readonly jws: CompactJws;
  /** The whole object, unsigned members included. */
  readonly given: JsonObject;
  readonly rows: readonly StatementRow[];
};

/** The service signs at most this many rows; a statement with more rows is refused. */
const maxRows = 2_000;

const rowRule = isObjectOf({
  row: (value) => isInteger(value) && Number(value) >= 1,
  tId: allowNull(isInteger),
  regNo: allowNull(isText),
  eligible: isBoolean,
  status: isOneOf(licenseStatuses),
  reasons: isTextList,
  nameMatches: allowNull(isBoolean),
});

function isRow(value: JsonValue): boolean {
  if (!isJsonObject(value) || !rowRule(value)) return false;
  return value.eligible === false || value.status === "VALID";
}

/** Hashes a strictly read row as a leaf (RFC 6962 section 2.1): a fixed line, then the row as RFC 8785 JSON. */
export function leafHashOfRow(row: StatementRow): Promise<Uint8Array<ArrayBuffer>> {
  return hashOfLeaf(new TextEncoder().encode(`${statementRowHashPrefix}${formatCanonicalJson(row)}`));
}

function malformed(detail: string): Refusal {
  return refuse("STATEMENT_MALFORMED", detail);
}

function readRows({ rows }: JsonObject): readonly StatementRow[] | Refusal {
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > maxRows)
    return malformed(`The rows are no list of 1 to ${maxRows}.`);
  const bad = rows.findIndex((row) => !isRow(row));
  if (bad >= 0) return malformed(`The row in place ${bad + 1} is malformed.`);
  return rows as unknown as readonly StatementRow[];
}

/** Splits a statement (a text, or a value of `readStrictJson`) into its JWS and its rows. No signature is verified. */
export function parseStatement(input: string | JsonValue): ParsedStatement | Refusal {
  const given = readJsonOrJws(input);
  if (given instanceof Refusal) return given;
  if (!isStatement(given)) return refuseNonEnvelope(given) ?? refuse("IS_AN_ENVELOPE");
  if (!isJsonObject(given))
    return malformed("The rows are missing: the signature alone says nothing of anybody.");
  if (typeof given.signature !== "string") return malformed("The member signature is missing or not a text.");
  const jws = splitReceivedJws(given.signature);
  if (jws instanceof Refusal) return jws;
  const rows = readRows(given);
  return rows instanceof Refusal ? rows : { jws, given, rows };
}

/** A statement's claims, with checked types. Issuer, audience and times are not yet compared with the caller's options. */
type StatementClaims = SharedClaims & Omit<StatementContent, "rows"> & { readonly rowsRoot: Uint8Array };

const isCount = (value: JsonValue | undefined) => isInteger(value) && Number(value) >= 0;
const rules = {
  iss: isText,
  aud: isText,
  jti: isText,
  purpose: isText,
  policyVersion: isText,
  list: isObjectOf({ name: isText, reference: allowNull(isText) }),
  summary: isObjectOf({
    ...{ listed: isCount, distinct: isCount, found: isCount, eligible: isCount },
    percentEligible: (value) => typeof value === "number",
    byReason: (value) => isJsonObject(value) && Object.values(value).every(isCount),
  }),
  rowsRoot: (value: JsonValue | undefined) => typeof value === "string" && decodeBase64Hash(value) !== null,
} as const;

function readStatementClaims(payload: JsonObject, issuedAtSeconds: number): StatementClaims | Refusal {
  if (Array.isArray(payload.aud)) return refuse("AUDIENCE_NOT_SINGLE");
  const names = Object.keys(rules) as (keyof typeof rules)[];
  const missing = names.find((claim) => !Object.hasOwn(payload, claim));
  if (missing !== undefined) return refuse("CLAIM_MISSING", `The claim ${missing} is missing.`);
  const wrong = names.find((claim) => !rules[claim](payload[claim]));
  if (wrong !== undefined) return refuse("CLAIM_TYPE", `The claim ${wrong} is malformed.`);
  const limits = readTimeLimits(payload);
  if (limits instanceof Refusal) return limits;
  const { purpose, policyVersion, list, summary } = payload as unknown as StatementContent;
  return {
    ...{ purpose, policyVersion, list, summary, issuedAtSeconds, ...limits },
    issuer: String(payload.iss),
    audience: String(payload.aud),
    verificationId: String(payload.jti),
    result: null,
    rowsRoot: decodeBase64Hash(String(payload.rowsRoot)) as Uint8Array,
  };
}

async function rootOfRows({ rows }: ParsedStatement): Promise<Uint8Array> {
  return rootOfLeaves(await Promise.all(rows.map(leafHashOfRow)));
}

/** Compares the rows (by their `root`) and the unsigned members with the claims; `kid` is the key id in the JWS header. */
function findDifference(
  { given, rows }: ParsedStatement,
  claims: StatementClaims,
  root: Uint8Array,
  kid: string,
): Refusal | null {
  const { rowsRoot, purpose, policyVersion, list, summary } = claims;
  const isInOrder = rows.every(({ row }, index) => row === index + 1);
  const isAll = rows.length === summary.listed;
  if (!isInOrder || !isAll || !isSameHash(root, rowsRoot)) return refuse("ROWS_DIFFER");
  for (const [member, signed] of Object.entries({ purpose, policyVersion, list, summary })) {
    const path = findJsonDifference(signed as unknown as JsonValue, given[member], member);
    if (path !== null)
      return refuse("OUTER_STATEMENT_DIFFERS", `The unsigned ${path} differs from the signed one.`);
  }
  const { issuer, audience, signatureKid, statementId: id, issuedAt: time } = given;
  return findSharedMemberDifference({ issuer, audience, signatureKid, id, time }, claims, kid);
}

/**
 * Verifies one whole statement over a list (decision D16.2; RFC 7515, RS256 alone; RFC 6962 section 2.1 for the rows).
 * An envelope is refused, as `verifyEnvelope` refuses a statement.
 * @param input a statement as JSON text, or a value of `readStrictJson`
 * @param options as for `verifyEnvelope`; for a statement that the operator made, the audience is the issuer
 * @returns the verdict with every check, and the signed statement; a bad statement never throws
 * @throws TypeError as `verifyEnvelope` does
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
  assertVerifyOptions(options);
  let statement: StatementContent | null = null;
  const verification = await runVerificationChecks(async (list) => {
    const form = list.read("form", parseStatement(input), outcomes.form);
    const root = await rootOfRows(form);
    const { payload, issuedAt, kid } = await checkSignatureAndKey(list, form.jws, options, statementJwsType);
    const claims = list.read("claims", readStatementClaims(payload, issuedAt));
    const { purpose, policyVersion, list: label, summary } = claims;
    statement = { purpose, policyVersion, list: label, summary, rows: null };
    checkExpectedClaims(list, claims, options);
    list.add("outer", findDifference(form, claims, root, kid) ?? outcomes.outer);
    list.add("status", outcomes.noPlace);
    statement = { ...statement, rows: form.rows };
  });
  return { ...verification, statement };
}

/**
 * Compares the rows and the unsigned members of a statement with its claims, after the caller has verified the signature.
 * @param signed the claims of the statement's JWS
 * @param kid the key id in the header of the JWS
 * @returns the first difference or malformed part as a Refusal; null if rows and members are the signed ones
 */
export async function compareWithSignedClaims(input: JsonValue, signed: JsonObject, kid: string) {
  const form = parseStatement(input);
  if (form instanceof Refusal) return form;
  const claims = readStatementClaims(signed, Number(signed.iat));
  if (claims instanceof Refusal) return claims;
  return findDifference(form, claims, await rootOfRows(form), kid);
}
