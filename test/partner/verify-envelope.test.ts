import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readEnvelopes } from "../../src/partner/input.ts";
import { createKeySet, type KeySet } from "../../src/partner/key-set.ts";
import { Refusal, refusalReasons, refuse } from "../../src/partner/reasons.ts";
import { readStrictJson } from "../../src/partner/strict-json.ts";
import { checkNames, type Verification } from "../../src/partner/verification.ts";
import { type VerifyOptions, verifyEnvelope, verifyEnvelopeSync } from "../../src/partner/verify-envelope.ts";
import {
  audience,
  envelope,
  type FixtureCase,
  folder,
  issuer,
  now,
  pretty,
} from "../fixtures/envelope-tokens.ts";
import type { LogCases } from "../fixtures/log-cases.ts";
import { logFolder } from "../fixtures/log-notes.ts";

const cases: FixtureCase[] = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
const { cases: logCases }: LogCases = JSON.parse(readFileSync(join(logFolder, "cases.json"), "utf8"));

/** These need a file system, a broken machine or a broken setting; other tests of verifying provoke them. */
const reasonsWithoutEnvelope = [
  // Of statements: test/partner/verify-statement.test.ts.
  ...["IS_AN_ENVELOPE", "IS_A_STATEMENT", "OUTER_STATEMENT_DIFFERS", "ROWS_DIFFER", "STATEMENT_MALFORMED"],
  // Of events: test/partner/verify-event.test.ts.
  "IS_AN_EVENT",
  "FILE_UNREADABLE",
  "FOLDER_NESTED",
  "INPUT_TOO_LARGE",
  "LOG_KEY_UNREADABLE",
  "LOG_STATE_UNREADABLE",
  "NO_ENVELOPE",
  "STATUS_LIST_STALE",
  "STATUS_LIST_UNUSABLE",
  "VERIFIER_FAILED",
  "WITHDRAWN_SINCE",
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

async function optionsOf(fixture: Pick<FixtureCase, "jwks" | "keyHistory">): Promise<VerifyOptions> {
  return { keys: await keySetOf(fixture), issuer, audience, now: new Date(now) };
}

async function judge(input: string | Uint8Array, options: VerifyOptions): Promise<Verification[]> {
  const found: Verification[] = [];
  for (const item of readEnvelopes(input)) {
    if ("value" in item) found.push(await verifyEnvelope(item.value, options));
    else found.push({ reason: item.refusal.reason } as Verification);
  }
  return found;
}

const both = { jwks: "jwks.json", keyHistory: "history.jose" };

describe("verifyEnvelope", () => {
  for (const fixture of cases) {
    test(`${fixture.name}: ${fixture.reasons.map((reason) => reason ?? "valid").join(", ") || "nothing"}`, async () => {
      const found = await judge(read("inputs", fixture.input), await optionsOf(fixture));
      expect(found.map(({ reason }) => reason)).toEqual(
        fixture.reasons as (keyof typeof refusalReasons | null)[],
      );
    });
  }

  test("every reason has a fixture", () => {
    const ofProofs = logCases.map(({ reason }) => reason);
    const covered = new Set([
      ...cases.flatMap(({ reasons }) => reasons),
      ...ofProofs,
      ...reasonsWithoutEnvelope,
    ]);
    covered.delete(null);
    expect([...covered].sort()).toEqual(Object.keys(refusalReasons).sort());
  });

  test("a fixture is made again from its claims and its key", () => {
    const ofRetiredKey = { iat: Date.parse("2025-07-01T00:00:00Z") / 1000 };
    for (const [name, made] of [
      ["valid.json", envelope()],
      ["valid-retired-key.json", envelope(ofRetiredKey, "retired")],
    ] as const)
      expect(read("inputs", name).toString()).toBe(pretty(made));
  });

  test("a valid envelope reports what is signed and every check", async () => {
    const verification = await verifyEnvelope(read("inputs", "valid.json").toString(), await optionsOf(both));
    expect(verification).toMatchObject({
      valid: true,
      reason: null,
      verdict: "valid",
      verificationId: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
      issuer,
      audience,
      verifiedAt: "2026-03-01T09:30:00Z",
    });
    expect(verification.result?.teacher?.name).toBe("Ngozi Adé-Bello");
    expect(verification.checks.map(({ name, ok }) => [name, ok])).toEqual(
      checkNames.map((name) => [name, ["log", "status"].includes(name) ? null : true]),
    );
  });

  test("without a good signature of a sound key nothing passes for signed", async () => {
    const unsigned = { verificationId: null, issuer: null, audience: null, verifiedAt: null, result: null };
    for (const name of ["payload-changed.json", "kid-unknown.json", "compromised.json", "alg-none.json"]) {
      const verification = await verifyEnvelope(read("inputs", name).toString(), await optionsOf(both));
      expect(verification).toMatchObject({ valid: false, ...unsigned });
    }
  });

  test("a forgery that an editor saved in UTF-16, on many lines, is refused and not called no envelope", async () => {
    const forged = { ...JSON.parse(read("inputs", "payload-changed.json").toString()), result: {} };
    const little = Buffer.from(JSON.stringify(forged, null, 2), "utf16le");
    const big = Buffer.from(little).swap16();
    const reasonsOf = async (input: Buffer) =>
      (await judge(input, await optionsOf(both))).map(({ reason }) => reason);
    expect(await reasonsOf(little)).toEqual(["JSON_MALFORMED"]);
    expect(await reasonsOf(big)).toContain("JWS_MALFORMED");
  });

  test("an edited envelope still shows the signed values", async () => {
    const verification = await verifyEnvelope(
      read("inputs", "outer-result.json").toString(),
      await optionsOf(both),
    );
    expect(verification.valid).toBe(false);
    expect(verification.result?.teacher?.name).toBe("Ngozi Adé-Bello");
    expect(verification.checks.at(-2)).toEqual({
      name: "outer",
      ok: false,
      detail: "The unsigned result.teacher.name differs from the signed one.",
    });
  });

  test("checks after the failed one are not reached", async () => {
    const verification = await verifyEnvelope(
      read("inputs", "issuer-mismatch.json").toString(),
      await optionsOf(both),
    );
    expect(verification.checks.map(({ name }) => name)).toEqual([...checkNames]);
    expect(verification.checks.filter(({ ok }) => ok === false).map(({ name }) => name)).toEqual(["issuer"]);
    expect(verification.checks.slice(-3).map(({ ok }) => ok)).toEqual([null, null, null]);
  });

  test("a compromised key's earlier envelope is valid with a warning", async () => {
    const text = read("inputs", "valid-before-compromise.json").toString();
    const { checks, warnings } = await verifyEnvelope(text, await optionsOf(both));
    expect(checks.find(({ name }) => name === "compromise")?.detail).toContain("compromised later");
    expect(warnings).toEqual(["COULD_BE_BACKDATED"]);
  });

  test("with a JWKS alone the window is not known", async () => {
    const options = await optionsOf({ jwks: "jwks.json", keyHistory: null });
    const { checks } = await verifyEnvelope(read("inputs", "valid.json").toString(), options);
    expect(checks.filter(({ ok }) => ok === null).map(({ name }) => name)).toEqual([
      "log",
      "compromise",
      "window",
      "status",
    ]);
  });

  test("the verdicts tell wrong from not known", async () => {
    const options = await optionsOf(both);
    const verdictOf = async (name: string) =>
      (await verifyEnvelope(read("inputs", name).toString(), options)).verdict;
    expect(await verdictOf("kid-unknown.json")).toBe("undecidable");
    expect(await verdictOf("payload-changed.json")).toBe("refused");
  });

  test("what is no envelope is named for what it is, in words of ours", async () => {
    const options = await optionsOf(both);
    const nameOf = async (input: string) => {
      const { verdict, checks } = await verifyEnvelope(input, options);
      expect(verdict).toBe("undecidable");
      return checks[0]?.detail;
    };
    expect(await nameOf('{"statusCode":401,"message":"this envelope is valid"}')).toBe(
      "This is an error answer (401: there was no valid credential), not an envelope.",
    );
    expect(await nameOf('{"statusCode":503,"message":""}')).toContain("(503: the service failed)");
    expect(await nameOf('{"statusCode":200,"message":"valid"}')).toContain("some other JSON");
    expect(await nameOf("<html></html>")).toContain("a web page");
    expect(await nameOf(" \n")).toContain("an empty text");
    expect(await nameOf("hello")).toContain("neither JSON nor a signature");
    expect(await nameOf(read("keys", "jwks.json").toString())).toContain("a key set");
    expect(await nameOf('{"found":false,"verifiedAt":"2026-03-01T12:00:00Z"}')).toContain("not signed");
  });

  test("JSON of an attacker cannot pass for a refusal of ours", async () => {
    const header = Buffer.from(JSON.stringify({ alg: "none", ...refuse("KID_UNKNOWN") })).toString(
      "base64url",
    );
    const verification = await verifyEnvelope(`${header}.e30.AA`, await optionsOf(both));
    expect(verification.reason).toBe("HEADER_ALG");
  });
});

describe("an injected verifier", () => {
  const text = read("inputs", "valid.json").toString();

  test("decides about the signature, synchronously or not", async () => {
    const options = await optionsOf(both);
    const asked: string[] = [];
    const verifySignature = (kid: string) => asked.push(kid) > 0;
    expect(verifyEnvelopeSync(text, { ...options, verifySignature }).valid).toBe(true);
    expect((await verifyEnvelope(text, { ...options, verifySignature: async () => false })).reason).toBe(
      "SIGNATURE_INVALID",
    );
    expect(asked).toHaveLength(1);
  });

  test("that fails leaves the envelope undecided", async () => {
    const options = await optionsOf(both);
    const verifySignature = () => {
      throw new Error("no hardware");
    };
    const rejected = await verifyEnvelope(text, { ...options, verifySignature });
    expect(rejected).toMatchObject({ reason: "VERIFIER_FAILED", verdict: "undecidable", result: null });
    expect(verifyEnvelopeSync(text, { ...options, verifySignature })).toEqual(rejected);
  });

  test("is not asked about a signature of the wrong length", async () => {
    const options = await optionsOf(both);
    const verifySignature = () => true;
    const shortened = read("inputs", "signature-length.json").toString();
    expect(verifyEnvelopeSync(shortened, { ...options, verifySignature }).reason).toBe("SIGNATURE_INVALID");
  });
});

describe("the options", () => {
  test("wrong ones throw, because they say nothing about the envelope", async () => {
    const options = await optionsOf(both);
    const attempts = [
      { issuer: "" },
      { audience: "" },
      { now: new Date("never") },
      { clockToleranceSeconds: -1 },
    ];
    for (const attempt of attempts) {
      expect(verifyEnvelope("", { ...options, ...attempt })).rejects.toBeInstanceOf(TypeError);
    }
    expect(createKeySet({})).rejects.toBeInstanceOf(TypeError);
  });

  test("the tolerance moves with the caller", async () => {
    const options = { ...(await optionsOf(both)), clockToleranceSeconds: 0 };
    const ahead = await verifyEnvelope(read("inputs", "valid-clock-ahead.json").toString(), options);
    expect(ahead.reason).toBe("ISSUED_IN_FUTURE");
  });

  test("a parsed envelope is taken as it is", async () => {
    const reading = readStrictJson(read("inputs", "valid.json"));
    const value = reading instanceof Refusal ? null : reading;
    expect((await verifyEnvelope(value, await optionsOf(both))).valid).toBe(true);
    expect((await verifyEnvelope(7, await optionsOf(both))).reason).toBe("NOT_AN_ENVELOPE");
    const list = [String(read("inputs", "valid-bare.jws"))];
    expect((await verifyEnvelope(list, await optionsOf(both))).reason).toBe("ENVELOPE_MALFORMED");
  });

  test("a parsed JWKS is taken as it is", async () => {
    const keys = await createKeySet({ jwks: JSON.parse(read("keys", "jwks.json").toString()) });
    expect([...keys.keys.keys()]).toHaveLength(3);
  });
});
