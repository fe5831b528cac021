/** Checks envelopes as a partner would, with a library that the program does not use. */
import { expect } from "bun:test";
import { createPublicKey } from "node:crypto";
import jsonwebtoken, { type JwtPayload } from "jsonwebtoken";
import type { EligibilityResult, Envelope, Jwk, Jwks } from "./contract.ts";
import { api, issuer, readJson, type World } from "./world.ts";

export async function fetchJwks(world: World): Promise<Jwks> {
  return readJson<Jwks>(await world.get(`${api}/.well-known/jwks.json`));
}

export function publicKeyOf({ kty, n, e }: Jwk) {
  return createPublicKey({ key: { kty, n, e }, format: "jwk" });
}

export type Claims = JwtPayload & { result: EligibilityResult };

/**
 * Verifies an envelope against a key set: signature, issuer, audience, and that everything outside says what is
 * signed.
 * @returns the signed claims
 */
export function expectGenuine(envelope: Envelope, jwks: Jwks, audience: string): Claims {
  const [head = ""] = envelope.signature.split(".");
  const header = JSON.parse(Buffer.from(head, "base64url").toString()) as { alg: string; kid: string };
  expect(header.alg).toBe("RS256");
  expect(header.kid).toBe(envelope.signatureKid);
  const jwk = jwks.keys.find(({ kid }) => kid === header.kid);
  if (jwk === undefined) throw new Error("the key set has no key with the envelope's kid");
  const claims = jsonwebtoken.verify(envelope.signature, publicKeyOf(jwk), {
    algorithms: ["RS256"],
    issuer,
    audience,
  }) as Claims;
  expect(Object.keys(claims).sort()).toEqual(["aud", "iat", "iss", "result", "sub"]);
  expect(envelope.issuer).toBe(issuer);
  expect(envelope.audience).toBe(audience);
  expect(claims.aud).toBe(audience);
  expect(claims.sub).toBe(envelope.verificationId);
  expect(claims.iat).toBe(Date.parse(envelope.verifiedAt) / 1000);
  expect(claims.result).toStrictEqual(envelope.result);
  return claims;
}
