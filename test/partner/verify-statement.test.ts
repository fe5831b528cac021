import { describe, expect, test } from "bun:test";
import { createHash, sign } from "node:crypto";
import { canonicalJson } from "../../src/partner/canonical-json.ts";
import type { SignedStatement } from "../../src/partner/contract.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import type { RefusalReason } from "../../src/partner/reasons.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import {
  findStatementDifference,
  rowOfStatement,
  verifyStatement,
} from "../../src/partner/verify-statement.ts";
import * as examples from "../api/openapi/examples.ts";
import { audience, base64url, issuer, keys, now } from "../fixtures/envelope-tokens.ts";

const options = {
  keys: await createKeySet({ jwks: JSON.stringify(examples.jwks) }),
  issuer,
  audience,
  now: new Date(now),
};
const { statement, foundEnvelope } = examples;
const shown = JSON.stringify(statement);

const rowOf = (n: number) => ({
  ...{ row: n, tId: n, regNo: `A/1/B/${n}`, eligible: true, status: "VALID", reasons: [], nameMatches: null },
  salt: createHash("sha256").update(String(n)).digest().subarray(0, 16).toString("base64url"),
});

const sha256 = (...parts: Uint8Array[]) => createHash("sha256").update(Buffer.concat(parts)).digest();

function rootOf(leaves: Buffer[]): Buffer {
  if (leaves.length === 1) return leaves[0] as Buffer;
  const left = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, left)), rootOf(leaves.slice(left)));
}

type Change = { claims?: object; header?: object; numbers?: readonly number[] };

/** A genuine statement over so many rows; whatever is changed in its claims, header or rows' numbers is signed. */
function signed(count: number, { claims = {}, header = {}, numbers }: Change = {}) {
  const rows = (numbers ?? Array.from({ length: count }, (_, index) => index + 1)).map(rowOf);
  const leaves = rows.map(({ salt, ...row }) =>
    sha256(Buffer.of(0), Buffer.from(salt, "base64url"), Buffer.from(canonicalJson(row))),
  );
  const { purpose, policyVersion, list } = statement;
  const all = {
    listed: count,
    distinct: count,
    found: count,
    eligible: count,
    percentEligible: 100,
    byReason: {},
  };
  const said = { purpose, policyVersion, list, summary: all };
  const payload = {
    ...{ iss: issuer, aud: audience, jti: statement.statementId, iat: Date.parse(statement.issuedAt) / 1000 },
    ...said,
    rowsRoot: rootOf(leaves).toString("base64"),
    ...claims,
  };
  const { kid, privateKey } = keys.active;
  const head = { alg: "RS256", kid, typ: "tvs-statement+jwt", ...header };
  const input = `${base64url(JSON.stringify(head))}.${base64url(JSON.stringify(payload))}`;
  const signature = `${input}.${base64url(sign("sha256", Buffer.from(input), privateKey))}`;
  return { ...statement, ...said, rows, signature };
}

describe("a statement over a list", () => {
  test("verifies, with what it says of the list and of each row", async () => {
    const verification = await verifyStatement(shown, options);
    expect(verification).toMatchObject({ valid: true, reason: null, result: null, audience, issuer });
    const { purpose, policyVersion, list, summary, rows } = statement;
    expect(verification.statement).toEqual({ purpose, policyVersion, list, summary, rows });
    expect(verification.checks.filter(({ ok }) => ok === false)).toEqual([]);
  });

  test.each([1, 2, 3, 5, 64, 257, 2000])(
    "of %i rows verifies, and so does each row of it alone",
    async (count) => {
      const text = JSON.stringify(signed(count));
      expect(await verifyStatement(text, options)).toMatchObject({ valid: true });
      for (const row of [1, Math.ceil(count / 2), count]) {
        const alone = JSON.stringify(await rowOfStatement(text, row));
        const verification = await verifyStatement(alone, options);
        expect(verification).toMatchObject({ valid: true, statement: { rows: [rowOf(row)] } });
        if (count > 1) expect(alone).not.toContain(`"A/1/B/${row === 1 ? count : 1}"`);
      }
    },
  );

  const cases: [string, (statement: SignedStatement) => unknown, RefusalReason][] = [
    [
      "a row that was changed",
      (one) => ({ ...one, rows: [{ ...one.rows[0], regNo: "X/1/Y/2" }, one.rows[1]] }),
      "ROWS_DIFFER",
    ],
    [
      "a row with a further member",
      (one) => ({ ...one, rows: [{ ...one.rows[0], more: 1 }, one.rows[1]] }),
      "ROWS_DIFFER",
    ],
    ["a row that was taken out", (one) => ({ ...one, rows: one.rows.slice(1) }), "ROWS_DIFFER"],
    ["a row that was added", (one) => ({ ...one, rows: [...one.rows, rowOf(3)] }), "ROWS_DIFFER"],
    ["rows that were moved", (one) => ({ ...one, rows: one.rows.toReversed() }), "ROWS_DIFFER"],
    [
      "another salt",
      (one) => ({ ...one, rows: [{ ...one.rows[0], salt: rowOf(9).salt }, one.rows[1]] }),
      "ROWS_DIFFER",
    ],
    [
      "a salt with spare bits",
      (one) => ({ ...one, rows: [{ ...one.rows[0], salt: "mV0mU1u0cG9aXk0y5g3bXx" }, one.rows[1]] }),
      "STATEMENT_MALFORMED",
    ],
    [
      "an eligible row without a licence",
      (one) => ({ ...one, rows: [one.rows[0], { ...one.rows[1], eligible: true }] }),
      "STATEMENT_MALFORMED",
    ],
    ["no rows", (one) => ({ ...one, rows: [] }), "STATEMENT_MALFORMED"],
    [
      "more rows than any list",
      (one) => ({ ...one, rows: Array.from({ length: 2001 }, () => one.rows[0]) }),
      "STATEMENT_MALFORMED",
    ],
    [
      "another share beside it",
      (one) => ({ ...one, summary: { ...one.summary, percentEligible: 100 } }),
      "OUTER_STATEMENT_DIFFERS",
    ],
    [
      "another list beside it",
      (one) => ({ ...one, list: { ...one.list, name: "Y" } }),
      "OUTER_STATEMENT_DIFFERS",
    ],
    ["another purpose beside it", (one) => ({ ...one, purpose: "X" }), "OUTER_STATEMENT_DIFFERS"],
    ["another issuer beside it", (one) => ({ ...one, issuer: "https://x.example" }), "OUTER_ISSUER_DIFFERS"],
    ["another audience beside it", (one) => ({ ...one, audience: "x" }), "OUTER_AUDIENCE_DIFFERS"],
    ["another key beside it", (one) => ({ ...one, signatureKid: "x" }), "OUTER_KID_DIFFERS"],
    ["another id beside it", (one) => ({ ...one, statementId: "x" }), "OUTER_VERIFICATION_ID_DIFFERS"],
    [
      "another time beside it",
      (one) => ({ ...one, issuedAt: "2026-03-01T09:30:01Z" }),
      "OUTER_VERIFIED_AT_DIFFERS",
    ],
    [
      "a signature over something else",
      (one) => ({ ...one, signature: `${one.signature.slice(0, -4)}AAAA` }),
      "SIGNATURE_INVALID",
    ],
    ["an envelope's signature", (one) => ({ ...one, signature: foundEnvelope.signature }), "IS_AN_ENVELOPE"],
    ["another type", () => signed(1, { header: { typ: "key-history+jwt" } }), "HEADER_TYP"],
    ["an envelope's type", () => signed(1, { header: { typ: "JWT" } }), "IS_AN_ENVELOPE"],
    ["another algorithm", () => signed(1, { header: { alg: "none" } }), "HEADER_ALG"],
    ["another issuer", () => signed(1, { claims: { iss: "https://x.example" } }), "ISSUER_MISMATCH"],
    ["another audience", () => signed(1, { claims: { aud: "x" } }), "AUDIENCE_MISMATCH"],
    ["a list of audiences", () => signed(1, { claims: { aud: [audience] } }), "AUDIENCE_NOT_SINGLE"],
    ["a time to come", () => signed(1, { claims: { iat: Date.parse(now) / 1000 + 61 } }), "ISSUED_IN_FUTURE"],
    ["an end that has come", () => signed(1, { claims: { exp: 1 } }), "TOKEN_EXPIRED"],
    ["a summary of another form", () => signed(1, { claims: { summary: { listed: 1 } } }), "CLAIM_TYPE"],
    ["a root that is none", () => signed(1, { claims: { rowsRoot: "x" } }), "CLAIM_TYPE"],
    ["no list", () => signed(1, { claims: { list: undefined } }), "CLAIM_MISSING"],
    [
      "fewer rows than it counts",
      () => signed(1, { claims: { summary: { ...statement.summary, listed: 2 } } }),
      "ROWS_DIFFER",
    ],
    ["rows that it numbers otherwise", () => signed(2, { numbers: [1, 3] }), "ROWS_DIFFER"],
    ["an envelope", () => foundEnvelope, "IS_AN_ENVELOPE"],
  ];

  test.each(cases)("with %s is refused", async (_what, change, reason) => {
    const verification = await verifyStatement(JSON.stringify(change(statement)), options);
    expect([verification.valid, verification.reason]).toEqual([false, reason]);
    expect(verification.statement?.rows ?? null).toBeNull();
  });

  const { summary } = signed(1);
  test.each<[claims: object, told: string]>([
    ...["iss", "aud", "jti", "purpose", "policyVersion", "list", "summary", "rowsRoot"].flatMap(
      (claim): [object, string][] => [
        [{ [claim]: undefined }, `The claim ${claim} is missing.`],
        [{ [claim]: 7 }, `The claim ${claim} is malformed.`],
      ],
    ),
    ...[{}, { name: 7 }, { name: "x", reference: 7 }].map((list): [object, string] => [
      { list },
      "The claim list is malformed.",
    ]),
    ...[
      ...["listed", "distinct", "found", "eligible"].flatMap((count) => [{ [count]: -1 }, { [count]: 0.5 }]),
      ...[{ percentEligible: "1" }, { byReason: 7 }, { byReason: { X: -1 } }],
    ].map((change): [object, string] => [
      { summary: { ...summary, ...change } },
      "The claim summary is malformed.",
    ]),
    ...["exp", "nbf"].map((limit): [object, string] => [
      { [limit]: "9" },
      "The claim exp or nbf is not a number.",
    ]),
  ])("with the claims %j says what is wrong", async (claims, told) => {
    const { checks } = await verifyStatement(JSON.stringify(signed(1, { claims })), options);
    expect(checks.find(({ ok }) => ok === false)).toMatchObject({ name: "claims", detail: told });
  });

  test("may have limits, counts of nothing and a list without a reference", async () => {
    const claims = { exp: Date.parse(now) / 1000 + 1, nbf: 1, list: { name: "X" } };
    const one = { ...signed(1, { claims }), list: { name: "X" } };
    expect(await verifyStatement(JSON.stringify(one), options)).toMatchObject({ valid: true });
    const { now: _now, ...timeless } = options;
    expect(await verifyStatement(shown, timeless)).toMatchObject({ valid: true });
    const nothing = { ...summary, distinct: 0, found: 0, eligible: 0, byReason: { X: 0 } };
    const none = { ...signed(1, { claims: { summary: nothing } }), summary: nothing };
    expect(await verifyStatement(JSON.stringify(none), options)).toMatchObject({ valid: true });
  });

  test("says what was looked at, of all of it and of a row alone", async () => {
    const toldOf = async (text: string) =>
      (await verifyStatement(text, options)).checks.map(({ detail }) => detail);
    const whole = await toldOf(shown);
    const row = await toldOf(JSON.stringify(await rowOfStatement(shown, 1)));
    const noPlace = "A statement names no places in status lists.";
    expect([whole[0], ...whole.slice(-2)]).toEqual([
      "A well-formed statement, strict JSON, canonical base64url.",
      "Every row, and what stands beside the signature, is what is signed.",
      noPlace,
    ]);
    expect([row[0], ...row.slice(-2)]).toEqual([
      "A well-formed row of a statement, strict JSON, canonical base64url.",
      "The row is one of those that are signed.",
      noPlace,
    ]);
    const edited = await verifyStatement(JSON.stringify({ ...statement, purpose: "X" }), options);
    expect(edited.checks.find(({ ok }) => ok === false)).toMatchObject({
      name: "outer",
      detail: "The unsigned purpose differs from the signed one.",
    });
  });

  test("is compared with what was signed before it is handed out", async () => {
    const payload = JSON.parse(Buffer.from(statement.signature.split(".")[1] ?? "", "base64url").toString());
    const reasonOf = async (given: object, claims: object, kid = statement.signatureKid) =>
      (await findStatementDifference(given as never, { ...payload, ...claims }, kid))?.reason ?? null;
    expect(await reasonOf(statement, {})).toBeNull();
    expect(await reasonOf(statement, {}, "x")).toBe("OUTER_KID_DIFFERS");
    expect(await reasonOf(statement, { purpose: 7 })).toBe("CLAIM_TYPE");
    expect(await reasonOf({ ...statement, rows: [] }, {})).toBe("STATEMENT_MALFORMED");
    expect(await reasonOf({ ...statement, issuedAt: 7 }, {})).toBe("OUTER_VERIFIED_AT_DIFFERS");
  });

  test("for another partner says what is signed, without rows", async () => {
    const { valid, statement: told } = await verifyStatement(shown, { ...options, audience: "x" });
    const { purpose, policyVersion, list } = statement;
    expect([valid, told]).toEqual([
      false,
      { purpose, policyVersion, list, summary: statement.summary, rows: null },
    ]);
  });

  test("with a member twice is refused", async () => {
    const twice = shown.replace('"row":1,', '"row":1,"eligible":false,');
    expect((await verifyStatement(twice, options)).reason).toBe("JSON_DUPLICATE_MEMBER");
  });

  test("that is none is called what it is", async () => {
    expect((await verifyStatement('{"statusCode":404,"message":"x"}', options)).reason).toBe(
      "NOT_AN_ENVELOPE",
    );
    expect((await verifyStatement(foundEnvelope.signature, options)).reason).toBe("IS_AN_ENVELOPE");
    // It says nothing of anybody without its rows.
    expect((await verifyStatement(statement.signature, options)).reason).toBe("STATEMENT_MALFORMED");
  });

  test("is never taken for an envelope, in whatever shell", async () => {
    const shells = [
      statement,
      statement.signature,
      await rowOfStatement(shown, 1),
      { ...foundEnvelope, signature: statement.signature },
      { signature: statement.signature },
    ];
    for (const one of shells) {
      const text = typeof one === "string" ? one : JSON.stringify(one);
      expect((await verifyEnvelope(text, options)).reason).toBe("IS_A_STATEMENT");
    }
  });
});

describe("a row that is shown alone", () => {
  const alone = async (change: (row: { signature: string; row: object; path: string[] }) => object) => {
    const row = await rowOfStatement(JSON.stringify(signed(5)), 4);
    return verifyStatement(JSON.stringify(change(row as never)), options);
  };

  test.each<[string, (one: { signature: string; row: object; path: string[] }) => object, RefusalReason]>([
    ["changed", (one) => ({ ...one, row: { ...one.row, regNo: "X/1/Y/2" } }), "ROWS_DIFFER"],
    ["shown in another's place", (one) => ({ ...one, row: { ...one.row, row: 3 } }), "ROWS_DIFFER"],
    ["shown beyond the last", (one) => ({ ...one, row: { ...one.row, row: 6 } }), "ROWS_DIFFER"],
    ["shown with a hash less", (one) => ({ ...one, path: one.path.slice(1) }), "ROWS_DIFFER"],
    ["shown with a hash more", (one) => ({ ...one, path: [...one.path, one.path[0]] }), "ROWS_DIFFER"],
    ["shown with a path that is none", (one) => ({ ...one, path: ["x"] }), "STATEMENT_MALFORMED"],
    ["shown without a path", ({ path: _, ...one }) => one, "STATEMENT_MALFORMED"],
    ["shown with a summary beside it", (one) => ({ ...one, summary: {} }), "STATEMENT_MALFORMED"],
    ["shown with a purpose beside it", (one) => ({ ...one, purpose: "X" }), "STATEMENT_MALFORMED"],
    ["shown with a time beside it", (one) => ({ ...one, issuedAt: now }), "STATEMENT_MALFORMED"],
    ["shown under another statement", (one) => ({ ...one, signature: statement.signature }), "ROWS_DIFFER"],
  ])("and %s is refused", async (_what, change, reason) => {
    expect((await alone(change)).reason).toBe(reason);
  });

  test("is as it was signed, and nothing else stands beside it", async () => {
    expect((await alone((one) => one)).valid).toBe(true);
    const { reason, checks } = await alone((one) => ({ ...one, list: { name: "Forged" } }));
    expect([reason, checks[0]?.detail]).toEqual([
      "STATEMENT_MALFORMED",
      expect.stringContaining("and no others"),
    ]);
  });

  test("is there for each row of the list and for no other", async () => {
    for (const row of [0, 3, -1, 1.5])
      expect(await rowOfStatement(shown, row)).toMatchObject({
        reason: "STATEMENT_MALFORMED",
        detail: "The statement has no such row.",
      } as never);
    const [row, nothing] = [JSON.stringify(await rowOfStatement(shown, 1)), "hello"];
    expect(await rowOfStatement(row, 1)).toMatchObject({ reason: "STATEMENT_MALFORMED" });
    expect(await rowOfStatement(nothing, 1)).toMatchObject({ reason: "NOT_AN_ENVELOPE" });
  });
});
