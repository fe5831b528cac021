import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { findContradictingColumns } from "../../../src/domain/evidence/audit-rows.ts";

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = { aud: "agency", sub: "id", iat: 7, result: { status: "VALID", eligible: true } };
const jwsOf = (kid: unknown) => `${base64url({ alg: "RS256", kid })}.${base64url(claims)}.signature`;
const columns = { id: 1, partnerId: "agency", verificationId: "id", issuedAt: 7, status: "VALID" } as const;
const contradictions = (jws: string, kid: string) =>
  findContradictingColumns({ ...columns, eligible: true, jws, kid });

test("the audit compares the key id of each row with the row's own header, in any order of headers", () => {
  for (const signer of ["one", "one", "two", "one", "two", "two"])
    for (const kid of ["one", "two", signer])
      expect(contradictions(jwsOf(signer), kid)).toEqual(signer === kid ? [] : ["kid"]);
});

test("the audit reports a row without a readable header, also after a row with a good header", () => {
  const good = jwsOf("one");
  const payload = good.slice(good.indexOf("."));
  for (const jws of ["", good.replaceAll(".", ""), payload, `e30${payload}`, jwsOf(7)]) {
    expect(contradictions(good, "one")).toEqual([]);
    expect([jws, contradictions(jws, "one")]).toEqual([jws, ["jws"]]);
  }
});
