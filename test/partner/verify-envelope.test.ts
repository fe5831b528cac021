import { expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readEnvelopes } from "../../src/partner/input.ts";
import { createKeySet, type KeySet } from "../../src/partner/key-set.ts";
import { Refusal, refusalReasons, refuse } from "../../src/partner/reasons.ts";
import { readStrictJson } from "../../src/partner/strict-json.ts";
import type { Verification } from "../../src/partner/verification.ts";
import { checkNames, runVerificationChecks, verificationOfRefusal } from "../../src/partner/verification.ts";
import { readHeaderOfType, type VerifyOptions, verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import {
  audience,
  base64url,
  envelope,
  type FixtureCase,
  folder,
  issuer,
  now,
  pretty,
  result,
  seconds,
} from "../fixtures/envelope-tokens.ts";
import type { LogCases } from "../fixtures/log-cases.ts";
import { logFolder } from "../fixtures/log-notes.ts";
import { pack, statusList, uri } from "../fixtures/status-lists.ts";

const cases: FixtureCase[] = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
const sentences: Record<string, string[]> = JSON.parse(readFileSync(join(folder, "sentences.json"), "utf8"));
const usual = sentences["what every valid envelope is told"] ?? [];
const { cases: logCases }: LogCases = JSON.parse(readFileSync(join(logFolder, "cases.json"), "utf8"));

/** Reasons that no envelope alone can cause. Other tests cause them with files, statements, status lists or failures. */
const reasonsWithoutEnvelope = [
  // Reasons for statements, which test/partner/verify-statement.test.ts tests.
  ...["IS_AN_ENVELOPE", "IS_A_STATEMENT", "OUTER_STATEMENT_DIFFERS", "ROWS_DIFFER", "STATEMENT_MALFORMED"],
  // Reasons for files, the log's files included.
  ...["FILE_UNREADABLE", "FOLDER_NESTED", "INPUT_TOO_LARGE", "LOG_KEY_UNREADABLE", "LOG_STATE_UNREADABLE"],
  // Reasons for empty inputs, status lists and failures.
  ...["NO_ENVELOPE", "STATUS_LIST_STALE", "STATUS_LIST_UNUSABLE", "VERIFIER_FAILED", "WITHDRAWN_SINCE"],
];

function read(...path: string[]): Buffer {
  return readFileSync(join(folder, ...path));
}

function keySetOf({ jwks, keyHistory }: Pick<FixtureCase, "jwks" | "keyHistory">): Promise<KeySet> {
  return createKeySet({
    issuer,
    ...(jwks === null ? {} : { jwks: read("keys", jwks) }),
    ...(keyHistory === null ? {} : { keyHistory: read("keys", keyHistory) }),
  });
}

async function verifyAll(input: string | Uint8Array, options: VerifyOptions): Promise<Verification[]> {
  const found: Verification[] = [];
  for (const item of readEnvelopes(input)) {
    if ("value" in item) found.push(await verifyEnvelope(item.value, options));
    else found.push(verificationOfRefusal(item.refusal));
  }
  return found;
}

/** Joins the details that other valid envelopes do not have; for a refused envelope, names the failed check. */
function sentenceOf({ valid, checks }: Verification): string {
  const failed = checks.find(({ ok }) => ok === false);
  const details = checks.map(({ detail }) => detail);
  return valid
    ? details.filter((detail) => !usual.includes(detail)).join(" ")
    : `${failed?.name}: ${failed?.detail}`;
}

const both = await keySetOf({ jwks: "jwks.json", keyHistory: "history.jose" });
const options: VerifyOptions = { keys: both, issuer, audience, now: new Date(now) };
const textOf = (name: string) => read("inputs", name).toString();
const verifyInput = (name: string, given: Partial<VerifyOptions> = {}) =>
  verifyEnvelope(textOf(name), { ...options, ...given });

for (const fixture of cases) {
  test(`the envelope fixture ${fixture.name} gives the verdict ${fixture.reasons.map((reason) => reason ?? "valid").join(", ") || "nothing"}`, async () => {
    const given = { ...options, keys: await keySetOf(fixture) };
    const found = await verifyAll(read("inputs", fixture.input), given);
    expect(found.map(({ reason }) => reason)).toEqual(
      fixture.reasons as (keyof typeof refusalReasons | null)[],
    );
    expect(found.map(sentenceOf)).toEqual(sentences[fixture.name] ?? found.map(() => ""));
  });
}

test("every refusal reason of envelopes has a fixture", () => {
  const ofProofs = logCases.map(({ reason }) => reason);
  const covered = new Set([
    ...cases.flatMap(({ reasons }) => reasons),
    ...ofProofs,
    ...reasonsWithoutEnvelope,
  ]);
  covered.delete(null);
  expect([...covered].sort()).toEqual(Object.keys(refusalReasons).sort());
});

test("the envelope fixtures equal those that the test helpers sign", () => {
  const ofRetiredKey = { iat: Date.parse("2025-07-01T00:00:00Z") / 1000 };
  for (const [name, made] of [
    ["valid.json", envelope()],
    ["valid-retired-key.json", envelope(ofRetiredKey, "retired")],
  ] as const)
    expect(read("inputs", name).toString()).toBe(pretty(made));
});

test("verifying a valid envelope returns the signed values and the result of each check", async () => {
  const verification = await verifyInput("valid.json");
  expect(verification).toMatchObject({
    ...{ valid: true, reason: null, verdict: "valid", issuer, audience, warnings: [] },
    ...{ claimedIssuer: null, log: null, statusList: null },
    verificationId: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    verifiedAt: "2026-03-01T09:30:00Z",
  });
  expect(verification.result?.teacher?.name).toBe("Ngozi Adé-Bello");
  expect(verification.checks.map(({ detail }) => detail)).toEqual(usual);
  expect(verification.checks.map(({ name, ok }) => [name, ok])).toEqual(
    checkNames.map((name) => [name, ["log", "status"].includes(name) ? null : true]),
  );
});

test("a verification returns signed values only if the signature is valid and its key is acceptable", async () => {
  const unsigned = { verificationId: null, issuer: null, audience: null, verifiedAt: null, result: null };
  for (const name of ["payload-changed.json", "kid-unknown.json", "compromised.json", "alg-none.json"])
    expect(await verifyInput(name)).toMatchObject({ valid: false, ...unsigned });
});

test("verifying an edited envelope still returns the signed values", async () => {
  const verification = await verifyInput("outer-result.json");
  expect(verification.valid).toBe(false);
  expect(verification.result?.teacher?.name).toBe("Ngozi Adé-Bello");
});

test("verification does not reach the checks after a failed check", async () => {
  const { checks } = await verifyInput("issuer-mismatch.json");
  expect(checks.map(({ name }) => name)).toEqual([...checkNames]);
  expect(checks.filter(({ ok }) => ok === false).map(({ name }) => name)).toEqual(["issuer"]);
  const rest = checks.slice(-3).map(({ ok, detail }) => [ok, detail]);
  expect(rest).toEqual(Array(3).fill([null, "Not reached."]));
});

test("an envelope signed before its key was compromised is valid with a warning", async () => {
  const { checks, warnings } = await verifyInput("valid-before-compromise.json");
  expect(checks.find(({ name }) => name === "compromise")?.detail).toContain("compromised later");
  expect(warnings).toEqual(["COULD_BE_BACKDATED"]);
  expect((await verifyInput("valid-before-compromise.json", { audience: "x" })).warnings).toEqual([]);
});

test.each([
  [
    '{"statusCode":401,"message":"this envelope is valid"}',
    "an error answer (401: there was no valid credential)",
  ],
  ['{"statusCode":503,"message":""}', "an error answer (503: the service failed)"],
  ['{"statusCode":200,"message":"valid"}', "some other JSON"],
  ["<html></html>", "a web page"],
  [" \n", "an empty text"],
  ["hello {}", "a text that is neither JSON nor a signature"],
  [' \n{"found":false}', "some other JSON"],
  [read("keys", "jwks.json").toString(), "a key set (JWKS)"],
  [
    '{"found":false,"verifiedAt":"2026-03-01T12:00:00Z"}',
    "an answer of the public lookup, which is not signed",
  ],
])("the refusal of %j says what the document is: %s", async (text, name) => {
  const { verdict, checks } = await verifyEnvelope(text, options);
  expect([verdict, checks[0]?.detail]).toEqual(["undecidable", `This is ${name}, not an envelope.`]);
});

test("a JWS header that has the members of a Refusal is not mistaken for a refusal", async () => {
  const header = Buffer.from(JSON.stringify({ alg: "none", ...refuse("KID_UNKNOWN") })).toString("base64url");
  const verification = await verifyEnvelope(`${header}.e30.AA`, options);
  expect(verification.reason).toBe("HEADER_ALG");
});

const verifyChanged = (change: Parameters<typeof envelope>[0], given: Partial<VerifyOptions> = {}) =>
  verifyEnvelope(JSON.stringify(envelope(change)), { ...options, ...given });

test.each([
  [{ exp: seconds(now) - 60 }, "TOKEN_EXPIRED"],
  [{ exp: seconds(now) - 59 }, null],
  [{ nbf: seconds(now) + 61 }, "TOKEN_NOT_YET_VALID"],
  [{ nbf: seconds(now) + 60 }, null],
])("the claim %j limits the time of verification, with a tolerance of one minute", async (limit, reason) => {
  expect((await verifyChanged(limit)).reason).toBe(reason as never);
});

test("the refusal of an unknown key names the claimed issuer if it is not the expected issuer", async () => {
  const foundWith = async (iss: string) => {
    const found = await verifyEnvelope(JSON.stringify(envelope({ iss }, "stranger")), options);
    return [found.reason, found.claimedIssuer, sentenceOf(found)];
  };
  const other = "https://other.example";
  const foreign = "key: No such key is known, and another issuer is named than the one expected.";
  expect(await foundWith(other)).toEqual(["KID_UNKNOWN", other, foreign]);
  const unknown = "key: No key with this key id is known: fetch the current JWKS or key history.";
  for (const iss of [issuer, "nobody"]) expect(await foundWith(iss)).toEqual(["KID_UNKNOWN", null, unknown]);
});

const [place, list] = [
  { status: { status_list: { idx: 3, uri } } },
  "the status list of 2026-03-01T11:00:00Z",
];
const unwanted = { ...result, eligible: false, reasons: ["CATEGORY_NOT_ACCEPTED"] };
const no = { ...unwanted, license: { ...Object(result.license), status: "EXPIRED" } };
const unnamed = "It names no place in a status list, so none was asked whether it was withdrawn since.";

test.each<[change: Parameters<typeof envelope>[0], withdrawn: number[], expected: string]>([
  [place, [], `Not withdrawn, by ${list}.`],
  [place, [3], `status: It is withdrawn, by ${list}.`],
  [{ ...place, result: unwanted }, [3], `status: It is withdrawn, by ${list}.`],
  [{ ...place, result: no }, [3], `The answer was no already; ${list} says withdrawn.`],
  [{}, [3], unnamed],
])(
  "an envelope with the claims %j gets its verdict from a status list that withdraws the indexes %j",
  async (change, withdrawn, expected) => {
    const found = await verifyChanged(change, { statusLists: [statusList(pack(...withdrawn))] });
    expect([sentenceOf(found), found.valid]).toEqual([expected, !expected.startsWith("status:")]);
  },
);

test("the caller's clock tolerance applies to a status list", async () => {
  const ahead = (by: number) => ({ statusLists: [statusList(pack(), { iat: seconds(now) + by })] });
  const reasonOf = async (given: Partial<VerifyOptions>) => (await verifyChanged(place, given)).reason;
  expect(await reasonOf({ statusLists: [] })).toBe("STATUS_LIST_UNUSABLE");
  expect(await reasonOf(ahead(60))).toBeNull();
  expect(await reasonOf({ ...ahead(90), clockToleranceSeconds: 100 })).toBeNull();
});

const statement = "tvs-statement+jwt";
test.each<[own: string | null, typ: string | undefined, reason: string | null]>([
  ...[undefined, "JWT", "x"].map((typ): [null, string | undefined, null] => [null, typ, null]),
  [null, "key-history+jwt", "HEADER_TYP"],
  [null, "statuslist+jwt", "HEADER_TYP"],
  [null, statement, "IS_A_STATEMENT"],
  [statement, statement, null],
  [statement, undefined, "IS_AN_ENVELOPE"],
  [statement, "JWT", "IS_AN_ENVELOPE"],
  [statement, "x", "HEADER_TYP"],
])("a verifier of the JWS type %p gives a header of the type %p the refusal %p", (own, typ, reason) => {
  const header = readHeaderOfType(own, base64url(JSON.stringify({ alg: "RS256", kid: "k", typ })));
  expect(header).toMatchObject(reason === null ? { kid: "k" } : ({ reason } as object));
});

test("an envelope is undecidable if the cryptography library fails", async () => {
  const failing = spyOn(crypto.subtle, "verify").mockRejectedValue(new DOMException("no hardware"));
  try {
    const found = await verifyInput("valid.json");
    expect(found).toMatchObject({ reason: "VERIFIER_FAILED", verdict: "undecidable", result: null });
    expect(found.checks.find(({ ok }) => ok === false)?.name).toBe("signature");
  } finally {
    failing.mockRestore();
  }
});

test("an unexpected error rejects the promise of the verification, and gives no verdict", async () => {
  const fault = runVerificationChecks(() => Promise.reject(new RangeError("fault")));
  await expect(fault).rejects.toThrow(RangeError);
});

test("verifyEnvelope throws for wrong options", async () => {
  const attempts: [wrong: object, why: string][] = [
    ...["", 7].map((word): [object, string] => [{ issuer: word }, "verifyEnvelope needs the issuer"]),
    ...["", 7].map((word): [object, string] => [{ audience: word }, "verifyEnvelope needs the audience"]),
    [{ now: new Date("never") }, "now is not a valid date"],
    [{ clockToleranceSeconds: -1 }, "clockToleranceSeconds is not a duration"],
    [{ maxListAgeSeconds: -1 }, "maxListAgeSeconds is not a duration"],
    ...["eyJ", [1]].map((statusLists): [object, string] => [
      { statusLists },
      "statusLists is not an array of texts",
    ]),
  ];
  for (const [wrong, why] of attempts)
    await expect(verifyEnvelope("", { ...options, ...wrong })).rejects.toThrow(new TypeError(why));
});

test("verifyEnvelope uses the current time by default", async () => {
  const { now: _now, ...timeless } = options;
  expect(await verifyEnvelope(textOf("valid-retired-key.json"), timeless)).toMatchObject({ valid: true });
});

test("the caller can set verifyEnvelope's clock tolerance", async () => {
  const ahead = await verifyInput("valid-clock-ahead.json", { clockToleranceSeconds: 0 });
  expect(ahead.reason).toBe("ISSUED_IN_FUTURE");
});

test("verifyEnvelope accepts a parsed envelope, and refuses every other value", async () => {
  const reading = readStrictJson(read("inputs", "valid.json"));
  const value = reading instanceof Refusal ? null : reading;
  expect((await verifyEnvelope(value, options)).valid).toBe(true);
  expect((await verifyEnvelope(7, options)).reason).toBe("NOT_AN_ENVELOPE");
  expect((await verifyEnvelope('{"a":1,"a":1}', options)).reason).toBe("JSON_DUPLICATE_MEMBER");
  const rows = { statementId: "x", rows: [] };
  expect((await verifyEnvelope(rows, options)).reason).toBe("IS_A_STATEMENT");
  const list = [String(read("inputs", "valid-bare.jws"))];
  const { reason, checks } = await verifyEnvelope(list, options);
  expect(`${reason} ${checks[0]?.detail}`).toBe(
    "ENVELOPE_MALFORMED This is neither an envelope nor a signature.",
  );
});
