import { Buffer } from "node:buffer";
import type { EligibilityResult } from "../partner/contract.ts";
import type { StatusClaim } from "../partner/verification.ts";
import { isoFromSeconds } from "./clock.ts";

/** The signer, which has the private keys of the key ring. `src/signing/` implements this type. */
export type Signer = {
  /**
   * Signs all inputs of one call. The call is admitted or refused as a whole, before any input is signed.
   * @param kid id of a loaded key
   * @param inputs the JWS signing inputs, ASCII
   * @param options `bulk` marks a batch or a statement, which waits while single checks are signed
   * @returns the RSASSA-PKCS1-v1_5 SHA-256 signatures, base64url, in the order of `inputs`
   * @throws TvsError SIGNER_UNAVAILABLE, OVERLOADED
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
  /** The status list and the envelope's index in it; absent if the service has no status lists. */
  readonly status?: StatusClaim | undefined;
};

export type SerializedEnvelope = { readonly claims: Claims; readonly jws: string; readonly json: string };

/** Signs the results of one call, each in its own envelope, in the order of `claims`. @throws the errors of `sign` */
export async function signEnvelopes(claims: readonly Claims[], kid: string, sign: Signer["sign"]) {
  const header = base64urlOfText(JSON.stringify({ alg: "RS256", kid, typ: "JWT" }));
  const unsigned = claims.map((one) => {
    // The same JSON text becomes the signed claim and the unsigned copy beside the JWS, so the two cannot differ.
    const result = JSON.stringify(one.result);
    return { claims: one, result, input: `${header}.${base64urlOfText(payloadOf(one, result))}` };
  });
  const inputs = unsigned.map(({ input }) => input);
  const signatures = await sign(kid, inputs);
  return unsigned.map(({ claims: one, result, input }, index) => {
    const { verificationId, issuer, audience, issuedAt } = one;
    const jws = `${input}.${signatures[index]}`;
    const outer = JSON.stringify({ verificationId, verifiedAt: isoFromSeconds(issuedAt), issuer, audience });
    const signed = `"result":${result},"signature":"${jws}","signatureKid":"${kid}"`;
    return { claims: one, jws, json: `${outer.slice(0, -1)},${signed}}` };
  });
}

function payloadOf({ issuer, audience, verificationId, issuedAt, status }: Claims, result: string): string {
  const claim = status === undefined ? "" : `,"status":{"status_list":${JSON.stringify(status)}}`;
  return (
    `{"iss":${JSON.stringify(issuer)},"aud":${JSON.stringify(audience)},` +
    `"sub":"${verificationId}","iat":${issuedAt},"result":${result}${claim}}`
  );
}

export function base64urlOfText(text: string): string {
  return Buffer.from(text).toString("base64url");
}
