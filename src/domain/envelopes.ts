import { Buffer } from "node:buffer";
import type { EligibilityResult, SignedEnvelope } from "../partner/contract.ts";
import type { StatusClaim } from "../partner/verification.ts";
import { isoSeconds } from "./clock.ts";

/** Signs with one private key of the ring. The port that signing/ implements. */
export type Signer = {
  /**
   * The signatures of one call. They are asked for together, so that a call is refused before anything of it is
   * signed, and so that signers see at once what there is to share.
   * @param kid key id of a key that was loaded before
   * @param inputs the JWS signing inputs, ASCII
   * @param options `bulk` for what a batch asks for: single checks go before it
   * @returns the RSASSA-PKCS1-v1_5 SHA-256 signatures, base64url, each at the place of its input
   * @throws TvsError SIGNER_UNAVAILABLE, OVERLOADED; the call fails as a whole
   */
  sign(kid: string, inputs: readonly string[], options?: { readonly bulk?: boolean }): Promise<string[]>;
};

export type Claims = {
  readonly verificationId: string;
  readonly issuer: string;
  readonly audience: string;
  /** Whole seconds since the Unix epoch. */
  readonly issuedAt: number;
  readonly result: EligibilityResult;
  /** Where to look later whether it was withdrawn; absent where nobody can. */
  readonly status?: StatusClaim | undefined;
};

export type SealedEnvelope = {
  readonly claims: Claims;
  readonly kid: string;
  readonly jws: string;
  readonly json: string;
};

/**
 * Signs the results of one call, each in an envelope of its own.
 * @param claims what each envelope says; the envelopes stand in the same order
 * @param kid key id of the key that signs all of them
 * @throws what the signer throws
 */
export async function sealEnvelopes(
  claims: readonly Claims[],
  kid: string,
  sign: Signer["sign"],
): Promise<SealedEnvelope[]> {
  const header = base64url(JSON.stringify({ alg: "RS256", kid, typ: "JWT" }));
  const unsigned = claims.map((one) => unsignedEnvelope(one, header));
  const signatures = await sign(
    kid,
    unsigned.map(({ input }) => input),
  );
  return unsigned.map((one, index) => sealed(one, kid, signatures[index] ?? ""));
}

/** An envelope before its signature: the JWS signing input, and the result as it stands in it. */
type UnsignedEnvelope = { readonly claims: Claims; readonly result: string; readonly input: string };

/**
 * The result is turned into JSON once: the signed claim and the unsigned copy are the same bytes, so they cannot
 * differ.
 */
function unsignedEnvelope(claims: Claims, header: string): UnsignedEnvelope {
  const result = JSON.stringify(claims.result);
  const status =
    claims.status === undefined ? "" : `,"status":{"status_list":${JSON.stringify(claims.status)}}`;
  const payload =
    `{"iss":${JSON.stringify(claims.issuer)},"aud":${JSON.stringify(claims.audience)},` +
    `"sub":"${claims.verificationId}","iat":${claims.issuedAt},"result":${result}${status}}`;
  return { claims, result, input: `${header}.${base64url(payload)}` };
}

function sealed({ claims, result, input }: UnsignedEnvelope, kid: string, signature: string): SealedEnvelope {
  const jws = `${input}.${signature}`;
  const outer: Omit<SignedEnvelope, "result" | "signature" | "signatureKid"> = {
    verificationId: claims.verificationId,
    verifiedAt: isoSeconds(claims.issuedAt),
    issuer: claims.issuer,
    audience: claims.audience,
  };
  const json = `${JSON.stringify(outer).slice(0, -1)},"result":${result},"signature":"${jws}","signatureKid":"${kid}"}`;
  return { claims, kid, jws, json };
}

export function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
