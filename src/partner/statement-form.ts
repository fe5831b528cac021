/** The form in which a statement over a list came: whole, or one row of it alone. Nothing in it is trusted yet. */

import { decodeBase64url, decodeHash } from "./base64.ts";
import { canonicalJson } from "./canonical-json.ts";
import { isFlag, isText, isTextList, isWhole, oneOf, orNull, shape } from "./claims.ts";
import { eventTokenType, licenseStatuses, type StatementRow, statementType } from "./contract.ts";
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
  /** Every row; or the one that is shown alone. */
  readonly rows: readonly StatementRow[];
  /** From the leaf of the row that is shown alone to the root; null for a whole statement. */
  readonly path: readonly Uint8Array<ArrayBuffer>[] | null;
};

/** As many as the service takes of a list. */
const maxRows = 2_000;
/** More than a tree over so many has levels. */
const maxPath = 16;
const saltBytes = 16;
const membersAlone: readonly string[] = ["signature", "row", "path"];

const isNumber = orNull(isWhole);
const rowRule = shape({
  row: (value) => isWhole(value) && Number(value) >= 1,
  tId: isNumber,
  regNo: orNull(isText),
  eligible: isFlag,
  status: oneOf(licenseStatuses),
  reasons: isTextList,
  nameMatches: orNull(isFlag),
  salt: (value) => typeof value === "string" && decodeBase64url(value)?.length === saltBytes,
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
 * Whether something calls itself a statement, whole or in part: by the type of its signature, or by what stands beside it.
 *
 * @param value a bare signature, or what strict JSON gave
 */
export function isStatement(value: JsonValue): boolean {
  if (!isJsonObject(value)) return typeof value === "string" && typeOf(value) === statementType;
  const has = (...members: string[]) => members.every((member) => Object.hasOwn(value, member));
  return typeOf(value.signature) === statementType || has("statementId", "rows") || has("row", "path");
}

/** Whether something calls itself a signed event: the token, or an entry of the events that has one. */
export function isEvent(value: JsonValue): boolean {
  return typeOf(isJsonObject(value) ? (value.set ?? value.signature) : value) === eventTokenType;
}

/**
 * The hash of a row's leaf: of its salt, and of the row without that as RFC 8785 JSON.
 *
 * @param row a row that was read strictly: of texts, flags, whole numbers, nulls and lists of texts
 */
export function rowLeafHash({ salt, ...row }: StatementRow): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = decodeBase64url(salt) ?? new Uint8Array();
  return hashOfLeaf(bytes, new TextEncoder().encode(canonicalJson(row)));
}

function malformed(detail: string): Refusal {
  return refuse("STATEMENT_MALFORMED", detail);
}

function readRows(given: JsonObject): Pick<StatementForm, "rows" | "path"> | Refusal {
  const isAlone = !Object.hasOwn(given, "rows");
  // Nothing else is compared with what is signed: whoever reads a list's name or summary beside it would be misled.
  const isMore = Object.keys(given).some((member) => !membersAlone.includes(member));
  if (isAlone && Object.hasOwn(given, "row") && isMore)
    return malformed("A row that is shown alone has the members signature, row and path, and no others.");
  const rows = isAlone ? [given.row ?? null] : given.rows;
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > maxRows)
    return malformed(`The rows are no list of 1 to ${maxRows}.`);
  const bad = rows.findIndex((row) => !isRow(row));
  if (bad >= 0)
    return malformed(isAlone ? "The row is malformed." : `The row in place ${bad + 1} is malformed.`);
  const read = rows as unknown as StatementRow[];
  if (!isAlone) return { rows: read, path: null };
  const { path } = given;
  if (!Array.isArray(path) || path.length > maxPath) return malformed("The path is no list of hashes.");
  const hashes = path.flatMap((hash) => (typeof hash === "string" ? (decodeHash(hash) ?? []) : []));
  return hashes.length === path.length
    ? { rows: read, path: hashes }
    : malformed("The path is no list of hashes.");
}

/**
 * Reads a statement, or one row of it.
 *
 * @param input its text, or a value that was read strictly
 */
export function readStatementForm(input: string | JsonValue): StatementForm | Refusal {
  const read = typeof input === "string" ? withoutMark(input) : input;
  const isJson = typeof read === "string" && /^[\t\n\r ]*\{/.test(read);
  const given = isJson ? readStrictJson(read) : read;
  if (given instanceof Refusal) return isJson ? damageOr(given, read) : given;
  if (!isStatement(given))
    return findNoEnvelope(given) ?? refuse(isEvent(given) ? "IS_AN_EVENT" : "IS_AN_ENVELOPE");
  if (!isJsonObject(given))
    return malformed("The rows are missing: the signature alone says nothing of anybody.");
  if (typeof given.signature !== "string") return malformed("The member signature is missing or not a text.");
  const jws = splitCompactJws(given.signature);
  if (jws instanceof Refusal) return damageOr(jws, given.signature);
  const rows = readRows(given);
  return rows instanceof Refusal ? rows : { jws, given, ...rows };
}
