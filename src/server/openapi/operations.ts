import * as v from "valibot";
import type { Scope } from "../../domain/partners.ts";
import { idempotencyKeySchema, searchTermSchema } from "../schemas.ts";
import * as examples from "./examples.ts";
import { type Json, type ResponseName, responseRef } from "./responses.ts";
import { type SchemaName, schemaRef } from "./schemas.ts";

export const tags = {
  public: "Public look-up",
  verification: "Verification",
  documents: "Keys and health",
} as const;

function parameter(name: string, place: "query" | "path" | "header", rest: Json): Json {
  return { name, in: place, required: place !== "header", ...rest };
}

/** Parameters by the name under which operations refer to them. */
export const parameters = {
  searchTerm: parameter("searchTerm", "query", {
    description: v.getMetadata(searchTermSchema).description,
    schema: schemaRef("SearchTerm"),
    example: examples.regNo,
  }),
  regNo: parameter("regNo", "path", {
    description:
      "Registration number with its slashes percent-encoded (`%2F`); they are also taken as they are.",
    schema: schemaRef("RegNo"),
    example: examples.regNo,
  }),
  tId: parameter("tId", "path", {
    description: "Teacher id.",
    schema: schemaRef("TId"),
    example: examples.tId,
  }),
  idempotencyKey: parameter("Idempotency-Key", "header", {
    description: v.getMetadata(idempotencyKeySchema).description,
    schema: schemaRef("IdempotencyKey"),
  }),
  ifNoneMatch: parameter("If-None-Match", "header", {
    description: "The `ETag` of the copy at hand.",
    schema: { type: "string", examples: ['"gvIYSZwWV5TBkV2dJb5C1uGm2lI"'] },
  }),
} as const satisfies Record<string, Json>;

type Operation = {
  id: string;
  tag: keyof typeof tags;
  summary: string;
  description: string;
  parameters?: readonly (keyof typeof parameters)[];
  body?: SchemaName;
  /** Left out where no credential is needed. */
  scope?: Scope;
  answers: Readonly<Record<number, ResponseName>>;
};

/** What any address can answer. */
const everywhere = { 404: "NotFound", 405: "MethodNotAllowed", 500: "InternalError" } as const;
const partnerAnswers = {
  400: "Invalid",
  401: "Unauthorized",
  403: "ScopeMissing",
  429: "QuotaExceeded",
  500: "PartnerInternalError",
  503: "PartnerUnavailable",
} as const;
const idempotentAnswers = {
  ...partnerAnswers,
  403: "Forbidden",
  409: "KeyInUse",
  413: "TooLarge",
  422: "KeyReused",
} as const;

function operation(spec: Operation): Json {
  const answers = Object.entries({ ...everywhere, ...spec.answers }) as [string, ResponseName][];
  return {
    tags: [tags[spec.tag]],
    operationId: spec.id,
    summary: spec.summary,
    description: spec.description,
    ...(spec.parameters && {
      parameters: spec.parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(spec.body && {
      requestBody: { required: true, content: { "application/json": { schema: schemaRef(spec.body) } } },
    }),
    // The roles that OpenAPI 3.1 lets a requirement name are the scopes of the contract.
    security: spec.scope
      ? [{ mutualTLS: [spec.scope] }, { bearerKey: [spec.scope] }, { headerKey: [spec.scope] }]
      : [],
    responses: Object.fromEntries(answers.map(([status, name]) => [status, responseRef(name)])),
  };
}

/** The operations of the service by path and method (contract, Endpoints). */
export const paths = {
  "/teacher/verify-license": {
    get: operation({
      id: "verifyLicense",
      tag: "public",
      summary: "Is this teacher licensed?",
      description:
        "Anyone may ask. Limited per source address, an IPv6 address by its /64; look-ups by NIN, e-mail or phone have a " +
        "third of the limit. The answer may be cached for up to 24 hours together with its " +
        "`verifiedAt`. Readable by scripts of any site (CORS).",
      parameters: ["searchTerm"],
      answers: { 200: "PublicLookup", 400: "PublicInvalid", 429: "QuotaExceeded", 503: "Unavailable" },
    }),
  },
  "/v1/inter-agency/eligibility-check": {
    post: operation({
      id: "checkEligibility",
      tag: "verification",
      summary: "Is this teacher eligible for this purpose?",
      description:
        "Looks a teacher up, judges by the policy of the purpose and signs the result. Scope `eligibility`.",
      parameters: ["idempotencyKey"],
      body: "EligibilityCheckRequest",
      scope: "eligibility",
      answers: { ...idempotentAnswers, 200: "IdempotentEnvelope" },
    }),
  },
  "/v1/inter-agency/lookup/by-reg-no/{regNo}": {
    get: operation({
      id: "lookUpByRegNo",
      tag: "verification",
      summary: "Look a teacher up by registration number",
      description: "Scope `lookup_by_reg_no`. A number without four segments is 400.",
      parameters: ["regNo"],
      scope: "lookup_by_reg_no",
      answers: { ...partnerAnswers, 200: "Envelope" },
    }),
  },
  "/v1/inter-agency/lookup/by-tid/{tId}": {
    get: operation({
      id: "lookUpByTId",
      tag: "verification",
      summary: "Look a teacher up by teacher id",
      description: "Scope `lookup_by_tid`.",
      parameters: ["tId"],
      scope: "lookup_by_tid",
      answers: { ...partnerAnswers, 200: "Envelope" },
    }),
  },
  "/v1/inter-agency/lookup/by-nin": {
    post: operation({
      id: "lookUpByNin",
      tag: "verification",
      summary: "Look a teacher up by national identification number",
      description: "Scope `lookup_by_nin`. A POST, so that the number never stands in an address or a log.",
      body: "NinLookupRequest",
      scope: "lookup_by_nin",
      answers: { ...partnerAnswers, 200: "Envelope", 413: "TooLarge" },
    }),
  },
  "/v1/inter-agency/batch": {
    post: operation({
      id: "checkBatch",
      tag: "verification",
      summary: "Up to 100 eligibility checks in one call",
      description:
        "Scope `batch`. The whole batch is checked before any item runs, and a technical failure of one item is a 503 " +
        "for all: an answer always has one envelope per item. A batch is one call of the quota unless agreed otherwise.",
      parameters: ["idempotencyKey"],
      body: "BatchCheckRequest",
      scope: "batch",
      answers: { ...idempotentAnswers, 200: "Batch" },
    }),
  },
  "/v1/inter-agency/.well-known/jwks.json": {
    get: operation({
      id: "getJwks",
      tag: "documents",
      summary: "The public keys",
      description:
        "Cache it, and fetch it again when an envelope names a `kid` that is not in your copy. Readable by scripts of " +
        "any site (CORS).",
      parameters: ["ifNoneMatch"],
      answers: { 200: "Jwks", 304: "NotModified" },
    }),
  },
  "/v1/inter-agency/.well-known/key-history": {
    get: operation({
      id: "getKeyHistory",
      tag: "documents",
      summary: "The signed history of all keys",
      description:
        "For verifying envelopes offline, years later, and for recognising those that a compromised key signed. " +
        "Readable by scripts of any site (CORS).",
      parameters: ["ifNoneMatch"],
      answers: { 200: "KeyHistory", 304: "NotModified" },
    }),
  },
  "/v1/inter-agency/health": {
    get: operation({
      id: "getHealth",
      tag: "documents",
      summary: "Does the service work?",
      description: "Asks the database and the signer. Readable by scripts of any site (CORS).",
      answers: { 200: "Healthy", 503: "Unhealthy" },
    }),
  },
  "/v1/inter-agency/openapi.json": {
    get: operation({
      id: "getOpenApi",
      tag: "documents",
      summary: "This document",
      description: "The contract in machine-readable form; `/v1/inter-agency/docs` shows it to people.",
      parameters: ["ifNoneMatch"],
      answers: { 200: "OpenApi", 304: "NotModified" },
    }),
  },
} as const satisfies Record<string, Json>;
