import { expect, test } from "bun:test";
import {
  findJsonDifference,
  findResultProblem,
  isSameSecond,
  readClaimedIssuer,
  readEnvelopeClaims,
  readIssuedAt,
  readUnsignedMembers,
  verificationPageOfIssuer,
} from "../../src/partner/claims.ts";
import { type Refusal, refuse } from "../../src/partner/reasons.ts";
import type { JsonObject, JsonValue } from "../../src/partner/strict-json.ts";

const dates = { issueDate: "2020-01-01", expiryDate: null };
const result = {
  ...{ found: true, source: "new_system", status: "VALID", eligible: true, reasons: [] },
  teacher: { name: "Ada", tId: 1, state: null, category: "A" },
  license: { status: "VALID", ...dates, daysRemaining: 30 },
  certificate: { status: "VERIFIED", regNo: "LA/2019/PRI/04417", issueDate: null },
  profile: {},
};
const nobody = { found: false, status: "NOT_FOUND", eligible: false, reasons: [] };

test("the members of a signed result about a teacher may be missing or null", () => {
  expect([result, nobody].map(findResultProblem)).toEqual([null, null]);
  for (const member of ["source", "teacher", "license", "certificate", "profile"])
    for (const value of [{ [member]: null }, { [member]: undefined as unknown as null }])
      expect([result, nobody].map((one) => findResultProblem({ ...one, ...value }))).toEqual([null, null]);
});

const [name, status] = ["Ada", "VALID"];
// biome-ignore format: a table reads better in rows
test.each<[member: string, ...wrong: JsonValue[]]>([
  ["found", "true", null],
  ["source", "", 7],
  ["status", "SUSPENDED", 7, null, ["VALID"]],
  ["eligible", 1, null],
  ["reasons", "", null, [7], ["", null]],
  ["teacher", 7, [], {}, { name: 7 }, { name, tId: "1" }, { name, tId: 0.5 }, { name, state: 7 },
    { name, category: 7 }],
  ["license", "", {}, { status: "VERIFIED" }, { status, issueDate: 7 }, { status, expiryDate: 7 }],
  ["license", { status, daysRemaining: 0.5 }, { status, daysRemaining: "1" }],
  ["certificate", "", {}, { status }, { status: "CLAIMED", regNo: 7 }, { status: "CLAIMED", issueDate: 7 }],
  ["profile", 7, "", []],
])("a signed result with a malformed %s is refused", (member, ...wrong) => {
  for (const value of wrong)
    expect(findResultProblem({ ...result, [member]: value })).toBe(
      `The signed result's member ${member} is missing or malformed.`,
    );
});

test("a signed result must be an object without contradictions", () => {
  expect(findResultProblem([])).toBe("The signed result is not an object.");
  for (const member of ["source", "teacher", "license", "certificate", "profile"] as const)
    expect(findResultProblem({ ...nobody, [member]: result[member] })).toBe(
      "Nobody was found, yet the signed result describes somebody.",
    );
  expect(findResultProblem({ ...nobody, status: "EXPIRED" })).toBe(
    "Nobody was found, yet the signed status is not NOT_FOUND.",
  );
  const eligible = "The signed result is eligible without a VALID licence.";
  expect(findResultProblem({ ...nobody, eligible: true })).toBe(eligible);
  expect(findResultProblem({ ...result, status: "EXPIRED" })).toBe(eligible);
  expect(findResultProblem({ ...result, status: "EXPIRED", eligible: false })).toBeNull();
});

// Missing claims and claims of wrong types are fixtures, which verify-envelope.test.ts verifies.

const payload = { iss: "https://a.example", aud: "board", sub: "id", iat: 7, result } as JsonObject;
const [issuer, audience, verificationId] = ["https://a.example", "board", "id"];
const texts = { issuer, audience, verificationId, issuedAtSeconds: 7, result };

test("readEnvelopeClaims returns the claims with their time limits and their index in a status list", () => {
  const none = { expiresSeconds: null, notBeforeSeconds: null, status: null };
  expect(readEnvelopeClaims(payload, 7)).toEqual({ ...texts, ...none } as never);
  const status = { status_list: { idx: 0, uri: "u", ttl: 1 } };
  expect(readEnvelopeClaims({ ...payload, exp: 9, nbf: 8.5, status }, 7)).toEqual({
    ...texts,
    ...{ expiresSeconds: 9, notBeforeSeconds: 8.5, status: { idx: 0, uri: "u" } },
  } as never);
});

const places = [
  { idx: -1, uri: "u" },
  { idx: 0.5, uri: "u" },
  { idx: "1", uri: "u" },
  { idx: 1, uri: "" },
];
test.each<[reason: string, detail: string, ...claims: JsonObject[]]>([
  ["AUDIENCE_NOT_SINGLE", "What is signed is addressed to a list of audiences.", { aud: [] }],
  ["CLAIM_TYPE", "The claim iss is not a text.", { iss: "" }],
  ["CLAIM_TYPE", "The claim aud is not a text.", { aud: "" }],
  ["CLAIM_TYPE", "The claim sub is not a text.", { sub: "" }],
  ["RESULT_MALFORMED", "The signed result is not an object.", { result: 7 }],
  [
    "CLAIM_TYPE",
    "The claim status names no place in a status list.",
    ...[null, {}, []].map((status) => ({ status })),
    ...[null, ...places, { idx: 1, uri: 7 }].map((status_list) => ({ status: { status_list } })),
  ],
])("wrong signed claims are refused as %s: %s", (reason, detail, ...changes) => {
  const found = changes.map((claims) => readEnvelopeClaims({ ...payload, ...claims }, 7));
  expect(found).toMatchObject(changes.map(() => ({ reason, detail })) as never);
});

test("the claim iat must be a time in whole seconds", () => {
  expect([0, 7].map((iat) => readIssuedAt({ iat }))).toEqual([0, 7]);
  const detail = "The claim iat is not a time in whole seconds.";
  for (const iat of ["7", -1, 0.5, 1e15, null])
    expect(readIssuedAt({ iat })).toMatchObject({ reason: "CLAIM_TYPE", detail } as never);
});

test("readClaimedIssuer returns an issuer only if it is a plain web address", () => {
  const long = `https://${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.example/${"d".repeat(1)}`;
  const named = ["https://a.example", long.padEnd(200, "d")];
  expect(named.map((iss) => readClaimedIssuer({ iss }))).toEqual(named);
  // biome-ignore format: a table reads better in rows
  for (const iss of [
    7, "", "https://a .example", " https://a.example", "https://é.example", "mailto:a",
    long.padEnd(201, "d"),
  ])
    expect(readClaimedIssuer({ iss })).toBeNull();
  expect(readClaimedIssuer(refuse("JWS_MALFORMED"))).toBeNull();
});

test("the verification page of an issuer is verify-envelope below the issuer's URL", () => {
  expect(verificationPageOfIssuer("https://verify.example.gov/")).toBe(
    "https://verify.example.gov/verify-envelope",
  );
  expect(verificationPageOfIssuer("https://example.gov/teachers")).toBe(
    "https://example.gov/teachers/verify-envelope",
  );
  expect(verificationPageOfIssuer("http://localhost:8080//")).toBe("http://localhost:8080/verify-envelope");
  const longest = `https://verify.example.gov/${"a".repeat(1_973)}`;
  expect([longest.length, verificationPageOfIssuer(longest)]).toEqual([2_000, `${longest}/verify-envelope`]);
});

test.each([
  ["not a URL", "the registry"],
  ["another scheme than https", "javascript:alert(1)//"],
  ["a scheme that ends as http does", "xhttp://verify.example.gov"],
  ["a password", "https://me:secret@verify.example.gov"],
  ["a query", "https://verify.example.gov/?to=elsewhere"],
  ["a fragment", "https://verify.example.gov/#main"],
  ["more than 2,000 characters", `https://verify.example.gov/${"a".repeat(2_000)}`],
])("an issuer that is or has %s gets no link to its verification page", (_, issuer) => {
  expect(verificationPageOfIssuer(issuer)).toBeNull();
});

test.each<[signed: string, outer: JsonValue, place: string | null]>([
  ['{"a":[1,{"b":2}],"c":null}', { c: null, a: [1, { b: 2 }] }, null],
  ['{"a":[1,{"b":2}]}', { a: [1, { b: 3 }] }, "result.a[1].b"],
  ['{"a":[1,2]}', { a: [1] }, "result.a"],
  ['{"a":["x"]}', { a: "x" }, "result.a"],
  ['{"a":{}}', { a: [] }, "result.a"],
  ['{"a":{"b":1}}', { a: {} }, "result.a.b"],
  ['{"a":1}', { a: 1, b: 1 }, "result"],
  ["7", "7", "result"],
  ["null", {}, "result"],
  ['"x"', { 0: "x" }, "result"],
  // Every object inherits `__proto__`, and the inherited value looks like an empty object.
  ['{"__proto__":{}}', { b: 1 }, "result.__proto__"],
])(
  "findJsonDifference compares the signed %s with the unsigned %j, and returns %p",
  (signed, outer, place) => {
    expect(findJsonDifference(JSON.parse(signed), outer, "result")).toBe(place);
  },
);

test("isSameSecond returns true for a time in the same second, and false for an unreadable time", () => {
  const times = ["", "1970-01-01T00:00:00.999Z", "1970-01-01T00:00:01Z"];
  expect(times.map((time) => isSameSecond(time, 0))).toEqual([false, true, false]);
});

test("the refusal of an envelope names the missing or malformed member", () => {
  const names = ["verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid"];
  const whole = { ...Object.fromEntries(names.map((name) => [name, ""])), result: {} };
  expect(readUnsignedMembers(whole)).toBe(whole as never);
  for (const member of names)
    expect(readUnsignedMembers({ ...whole, [member]: 7 })).toMatchObject({
      reason: "ENVELOPE_MALFORMED",
      detail: `The member ${member} is missing or not a text.`,
    });
  const { reason, detail } = readUnsignedMembers({ ...whole, result: [] }) as Refusal;
  expect([reason, detail]).toEqual(["ENVELOPE_MALFORMED", "The member result is missing or not an object."]);
});
