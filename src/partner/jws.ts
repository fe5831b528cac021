/** Reads a compact JWS (RFC 7515 section 7.1) and checks its header, which must name RS256 and contain no key. */

import { decodeBase64url } from "./base64.ts";
import { statementJwsType } from "./contract.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";

/** A JWS in canonical form; its signature is not verified yet. */
export type CompactJws = {
  readonly protectedHeader: string;
  readonly payload: Uint8Array<ArrayBuffer>;
  /** The ASCII bytes of `header.payload`, over which the signature is made. */
  readonly signingInput: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
};

/** The members of a checked header that the verifier uses. */
export type JwsHeader = { readonly kid: string; readonly typ: string | null };

/** Members with a key or a key's URL, with which a header is refused. `x5t` is accepted: it only names a certificate. */
const keyMembers = ["jwk", "jku", "x5u", "x5c"];

const ascii = new TextEncoder();

/** Splits a compact JWS, but does not decode its header; refuses with `JWS_MALFORMED` or `BASE64URL_NOT_CANONICAL`. */
export function splitCompactJws(text: string): CompactJws | Refusal {
  const first = text.indexOf(".");
  const second = text.indexOf(".", first + 1);
  if (first < 1 || second === -1 || text.indexOf(".", second + 1) !== -1) return refuse("JWS_MALFORMED");
  const payload = decodeBase64url(text.slice(first + 1, second));
  const signature = decodeBase64url(text.slice(second + 1));
  if (payload === null || signature === null) return refuse("BASE64URL_NOT_CANONICAL");
  const signingInput = ascii.encode(text.slice(0, second));
  return { protectedHeader: text.slice(0, first), payload, signingInput, signature };
}

/** Reads the decoded header or payload of a JWS as a JSON object; the refusal names the `part`. */
export function readJwsPart(bytes: Uint8Array, part: "header" | "payload"): JsonObject | Refusal {
  const reading = readStrictJson(bytes);
  if (!(reading instanceof Refusal))
    return isJsonObject(reading) ? reading : refuse("JWS_MALFORMED", `The ${part} is no JSON object.`);
  const isForm = reading.reason === "JSON_MALFORMED" || reading.reason === "INPUT_NOT_UTF8";
  if (isForm) return refuse("JWS_MALFORMED", `The ${part} is not JSON in UTF-8.`);
  return refuse(reading.reason, `The ${part} is not strict JSON.`);
}

function vetHeader(header: JsonObject): JwsHeader | Refusal {
  if (header.alg !== "RS256") return refuse("HEADER_ALG");
  if (Object.hasOwn(header, "crit")) return refuse("HEADER_CRIT");
  if (Object.hasOwn(header, "b64")) return refuse("HEADER_B64");
  if (keyMembers.some((member) => Object.hasOwn(header, member))) return refuse("HEADER_KEY");
  const { typ = null, kid } = header;
  if (Object.hasOwn(header, "typ") && typeof typ !== "string") return refuse("HEADER_TYP");
  if (typeof kid !== "string" || kid === "") return refuse("HEADER_KID");
  return { kid, typ: typ as string | null };
}

/** Reads and checks a protected header: it must have RS256 and a key id, and neither extensions nor a key. */
export function readJwsHeader(protectedHeader: string): JwsHeader | Refusal {
  const bytes = decodeBase64url(protectedHeader);
  if (bytes === null) return refuse("BASE64URL_NOT_CANONICAL");
  const header = readJwsPart(bytes, "header");
  return header instanceof Refusal ? header : vetHeader(header);
}

/** Reads the `typ` in the header of a JWS; null for a header without `typ`, undefined for an unreadable header. */
function typeOf(jws: JsonValue | undefined): JsonValue | undefined {
  const bytes = typeof jws === "string" ? decodeBase64url(jws.slice(0, Math.max(jws.indexOf("."), 0))) : null;
  const header = bytes === null ? null : readJwsPart(bytes, "header");
  return header === null || header instanceof Refusal ? undefined : (header.typ ?? null);
}

/**
 * Whether a value is a statement, by the `typ` of its JWS or by its members `statementId` and `rows`.
 * @param value a bare JWS, or a value of `readStrictJson`
 */
export function isStatement(value: JsonValue): boolean {
  if (!isJsonObject(value)) return typeof value === "string" && typeOf(value) === statementJwsType;
  const has = (...members: string[]) => members.every((member) => Object.hasOwn(value, member));
  return typeOf(value.signature) === statementJwsType || has("statementId", "rows");
}
