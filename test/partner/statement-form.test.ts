import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { canonicalJson } from "../../src/partner/canonical-json.ts";
import type { StatementRow } from "../../src/partner/contract.ts";
import { isEvent, isStatement, readStatementForm, rowLeafHash } from "../../src/partner/statement-form.ts";
import type { JsonValue } from "../../src/partner/strict-json.ts";

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (typ?: string) => `${encoded({ alg: "RS256", kid: "k", typ })}.e30.AA`;
const [signature, event, envelope] = [tokenOf("tvs-statement+jwt"), tokenOf("secevent+jwt"), tokenOf("JWT")];
const saltOf = (bytes: number) => Buffer.alloc(bytes, 7).toString("base64url");
const row = {
  ...{ row: 1, tId: 7, regNo: "A/1/B/1", eligible: true, status: "VALID", reasons: [] as string[] },
  ...{ nameMatches: null, salt: saltOf(16) },
};
const hash = Buffer.alloc(32, 7).toString("base64");
const alone = { signature, row, path: [hash] };

describe("a statement's form", () => {
  test("is every row, or one of them alone with its path", () => {
    const rows = [
      row,
      {
        ...row,
        tId: null,
        regNo: null,
        eligible: false,
        status: "EXPIRED",
        reasons: ["X"],
        nameMatches: true,
      },
    ];
    for (const given of [{ signature, rows }, ` \n${JSON.stringify({ signature, rows, more: 1 })}`])
      expect(readStatementForm(given)).toMatchObject({ rows, path: null } as never);
    const path = Array(16).fill(new Uint8Array(32).fill(7));
    const one = { ...alone, path: Array(16).fill(hash) };
    expect(readStatementForm(one)).toMatchObject({ rows: [row], path, given: one } as never);
  });

  test.each<[change: Partial<Record<keyof typeof row, JsonValue>>]>([
    ...[0, "1", 1.5, null].map((value): [object] => [{ row: value }]),
    ...["7", 0.5].map((value): [object] => [{ tId: value }]),
    ...[{ regNo: 7 }, { eligible: 1 }, { status: "X" }, { reasons: [7] }, { nameMatches: 1 }].map(
      (one): [object] => [one],
    ),
    ...[7, saltOf(15), saltOf(17), `${saltOf(16)}=`].map((salt): [object] => [{ salt }]),
    [{ eligible: true, status: "EXPIRED" }],
  ])("has no row with %j", (change) => {
    const bad = { ...row, ...change };
    const rows = { reason: "STATEMENT_MALFORMED", detail: "The row in place 2 is malformed." };
    expect(readStatementForm({ signature, rows: [row, bad] })).toMatchObject(rows as never);
    expect(readStatementForm({ ...alone, row: bad })).toMatchObject({
      detail: "The row is malformed.",
    } as never);
  });

  const [noRows, noPath] = ["The rows are no list of 1 to 2000.", "The path is no list of hashes."];
  test.each<[given: JsonValue, detail: string]>([
    [{ signature, rows: [] }, noRows],
    [{ signature, rows: {} }, noRows],
    [{ signature, rows: [7] }, "The row in place 1 is malformed."],
    [{ signature }, "The row is malformed."],
    [{ signature, path: [], more: 1 }, "The row is malformed."],
    [
      { ...alone, more: 1 },
      "A row that is shown alone has the members signature, row and path, and no others.",
    ],
    ...[{}, [7], ["x"], [hash, "x"], Array(17).fill(hash)].map((path): [JsonValue, string] => [
      { ...alone, path },
      noPath,
    ]),
    [signature, "The rows are missing: the signature alone says nothing of anybody."],
    [{ statementId: "x", rows: [] }, "The member signature is missing or not a text."],
    [{ row, path: [], signature: 7 }, "The member signature is missing or not a text."],
  ])("is not %j: %s", (given, detail) => {
    expect(readStatementForm(given)).toMatchObject({ reason: "STATEMENT_MALFORMED", detail } as never);
  });

  test("may have as many rows as the service takes of a list", () => {
    expect(readStatementForm({ signature, rows: Array(2000).fill(row) })).toHaveProperty("rows.length", 2000);
    const more = readStatementForm({ signature, rows: Array(2001).fill(row) });
    expect(more).toMatchObject({ detail: noRows } as never);
  });

  test.each<[given: string | JsonValue, reason: string]>([
    ['{"rows":1,"rows":1}', "JSON_DUPLICATE_MEMBER"],
    [{ signature: event }, "IS_AN_EVENT"],
    [{ set: event }, "IS_AN_EVENT"],
    [event, "IS_AN_EVENT"],
    [envelope, "IS_AN_ENVELOPE"],
    [{ signature: envelope }, "IS_AN_ENVELOPE"],
    ["hello {}", "NOT_AN_ENVELOPE"],
    [{ statementId: "x", rows: [], signature: "a.b" }, "JWS_MALFORMED"],
  ])("is not %j, which is called %s", (given, reason) => {
    expect(readStatementForm(given)).toMatchObject({ reason } as never);
  });
});

test("what calls itself a statement, or an event, is told by its type or its members", () => {
  const statements = [signature, { signature }, { statementId: 1, rows: 1 }, { row: 1, path: 1 }];
  const others = [
    event,
    envelope,
    tokenOf(),
    "",
    "x",
    signature.split(".")[0] ?? "",
    { statementId: 1 },
    { rows: 1 },
  ];
  const more = [{ row: 1 }, { path: 1 }, [signature], 7, null, { set: signature }];
  expect(statements.map(isStatement)).toEqual(statements.map(() => true));
  expect([...others, ...more].map(isStatement)).toEqual([...others, ...more].map(() => false));
  const events = [event, { set: event }, { signature: event }, { set: event, signature: envelope }];
  expect(events.map(isEvent)).toEqual(events.map(() => true));
  expect([signature, {}, 7, [event], { set: envelope, signature: event }].map(isEvent)).toEqual(
    Array(5).fill(false),
  );
});

test("a row's leaf is made of its salt and the rest of it", async () => {
  const { salt, ...rest } = row;
  const parts = [Buffer.of(0), Buffer.from(salt, "base64url"), Buffer.from(canonicalJson(rest))];
  const leaf = createHash("sha256").update(Buffer.concat(parts)).digest();
  expect(Buffer.from(await rowLeafHash(row as StatementRow))).toEqual(leaf);
});
