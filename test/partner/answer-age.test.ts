import { expect, test } from "bun:test";
import {
  computeAnswerAge,
  describeAge,
  describeAnswer,
  lookupUrlOfAnswer,
} from "../../src/partner/answer-age.ts";
import type { Claims } from "../../src/partner/claims.ts";
import type { Verification } from "../../src/partner/verification.ts";
import { result } from "../fixtures/envelope-tokens.ts";

const signedAt = "2026-11-23T01:23:12Z";
const day = 86_400_000;

function claimsWith(license: Partial<NonNullable<Claims["result"]["license"]>>): Claims {
  const signed = { ...result, license: { ...(result.license as object), ...license } };
  return { issuedAtSeconds: Date.parse(signedAt) / 1000, result: signed } as unknown as Claims;
}

function ageAt(time: string, license = {}) {
  return computeAnswerAge(claimsWith({ expiryDate: "2026-12-13", ...license }), Date.parse(time) / 1000);
}

/** Makes the verification, at `time`, of an answer that was signed at {@link signedAt}. */
function verificationAt(time: string, changed: Partial<Verification> = {}): Verification {
  const claims = claimsWith({ expiryDate: "2026-12-13" });
  return {
    valid: true,
    issuer: "https://verify.example.org",
    verifiedAt: signedAt,
    result: claims.result,
    age: computeAnswerAge(claims, Date.parse(time) / 1000),
    ...changed,
  } as Verification;
}

test("a licence has ended when its last day has ended in every time zone", () => {
  expect(ageAt("2026-12-14T11:59:59Z").licenseEndedOn).toBe(null);
  expect(ageAt("2026-12-14T12:00:00Z").licenseEndedOn).toBe("2026-12-13");
});

test("licenseEndedOn is null for a licence that was not VALID, or has no well-formed expiry date", () => {
  const later = "2090-01-01T00:00:00Z";
  for (const license of [
    { status: "EXPIRED" as const },
    { status: "REVOKED" as const },
    { expiryDate: null },
    { expiryDate: "2026-02-30" },
    { expiryDate: "soon" },
  ])
    expect(ageAt(later, license).licenseEndedOn).toBe(null);
});

test("an answer is old after 30 days, and its age is never negative", () => {
  const signedMs = Date.parse(signedAt);
  const at = (ms: number) => computeAnswerAge(claimsWith({}), ms / 1000);
  expect(at(signedMs + 30 * day)).toMatchObject({ days: 30, isOld: false });
  expect(at(signedMs + 30 * day + 1)).toMatchObject({ days: 30, isOld: true });
  expect(at(signedMs - 50_000)).toMatchObject({ days: 0, isOld: false });
});

test("describeAnswer names the day of an answer, and describeAge names the day on which the licence ended", () => {
  const today = verificationAt("2026-11-24T00:00:00Z");
  expect(describeAnswer(today)).toBe("Answer on 23 November 2026: VALID, eligible");
  expect(describeAge(today)).toBe(null);
  expect(describeAge(verificationAt("2026-12-14T12:00:00Z"))).toBe(
    "The licence it speaks of ended on 13 December 2026. Today's answer: https://verify.example.org/?tId=204417",
  );
  const revoked = {
    ...today.result,
    status: "REVOKED",
    eligible: false,
    reasons: ["LICENSE_REVOKED"],
  } as Verification["result"];
  expect(describeAnswer({ ...today, result: revoked })).toBe(
    "Answer on 23 November 2026: REVOKED, not eligible, LICENSE_REVOKED",
  );
  expect(describeAnswer({ ...today, result: null })).toBe(null);
});

const at = (changed: Partial<Verification>, ownOrigin?: string) =>
  lookupUrlOfAnswer(verificationAt("2030-01-01T00:00:00Z", changed), ownOrigin);
const of = (tId: number | null, regNo: string | null) => {
  const { result: signed } = verificationAt(signedAt);
  return {
    result: {
      ...signed,
      teacher: { name: "N", tId, state: null, category: null },
      certificate: { status: "VERIFIED", regNo, issueDate: null },
    } as Verification["result"],
  };
};

test("the link to today's answer leads to the signed issuer, which must have an https URL or the page's own origin", () => {
  expect(at({ issuer: "https://verify.example.org/tvs/" })).toBe(
    "https://verify.example.org/tvs/?tId=204417",
  );
  expect(at({ issuer: "http://127.0.0.1:8080" })).toBe(null);
  expect(at({ issuer: "http://127.0.0.1:8080" }, "http://127.0.0.1:8080")).toBe(
    "http://127.0.0.1:8080/?tId=204417",
  );
  for (const issuer of ["javascript:alert(1)", "https://real.example@evil.example", "teachers", null])
    expect(at({ issuer })).toBe(null);
  expect(at({ valid: false })).toBe(null);
});

test("the link to today's answer omits each number that may be a NIN or a phone number", () => {
  expect(at(of(null, "TR/2019/LA/000001"))).toBe("https://verify.example.org/?regNo=TR%2F2019%2FLA%2F000001");
  expect(at(of(12_345_678_901, "TR/2019/LA/000001"))).toContain("?regNo=TR");
  expect(at(of(null, "TR/2019/LA/12345678901"))).toBe("https://verify.example.org/");
  expect(at(of(null, null))).toBe("https://verify.example.org/");
});
