import { expect, test } from "bun:test";
import { formatCanonicalJson } from "../../src/partner/canonical-json.ts";
import type { StatementRow } from "../../src/partner/contract.ts";
import { isStatement } from "../../src/partner/jws.ts";
import type { JsonValue } from "../../src/partner/strict-json.ts";
import { leafHashOfRow, parseStatement } from "../../src/partner/verify-statement.ts";
import { leaf } from "../fixtures/rfc6962.ts";

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (typ?: string) => `${encoded({ alg: "RS256", kid: "k", typ })}.e30.AA`;
const [signature, envelope] = [tokenOf("tvs-statement+jwt"), tokenOf("JWT")];
const row = {
  ...{ row: 1, tId: 7, regNo: "A/1/B/1", eligible: true, status: "VALID", reasons: [] as string[] },
  nameMatches: null,
};

test("parseStatement reads every row of a statement, and ignores unknown members", () => {
  const rows = [
    row,
    { ...row, tId: null, regNo: null, eligible: false, status: "EXPIRED", reasons: ["X"], nameMatches: true },
  ];
  const text = JSON.stringify({ signature, rows, more: 1 });
  for (const given of [{ signature, rows }, ` \n${text}`, `\ufeff${text}`])
    expect(parseStatement(given)).toMatchObject({ rows } as never);
});

test.each<Partial<Record<keyof typeof row, JsonValue>>>([
  ...[0, "1", 1.5, null].map((value) => ({ row: value })),
  ...["7", 0.5].map((tId) => ({ tId })),
  ...[{ regNo: 7 }, { eligible: 1 }, { status: "X" }, { reasons: [7] }, { nameMatches: 1 }],
  { eligible: true, status: "EXPIRED" },
])("a statement row with %j is refused", (change) => {
  const bad = { ...row, ...change };
  const rows = { reason: "STATEMENT_MALFORMED", detail: "The row in place 2 is malformed." };
  expect(parseStatement({ signature, rows: [row, bad] })).toMatchObject(rows as never);
});

const noRows = "The rows are no list of 1 to 2000.";
test.each<[given: JsonValue, detail: string]>([
  [{ signature, rows: [] }, noRows],
  [{ signature, rows: {} }, noRows],
  [{ signature, rows: [7] }, "The row in place 1 is malformed."],
  [{ signature }, noRows],
  [{ signature, row, path: [] }, noRows],
  [signature, "The rows are missing: the signature alone says nothing of anybody."],
  [{ statementId: "x", rows: [] }, "The member signature is missing or not a text."],
])("the statement %j is refused: %s", (given, detail) => {
  expect(parseStatement(given)).toMatchObject({ reason: "STATEMENT_MALFORMED", detail } as never);
});

test("a statement may have up to 2,000 rows", () => {
  expect(parseStatement({ signature, rows: Array(2000).fill(row) })).toHaveProperty("rows.length", 2000);
  const more = parseStatement({ signature, rows: Array(2001).fill(row) });
  expect(more).toMatchObject({ detail: noRows } as never);
});

test.each<[given: string | JsonValue, reason: string]>([
  ['{"rows":1,"rows":1}', "JSON_DUPLICATE_MEMBER"],
  [envelope, "IS_AN_ENVELOPE"],
  [{ signature: envelope }, "IS_AN_ENVELOPE"],
  ["hello {}", "NOT_AN_ENVELOPE"],
  [{ statementId: "x", rows: [], signature: "a.b" }, "JWS_MALFORMED"],
])("parseStatement refuses %j with %s", (given, reason) => {
  expect(parseStatement(given)).toMatchObject({ reason } as never);
});

test("isStatement recognises a statement by the type of its JWS or by its members", () => {
  const statements = [signature, { signature }, { statementId: 1, rows: 1 }];
  const others = [
    envelope,
    tokenOf(),
    "",
    "x",
    signature.split(".")[0] ?? "",
    { statementId: 1 },
    { rows: 1 },
  ];
  const more = [{ row: 1, path: 1 }, [signature], 7, null, { set: signature }];
  expect(statements.map(isStatement)).toEqual(statements.map(() => true));
  expect([...others, ...more].map(isStatement)).toEqual([...others, ...more].map(() => false));
});

test("the leaf of a statement row is computed from a fixed line and the row's canonical JSON", async () => {
  const expected = leaf(Buffer.from(`tvs/v1/statement-row\n${formatCanonicalJson(row)}`));
  expect(await leafHashOfRow(row as StatementRow)).toEqual(new Uint8Array(expected));
});
