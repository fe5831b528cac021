import { Buffer } from "node:buffer";
import type { EligibilityResult, SignedEnvelope } from "../partner/contract.ts";
import { isoSeconds } from "./clock.ts";

/** Signs with one private key of the ring. The port that signing/ implements. */
export type Signer = {
  /**
   * @param kid key id of a key that was loaded before
   * @param input the JWS signing input, ASCII
   * @param options `bulk` for one of many that a batch asks for: single checks go before it
   * @returns the RSASSA-PKCS1-v1_5 SHA-256 signature, base64url
   * @throws TvsError SIGNER_UNAVAILABLE, OVERLOADED
   */
  sign(kid: string, input: string, options?: { readonly bulk?: boolean }): Promise<string>;
};

export type Claims = {
  readonly verificationId: string;
  readonly issuer: string;
  readonly audience: string;
  /** Whole seconds since the Unix epoch. */
  readonly issuedAt: number;
  readonly result: EligibilityResult;
};

/** An envelope as it leaves, and what of it the evidence log keeps. */
export type SealedEnvelope = {
  readonly claims: Claims;
  readonly kid: string;
  readonly jws: string;
  readonly json: string;
};

/**
 * Signs a result. The result is turned into JSON once: the signed claim and the unsigned copy are the
 * same bytes, so they cannot differ.
 * @throws what the signer throws
 */
export async function sealEnvelope(claims: Claims, kid: string, signer: Signer): Promise<SealedEnvelope> {
  const result = JSON.stringify(claims.result);
  const payload =
    `{"iss":${JSON.stringify(claims.issuer)},"aud":${JSON.stringify(claims.audience)},` +
    `"sub":"${claims.verificationId}","iat":${claims.issuedAt},"result":${result}}`;
  const input = `${joseHeader(kid)}.${base64url(payload)}`;
  const jws = `${input}.${await signer.sign(kid, input)}`;
  const outer: Omit<SignedEnvelope, "result" | "signature" | "signatureKid"> = {
    verificationId: claims.verificationId,
    verifiedAt: isoSeconds(claims.issuedAt),
    issuer: claims.issuer,
    audience: claims.audience,
  };
  const json = `${JSON.stringify(outer).slice(0, -1)},"result":${result},"signature":"${jws}","signatureKid":"${kid}"}`;
  return { claims, kid, jws, json };
}

/** The header is the same for every envelope of a key, and few keys sign in a process's life. */
const headers = new Map<string, string>();
const maxHeaders = 64;

function joseHeader(kid: string): string {
  const known = headers.get(kid);
  if (known !== undefined) return known;
  if (headers.size >= maxHeaders) headers.clear();
  const header = base64url(JSON.stringify({ alg: "RS256", kid, typ: "JWT" }));
  headers.set(kid, header);
  return header;
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
