/** Reads an envelope's claims from its JWS (RFC 7519; contract C9), and compares the unsigned members with the claims. */

import { certificateStatuses, type EligibilityResult, licenseStatuses, teacherSources } from "./contract.ts";
import { formatUnixSeconds, parseDateTime } from "./date-time.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";
import type { SharedClaims, StatusClaim } from "./verification.ts";

/** An envelope's claims, with checked types. Issuer, audience and times are not yet compared with the caller's options. */
export type Claims = SharedClaims & {
  readonly result: EligibilityResult;
  /** The URI of a status list, and the envelope's index in that list; null if the claim `status` is absent. */
  readonly status: StatusClaim | null;
};

const requiredClaims = ["iss", "aud", "sub", "iat", "result"];

/** A longer issuer is not parsed, because parsing a URL takes time quadratic in the length of its host name. */
const maxIssuerCharacters = 2_000;

/** Parses an issuer's URL; null unless it is http(s) without credentials, query and fragment, which could mislead. */
export function parseIssuerUrl(issuer: string): URL | null {
  const url = issuer.length <= maxIssuerCharacters && URL.canParse(issuer) ? new URL(issuer) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.username + url.password + url.search + url.hash === "" ? url : null;
}

/** Builds the URL of the page that verifies an issuer's envelopes; null if the issuer is not an http(s) URL. */
export function verificationPageOfIssuer(issuer: string): string | null {
  const url = parseIssuerUrl(issuer);
  return url === null ? null : `${url.href.replace(/\/+$/, "")}/verify-envelope`;
}

/** Reads the claim `iat`, the Unix time of signing. The key is checked for this time before other claims are read. */
export function readIssuedAt(payload: JsonObject): number | Refusal {
  const { iat } = payload;
  if (iat === undefined) return refuse("CLAIM_MISSING", "The claim iat is missing.");
  const isTime =
    typeof iat === "number" && Number.isSafeInteger(iat) && iat >= 0 && formatUnixSeconds(iat) !== null;
  return isTime ? iat : refuse("CLAIM_TYPE", "The claim iat is not a time in whole seconds.");
}

/** Reads the issuer of unverified claims; null unless it is a URL in printable ASCII, which is safe to show. */
export function readClaimedIssuer(payload: JsonObject | Refusal): string | null {
  if (payload instanceof Refusal || typeof payload.iss !== "string") return null;
  const { iss } = payload;
  const isPlain = /^[\x21-\x7e]{1,200}$/.test(iss);
  return isPlain && parseIssuerUrl(iss) !== null ? iss : null;
}

function findTypeProblem(payload: JsonObject): Refusal | null {
  const missing = requiredClaims.find((claim) => !Object.hasOwn(payload, claim));
  if (missing !== undefined) return refuse("CLAIM_MISSING", `The claim ${missing} is missing.`);
  if (Array.isArray(payload.aud)) return refuse("AUDIENCE_NOT_SINGLE");
  const wrong = ["iss", "aud", "sub"].find(
    (claim) => typeof payload[claim] !== "string" || payload[claim] === "",
  );
  if (wrong !== undefined) return refuse("CLAIM_TYPE", `The claim ${wrong} is not a text.`);
  const problem = findResultProblem(payload.result);
  return problem === null ? null : refuse("RESULT_MALFORMED", problem);
}

/** Reads the claims `exp` and `nbf`. The service sets neither, but a verifier must obey time limits that are signed. */
export function readTimeLimits({ exp, nbf }: JsonObject) {
  const wrong = [exp, nbf].some((limit) => limit !== undefined && typeof limit !== "number");
  if (wrong) return refuse("CLAIM_TYPE", "The claim exp or nbf is not a number.");
  return { expiresSeconds: (exp ?? null) as number | null, notBeforeSeconds: (nbf ?? null) as number | null };
}

/** Reads the claim `status`; null if it is absent, undefined if it is malformed. */
function readStatus({ status }: JsonObject): StatusClaim | null | undefined {
  if (status === undefined) return null;
  const list = isJsonObject(status) ? status.status_list : undefined;
  const { idx, uri } = isJsonObject(list) ? list : {};
  const isPlace = Number.isSafeInteger(idx) && Number(idx) >= 0 && typeof uri === "string" && uri !== "";
  return isPlace ? { uri, idx: Number(idx) } : undefined;
}

/** Reads all claims of an envelope; `issuedAtSeconds` is the result of `readIssuedAt`. */
export function readEnvelopeClaims(payload: JsonObject, issuedAtSeconds: number): Claims | Refusal {
  const problem = findTypeProblem(payload);
  if (problem !== null) return problem;
  const limits = readTimeLimits(payload);
  if (limits instanceof Refusal) return limits;
  const status = readStatus(payload);
  if (status === undefined) return refuse("CLAIM_TYPE", "The claim status names no place in a status list.");
  return {
    issuer: String(payload.iss),
    audience: String(payload.aud),
    verificationId: String(payload.sub),
    issuedAtSeconds,
    result: payload.result as unknown as EligibilityResult,
    ...limits,
    status,
  };
}

/** A function that checks the type or form of one JSON value. */
type Rule = (value: JsonValue | undefined) => boolean;

export const isText: Rule = (value) => typeof value === "string";
export const isBoolean: Rule = (value) => typeof value === "boolean";
export const isInteger: Rule = (value) => Number.isSafeInteger(value);
export const isTextList: Rule = (value) => Array.isArray(value) && value.every(isText);

/** Finds the first member of `value` that breaks its rule in `rules`; undefined if every member keeps its rule. */
function findBroken(rules: Readonly<Record<string, Rule>>, value: JsonObject): string | undefined {
  return Object.keys(rules).find((member) => rules[member]?.(value[member]) !== true);
}

export function isOneOf(words: readonly string[]): Rule {
  return (value) => typeof value === "string" && words.includes(value);
}

/** Makes a rule that also accepts null or an absent member: a later version of the service could leave the member out. */
export function allowNull(rule: Rule): Rule {
  return (value) => value === null || value === undefined || rule(value);
}

export function isObjectOf(rules: Record<string, Rule>): Rule {
  return (value) => isJsonObject(value) && findBroken(rules, value) === undefined;
}

const [textOrNull, wholeOrNull] = [allowNull(isText), allowNull(isInteger)];
const resultRules: Record<string, Rule> = {
  found: isBoolean,
  source: allowNull(isOneOf(teacherSources)),
  status: isOneOf(licenseStatuses),
  eligible: isBoolean,
  reasons: isTextList,
  teacher: allowNull(isObjectOf({ name: isText, tId: wholeOrNull, state: textOrNull, category: textOrNull })),
  license: allowNull(
    isObjectOf({
      status: isOneOf(licenseStatuses),
      issueDate: textOrNull,
      expiryDate: textOrNull,
      daysRemaining: wholeOrNull,
    }),
  ),
  certificate: allowNull(
    isObjectOf({ status: isOneOf(certificateStatuses), regNo: textOrNull, issueDate: textOrNull }),
  ),
  profile: allowNull(isJsonObject),
};

/** The members that contract C10 requires to be null if `found` is false. */
const nullWhenNotFound = ["source", "teacher", "license", "certificate", "profile"];

/** Finds a contradiction between `found`, `eligible` and `status`, which would mislead a reader of only one member. */
function findContradiction(result: JsonObject): string | null {
  if (result.found === false) {
    const isEmpty = nullWhenNotFound.every((member) => (result[member] ?? null) === null);
    if (!isEmpty) return "Nobody was found, yet the signed result describes somebody.";
    if (result.status !== "NOT_FOUND") return "Nobody was found, yet the signed status is not NOT_FOUND.";
  }
  const isEntitled = result.found === true && result.status === "VALID";
  return result.eligible === true && !isEntitled
    ? "The signed result is eligible without a VALID licence."
    : null;
}

/** Describes what is wrong with a claim `result`; null if it is an EligibilityResult. Unknown members are ignored. */
export function findResultProblem(value: JsonValue | undefined): string | null {
  if (!isJsonObject(value)) return "The signed result is not an object.";
  const broken = findBroken(resultRules, value);
  if (broken !== undefined) return `The signed result's member ${broken} is missing or malformed.`;
  return findContradiction(value);
}

/** The members of a SignedEnvelope. Only their types are checked: anybody could have changed their values. */
type OuterMembers = {
  readonly verificationId: string;
  readonly verifiedAt: string;
  readonly issuer: string;
  readonly audience: string;
  readonly signature: string;
  readonly signatureKid: string;
  readonly result: JsonObject;
};

const textMembers = ["verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid"];

/** Checks the types of an envelope's members. The refusal (`ENVELOPE_MALFORMED`) names the first malformed member. */
export function readUnsignedMembers(envelope: JsonObject): OuterMembers | Refusal {
  const bad = textMembers.find((member) => typeof envelope[member] !== "string");
  if (bad !== undefined) return refuse("ENVELOPE_MALFORMED", `The member ${bad} is missing or not a text.`);
  if (!isJsonObject(envelope.result))
    return refuse("ENVELOPE_MALFORMED", "The member result is missing or not an object.");
  return envelope as unknown as OuterMembers;
}

/**
 * Finds the first difference between a signed JSON value and its unsigned copy. The order of members does not matter.
 * @param path the start of the returned path, such as `result`; only names of members of `signed` are added to the path,
 * because anybody could have written `outer`
 * @returns the path of the difference; null if the values are equal
 */
export function findJsonDifference(
  signed: JsonValue,
  outer: JsonValue | undefined,
  path: string,
): string | null {
  if (signed === outer) return null;
  const isList = Array.isArray(signed);
  const areLists = isList && Array.isArray(outer) && outer.length === signed.length;
  if (!areLists && !(isJsonObject(signed) && isJsonObject(outer))) return path;
  const others = outer as JsonObject;
  for (const [name, value] of Object.entries(signed)) {
    const place = isList ? `${path}[${name}]` : `${path}.${name}`;
    if (!Object.hasOwn(others, name)) return place;
    const difference = findJsonDifference(value, others[name], place);
    if (difference !== null) return difference;
  }
  return Object.keys(others).length === Object.keys(signed).length ? null : path;
}

/** Compares `verifiedAt` with the claim `iat` (`seconds`), which has whole seconds. Fractions of a second are ignored. */
export function isSameSecond(verifiedAt: string, seconds: number): boolean {
  const time = parseDateTime(verifiedAt);
  return time !== null && Math.floor(time / 1000) === seconds;
}

/** Unsigned members of envelopes and statements: `id` is verificationId or statementId, `time` verifiedAt or issuedAt. */
type SharedOuter = Readonly<
  Record<"issuer" | "audience" | "signatureKid" | "id" | "time", JsonValue | undefined>
>;

/** Compares the unsigned members of an envelope or statement with the claims; `kid` is the key id in the JWS header. */
export function findSharedMemberDifference(
  { issuer, audience, signatureKid, id, time }: SharedOuter,
  claims: Pick<Claims, "issuer" | "audience" | "verificationId" | "issuedAtSeconds">,
  kid: string,
): Refusal | null {
  if (issuer !== claims.issuer) return refuse("OUTER_ISSUER_DIFFERS");
  if (audience !== claims.audience) return refuse("OUTER_AUDIENCE_DIFFERS");
  if (signatureKid !== kid) return refuse("OUTER_KID_DIFFERS");
  if (id !== claims.verificationId) return refuse("OUTER_VERIFICATION_ID_DIFFERS");
  const isSame = typeof time === "string" && isSameSecond(time, claims.issuedAtSeconds);
  return isSame ? null : refuse("OUTER_VERIFIED_AT_DIFFERS");
}

/** Compares an envelope's unsigned members with its claims (contract C9), in the order of decision D6.2. */
export function findEnvelopeDifference(outer: OuterMembers, claims: Claims, kid: string): Refusal | null {
  const path = findJsonDifference(claims.result as unknown as JsonValue, outer.result, "result");
  if (path !== null)
    return refuse("OUTER_RESULT_DIFFERS", `The unsigned ${path} differs from the signed one.`);
  return findSharedMemberDifference(
    { ...outer, id: outer.verificationId, time: outer.verifiedAt },
    claims,
    kid,
  );
}
