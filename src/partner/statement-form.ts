/** The form in which a statement over a list came. Nothing in it is trusted yet. */

import { decodeBase64url } from "./base64.ts";
import { canonicalJson } from "./canonical-json.ts";
import { isFlag, isText, isTextList, isWhole, oneOf, orNull, shape } from "./claims.ts";
import { licenseStatuses, type StatementRow, statementRowPrefix, statementType } from "./contract.ts";
import { withoutMark } from "./file-text.ts";
import { type CompactJws, readJwsObject, splitCompactJws } from "./jws.ts";
import { damageOr } from "./mail-damage.ts";
import { hashOfLeaf } from "./merkle-proof.ts";
import { findNoEnvelope } from "./not-envelope.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";

export type StatementForm = {
  readonly jws: CompactJws;
  /** All that was given, with members that nobody signed. */
  readonly given: JsonObject;
  readonly rows: readonly StatementRow[];
};

/** As many as the service takes of a list. */
const maxRows = 2_000;

const isNumber = orNull(isWhole);
const rowRule = shape({
  row: (value) => isWhole(value) && Number(value) >= 1,
  tId: isNumber,
  regNo: orNull(isText),
  eligible: isFlag,
  status: oneOf(licenseStatuses),
  reasons: isTextList,
  nameMatches: orNull(isFlag),
});

function isRow(value: JsonValue): boolean {
  if (!isJsonObject(value) || !rowRule(value)) return false;
  return value.eligible === false || value.status === "VALID";
}

/** Which type a signature says that it has; null where it says none, undefined where it cannot be read. */
function typeOf(jws: JsonValue | undefined): JsonValue | undefined {
  const bytes = typeof jws === "string" ? decodeBase64url(jws.slice(0, Math.max(jws.indexOf("."), 0))) : null;
  const header = bytes === null ? null : readJwsObject(bytes, "header");
  return header === null || header instanceof Refusal ? undefined : (header.typ ?? null);
}

/**
 * Whether something calls itself a statement: by the type of its signature, or by what stands beside it.
 *
 * @param value a bare signature, or what strict JSON gave
 */
export function isStatement(value: JsonValue): boolean {
  if (!isJsonObject(value)) return typeof value === "string" && typeOf(value) === statementType;
  const has = (...members: string[]) => members.every((member) => Object.hasOwn(value, member));
  return typeOf(value.signature) === statementType || has("statementId", "rows");
}

/**
 * The hash of a row's leaf (RFC 6962 section 2.1): of a fixed line, and of the row as RFC 8785 JSON.
 *
 * @param row a row that was read strictly: of texts, flags, whole numbers, nulls and lists of texts
 */
export function rowLeafHash(row: StatementRow): Promise<Uint8Array<ArrayBuffer>> {
  return hashOfLeaf(new TextEncoder().encode(`${statementRowPrefix}${canonicalJson(row)}`));
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

/**
 * Reads a statement.
 *
 * @param input its text, or a value that was read strictly
 */
export function readStatementForm(input: string | JsonValue): StatementForm | Refusal {
  const read = typeof input === "string" ? withoutMark(input) : input;
  const isJson = typeof read === "string" && /^[\t\n\r ]*\{/.test(read);
  const given = isJson ? readStrictJson(read) : read;
  if (given instanceof Refusal) return isJson ? damageOr(given, read) : given;
  if (!isStatement(given)) return findNoEnvelope(given) ?? refuse("IS_AN_ENVELOPE");
  if (!isJsonObject(given))
    return malformed("The rows are missing: the signature alone says nothing of anybody.");
  if (typeof given.signature !== "string") return malformed("The member signature is missing or not a text.");
  const jws = splitCompactJws(given.signature);
  if (jws instanceof Refusal) return damageOr(jws, given.signature);
  const rows = readRows(given);
  return rows instanceof Refusal ? rows : { jws, given, rows };
}
