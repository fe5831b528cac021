import { expect, test } from "bun:test";
import { formatCanonicalJson } from "../../src/partner/canonical-json.ts";
import type { SignedStatement } from "../../src/partner/contract.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import type { RefusalReason } from "../../src/partner/reasons.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { compareWithSignedClaims, verifyStatement } from "../../src/partner/verify-statement.ts";
import * as examples from "../api/openapi/examples.ts";
import { audience, issuer, keys, now, signTexts } from "../fixtures/envelope-tokens.ts";
import { leaf, mth } from "../fixtures/rfc6962.ts";

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
});

const leafOf = (row: object, line = "tvs/v1/statement-row\n") =>
  leaf(Buffer.from(`${line}${formatCanonicalJson(row as never)}`));

type Change = { claims?: object; header?: object; numbers?: readonly number[] };

/** Signs a statement over `count` rows. The changes of claims, header and row numbers are made before signing. */
function signed(count: number, { claims = {}, header = {}, numbers }: Change = {}) {
  const rows = (numbers ?? Array.from({ length: count }, (_, index) => index + 1)).map(rowOf);
  const { purpose, policyVersion, list } = statement;
  const people = { listed: count, distinct: count, found: count, eligible: count };
  const all = { ...people, percentEligible: 100, byReason: {} };
  const said = { purpose, policyVersion, list, summary: all };
  const payload = {
    ...{ iss: issuer, aud: audience, jti: statement.statementId, iat: Date.parse(statement.issuedAt) / 1000 },
    ...said,
    rowsRoot: mth(rows.map((row) => leafOf(row))).toString("base64"),
    ...claims,
  };
  const head = { alg: "RS256", kid: keys.active.kid, typ: "tvs-statement+jwt", ...header };
  const signature = signTexts(JSON.stringify(head), JSON.stringify(payload), "active");
  return { ...statement, ...said, rows, signature };
}

test("verifyStatement accepts a genuine statement with its list and each row", async () => {
  const verification = await verifyStatement(shown, options);
  expect(verification).toMatchObject({ valid: true, reason: null, result: null, audience, issuer });
  const { purpose, policyVersion, list, summary, rows } = statement;
  expect(verification.statement).toEqual({ purpose, policyVersion, list, summary, rows });
  expect(verification.checks.filter(({ ok }) => ok === false)).toEqual([]);
});

test.each([1, 2, 3, 5, 64, 257, 2000])(
  "verifyStatement accepts a statement of %i rows only if no row was changed, removed, moved or added",
  async (count) => {
    const one = signed(count);
    expect(await verifyStatement(JSON.stringify(one), options)).toMatchObject({ valid: true });
    const reasonOf = async (rows: readonly object[]) =>
      (await verifyStatement(JSON.stringify({ ...one, rows }), options)).reason;
    for (const place of new Set([0, Math.floor(count / 2), count - 1])) {
      const { rows } = one;
      const changed = { ...rowOf(place + 1), regNo: "X/1/Y/2" };
      expect(await reasonOf(rows.with(place, changed))).toBe("ROWS_DIFFER");
      const left = rows.toSpliced(place, 1);
      expect(await reasonOf(left)).toBe(count === 1 ? "STATEMENT_MALFORMED" : "ROWS_DIFFER");
      const renumbered = left.map((row, index) => ({ ...row, row: index + 1 }));
      if (count > 1) expect(await reasonOf(renumbered)).toBe("ROWS_DIFFER");
      if (count > 1 && place > 0) {
        const [before, after] = [rows[place - 1] as object, rows[place] as object];
        expect(await reasonOf(rows.with(place - 1, after as never).with(place, before as never))).toBe(
          "ROWS_DIFFER",
        );
      }
      if (count < 2000)
        expect(await reasonOf(rows.toSpliced(place, 0, rowOf(place + 1)))).toBe("ROWS_DIFFER");
    }
  },
);

// biome-ignore format: a table reads better in rows
const cases: [string, (statement: SignedStatement) => unknown, RefusalReason][] = [
  ["a row with a further member", (one) => ({ ...one, rows: [{ ...one.rows[0], more: 1 }, one.rows[1]] }),
    "ROWS_DIFFER"],
  ["a root over leaves of another tree", () => signed(1, { claims: { rowsRoot: leafOf(rowOf(1), "").toString("base64") } }),
    "ROWS_DIFFER"],
  ["another unsigned summary", (one) => ({ ...one, summary: { ...one.summary, percentEligible: 100 } }),
    "OUTER_STATEMENT_DIFFERS"],
  ["another unsigned list", (one) => ({ ...one, list: { ...one.list, name: "Y" } }),
    "OUTER_STATEMENT_DIFFERS"],
  ["another unsigned purpose", (one) => ({ ...one, purpose: "X" }), "OUTER_STATEMENT_DIFFERS"],
  ["another unsigned issuer", (one) => ({ ...one, issuer: "https://x.example" }), "OUTER_ISSUER_DIFFERS"],
  ["another unsigned audience", (one) => ({ ...one, audience: "x" }), "OUTER_AUDIENCE_DIFFERS"],
  ["another unsigned key id", (one) => ({ ...one, signatureKid: "x" }), "OUTER_KID_DIFFERS"],
  ["another unsigned id", (one) => ({ ...one, statementId: "x" }), "OUTER_VERIFICATION_ID_DIFFERS"],
  ["another unsigned time", (one) => ({ ...one, issuedAt: "2026-03-01T09:30:01Z" }),
    "OUTER_VERIFIED_AT_DIFFERS"],
  ["a wrong signature", (one) => ({ ...one, signature: `${one.signature.slice(0, -4)}AAAA` }),
    "SIGNATURE_INVALID"],
  ["an envelope's signature", (one) => ({ ...one, signature: foundEnvelope.signature }), "IS_AN_ENVELOPE"],
  ["another JWS type", () => signed(1, { header: { typ: "key-history+jwt" } }), "HEADER_TYP"],
  ["the JWS type of an envelope", () => signed(1, { header: { typ: "JWT" } }), "IS_AN_ENVELOPE"],
  ["another algorithm", () => signed(1, { header: { alg: "none" } }), "HEADER_ALG"],
  ["another issuer", () => signed(1, { claims: { iss: "https://x.example" } }), "ISSUER_MISMATCH"],
  ["another audience", () => signed(1, { claims: { aud: "x" } }), "AUDIENCE_MISMATCH"],
  ["a list of audiences", () => signed(1, { claims: { aud: [audience] } }), "AUDIENCE_NOT_SINGLE"],
  ["a time of signing in the future", () => signed(1, { claims: { iat: Date.parse(now) / 1000 + 61 } }), "ISSUED_IN_FUTURE"],
  ["an expiry in the past", () => signed(1, { claims: { exp: 1 } }), "TOKEN_EXPIRED"],
  ["a malformed summary", () => signed(1, { claims: { summary: { listed: 1 } } }), "CLAIM_TYPE"],
  ["a malformed root", () => signed(1, { claims: { rowsRoot: "x" } }), "CLAIM_TYPE"],
  ["no list", () => signed(1, { claims: { list: undefined } }), "CLAIM_MISSING"],
  ["fewer rows than its summary counts",
    () => signed(1, { claims: { summary: { ...statement.summary, listed: 2 } } }), "ROWS_DIFFER"],
  ["rows that are not in the order of their numbers", () => signed(2, { numbers: [2, 1] }), "ROWS_DIFFER"],
  ["a gap in the row numbers", () => signed(2, { numbers: [1, 3] }), "ROWS_DIFFER"],
  ["an envelope in its place", () => foundEnvelope, "IS_AN_ENVELOPE"],
];

test.each(cases)("verifyStatement refuses a statement with %s", async (_what, change, reason) => {
  const verification = await verifyStatement(JSON.stringify(change(statement)), options);
  expect([verification.valid, verification.reason]).toEqual([false, reason]);
  expect(verification.statement?.rows ?? null).toBeNull();
  if (reason === "AUDIENCE_MISMATCH") expect(verification.statement?.list).toEqual(statement.list);
});

const { summary } = signed(1);
const counts = ["listed", "distinct", "found", "eligible"].flatMap((name) => [
  { [name]: -1 },
  { [name]: 0.5 },
]);
const wrongSummaries = [...counts, { percentEligible: "1" }, { byReason: 7 }, { byReason: { X: -1 } }];
const required = ["iss", "aud", "jti", "purpose", "policyVersion", "list", "summary", "rowsRoot"];
test.each<[detail: string, ...changes: object[]]>([
  ...required.map((claim): [string, object] => [`The claim ${claim} is missing.`, { [claim]: undefined }]),
  ...required.map((claim): [string, object] => [`The claim ${claim} is malformed.`, { [claim]: 7 }]),
  [
    "The claim list is malformed.",
    ...[{}, { name: 7 }, { name: "x", reference: 7 }].map((list) => ({ list })),
  ],
  [
    "The claim summary is malformed.",
    ...wrongSummaries.map((change) => ({ summary: { ...summary, ...change } })),
  ],
  ["The claim exp or nbf is not a number.", { exp: "9" }, { nbf: "9" }],
])("verifyStatement refuses wrong claims, and names the fault: %s", async (detail, ...changes) => {
  for (const claims of changes) {
    const { checks } = await verifyStatement(JSON.stringify(signed(1, { claims })), options);
    expect(checks.find(({ ok }) => ok === false)).toMatchObject({ name: "claims", detail });
  }
});

test("verifyStatement accepts a statement with time limits, zero counts or a list without a reference", async () => {
  const claims = { exp: Date.parse(now) / 1000 + 1, nbf: 1, list: { name: "X" } };
  const one = { ...signed(1, { claims }), list: { name: "X" } };
  expect(await verifyStatement(JSON.stringify(one), options)).toMatchObject({ valid: true });
  const { now: _now, ...timeless } = options;
  expect(await verifyStatement(shown, timeless)).toMatchObject({ valid: true });
  const nothing = { ...summary, distinct: 0, found: 0, eligible: 0, byReason: { X: 0 } };
  const none = { ...signed(1, { claims: { summary: nothing } }), summary: nothing };
  expect(await verifyStatement(JSON.stringify(none), options)).toMatchObject({ valid: true });
});

test("verifyStatement describes its checks of the form, the unsigned members and the status list", async () => {
  const whole = (await verifyStatement(shown, options)).checks.map(({ detail }) => detail);
  expect([whole[0], ...whole.slice(-2)]).toEqual([
    "A well-formed statement, strict JSON, canonical base64url.",
    "Every row, and what stands beside the signature, is what is signed.",
    "A statement names no places in status lists.",
  ]);
  const edited = await verifyStatement(JSON.stringify({ ...statement, purpose: "X" }), options);
  expect(edited.checks.find(({ ok }) => ok === false)).toMatchObject({
    name: "outer",
    detail: "The unsigned purpose differs from the signed one.",
  });
});

test("compareWithSignedClaims compares a statement with its signed claims", async () => {
  const payload = JSON.parse(Buffer.from(statement.signature.split(".")[1] ?? "", "base64url").toString());
  const reasonOf = async (given: object, claims: object, kid = statement.signatureKid) =>
    (await compareWithSignedClaims(given as never, { ...payload, ...claims }, kid))?.reason ?? null;
  expect(await reasonOf(statement, {})).toBeNull();
  expect(await reasonOf(statement, {}, "x")).toBe("OUTER_KID_DIFFERS");
  expect(await reasonOf(statement, { purpose: 7 })).toBe("CLAIM_TYPE");
  expect(await reasonOf({ ...statement, rows: [] }, {})).toBe("STATEMENT_MALFORMED");
  expect(await reasonOf({ ...statement, issuedAt: 7 }, {})).toBe("OUTER_VERIFIED_AT_DIFFERS");
});

test("verifyEnvelope refuses a statement in every form", async () => {
  const shells = [
    statement,
    statement.signature,
    { signature: statement.signature, row: statement.rows[0], path: [] },
    { ...foundEnvelope, signature: statement.signature },
    { signature: statement.signature },
  ];
  for (const one of shells) {
    const text = typeof one === "string" ? one : JSON.stringify(one);
    expect((await verifyEnvelope(text, options)).reason).toBe("IS_A_STATEMENT");
  }
});
