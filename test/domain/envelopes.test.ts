import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { evaluateEligibility } from "../../src/domain/eligibility.ts";
import { type SerializedEnvelope, signEnvelopes } from "../../src/domain/envelopes.ts";
import { defaultPolicy } from "../../src/domain/policy.ts";
import type { StoredTeacher } from "../../src/domain/teachers/teachers.ts";
import { aStoredTeacher } from "../harness/samples.ts";

const today = "2026-03-01";
const options = { purpose: "EMPLOYER_BACKGROUND_CHECK", policy: defaultPolicy, today } as const;
const resultOf = (changes: Partial<StoredTeacher>) => evaluateEligibility(aStoredTeacher(changes), options);

test("the result of a verification has no NIN, no contact and no reason of a revocation", () => {
  const secret = new Uint8Array(16).fill(0xab);
  const indexes = { ninIndex: secret, emailIndex: secret, phoneIndex: secret };
  const revoked = { licenseRevokedOn: today, licenseRevokedReason: "hidden" };
  const text = JSON.stringify(resultOf({ ...indexes, ...revoked, photoUrl: "https://example.com/p.jpg" }));
  for (const word of ["171", "hidden", "index", "photo", 'id":1']) expect(text).not.toContain(word);
});

const claims = {
  verificationId: "0190b0a1-0000-7000-8000-000000000000",
  issuer: "https://teachers.example",
  audience: "agency",
  issuedAt: 1_772_355_000,
  result: resultOf({ name: 'Ada "é" \u2028 </script>' }),
};
const inputs: string[] = [];
const sign = async (kid: string, asked: readonly string[]) => {
  inputs.push(...asked.map((input) => `${kid} ${input}`));
  return asked.map((_, place) => Buffer.from(`sig${place}`).toString("base64url"));
};
const seal = async () => (await signEnvelopes([claims], "key-1", sign))[0] as SerializedEnvelope;
const decode = (part: string | undefined) => Buffer.from(part ?? "", "base64url").toString();
const payloadOf = (jws: string) => JSON.parse(decode(jws.split(".")[1]));

test("an envelope repeats the signed result byte for byte, and the signed time", async () => {
  const { json, jws } = await seal();
  const { result, ...outer } = JSON.parse(json);
  expect(outer).toEqual({
    verificationId: claims.verificationId,
    verifiedAt: "2026-03-01T08:50:00Z",
    issuer: claims.issuer,
    audience: "agency",
    signature: jws,
    signatureKid: "key-1",
  });
  expect(result).toEqual(claims.result);
  const payload = decode(jws.split(".")[1]);
  const signed = payload.slice(payload.indexOf('"result":') + 9, -1);
  expect(json).toContain(`"result":${signed},"signature"`);
});

test("each envelope of a call has its own signature", async () => {
  const audiences = ["one", "two", "three"];
  const asked = audiences.map((audience) => ({ ...claims, audience }));
  const envelopes = await signEnvelopes(asked, "key-1", sign);
  expect(envelopes.map(({ claims: one }) => one.audience)).toEqual(audiences);
  expect(envelopes.map(({ jws }) => decode(jws.split(".")[2]))).toEqual(["sig0", "sig1", "sig2"]);
  expect(envelopes.map(({ jws }) => payloadOf(jws).aud)).toEqual(audiences);
  expect(envelopes.map(({ jws }) => `key-1 ${jws.slice(0, jws.lastIndexOf("."))}`)).toEqual(inputs.slice(-3));
  expect(decode(envelopes[0]?.jws.split(".")[0])).toBe('{"alg":"RS256","kid":"key-1","typ":"JWT"}');
});

test("an envelope with an index in a status list names the index", async () => {
  const place = { idx: 7, uri: "https://teachers.example/status/1" };
  const envelopes = await signEnvelopes([{ ...claims, status: place }, claims], "key-1", sign);
  const statuses = envelopes.map(({ jws }) => payloadOf(jws).status);
  expect(statuses).toEqual([{ status_list: place }, undefined]);
});
