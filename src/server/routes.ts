/**
 * Every address of the service, one row a route. From it follow Hono's routes and the fast path's (app.ts), 405, the
 * names under which calls are counted and logged, the credential that a call must bring (partner-api.ts), and the
 * paths of the OpenAPI document.
 */
import type { Scope } from "../domain/partners.ts";
import type { Traffic } from "../metrics/requests.ts";
import type { Pages } from "./app.ts";
import type { PageHandler } from "./http/hono-call.ts";
import { logRoutes } from "./log-routes.ts";
import type { Operation, ResponsesByStatus } from "./openapi/document.ts";
import { pageRoutes } from "./page-routes.ts";
import * as partner from "./partner-api.ts";
import { type PublicHandler, publicLookup } from "./public-api.ts";

type RouteBase = {
  readonly method: "GET" | "POST";
  /** As the OpenAPI document, the metrics and the log write it. */
  readonly path: string;
  /** The last part of the path may hold slashes. */
  readonly slashes?: true;
  /** Any site's script may read the answer: it is public, and asks for no credential. */
  readonly cors?: true;
  /** What counts it; without one it is counted as `other`, as unknown addresses are. */
  readonly traffic?: Traffic;
};

/** A call for partners: its scope says who may make it, and what the evidence log calls it. */
export type PartnerRoute = RouteBase & {
  readonly traffic: "partner";
  readonly scope: Scope;
  readonly handler: partner.PartnerHandler;
  readonly operation: Operation;
};

/** A call for everybody. */
export type PublicRoute = RouteBase & { readonly handler: PublicHandler; readonly operation: Operation };

/** A page or a document: Hono answers it, and the fast path never takes it. */
export type PageRoute = RouteBase & {
  readonly page: (pages: Pages) => PageHandler;
  /** Only what machines read has one. */
  readonly operation?: Operation;
};

export type Route = PartnerRoute | PublicRoute | PageRoute;

const api = "/v1/inter-agency";

const partnerResponses = {
  400: "Invalid",
  401: "Unauthorized",
  403: "ScopeMissing",
  429: "QuotaExceeded",
  500: "PartnerInternalError",
  503: "PartnerUnavailable",
} as const satisfies ResponsesByStatus;

const idempotentResponses = {
  ...partnerResponses,
  403: "Forbidden",
  409: "KeyInUse",
  413: "TooLarge",
  422: "KeyReused",
} as const satisfies ResponsesByStatus;

export const routes: readonly Route[] = [
  {
    method: "GET",
    path: "/teacher/verify-license",
    traffic: "public",
    cors: true,
    handler: publicLookup,
    operation: {
      id: "verifyLicense",
      tag: "public",
      summary: "Is this teacher licensed?",
      description:
        "Anyone may ask. Limited per source IP address, an IPv6 address by its /64; lookups by NIN, e-mail or phone have a " +
        "third of the limit. The answer may be cached for up to 24 hours together with its " +
        "`verifiedAt`. Readable by scripts of any site (CORS).",
      parameters: ["searchTerm"],
      responses: { 200: "PublicLookup", 400: "PublicInvalid", 429: "QuotaExceeded", 503: "Unavailable" },
    },
  },
  {
    method: "POST",
    path: `${api}/eligibility-check`,
    traffic: "partner",
    scope: "eligibility",
    handler: partner.checkEligibility,
    operation: {
      id: "checkEligibility",
      tag: "verification",
      summary: "Is this teacher eligible for this purpose?",
      description:
        "Looks a teacher up, judges by the policy of the purpose and signs the result. Scope `eligibility`.",
      parameters: ["idempotencyKey"],
      body: "EligibilityCheckRequest",
      responses: { ...idempotentResponses, 200: "IdempotentEnvelope" },
    },
  },
  {
    method: "GET",
    path: `${api}/lookup/by-reg-no/{regNo}`,
    slashes: true,
    traffic: "partner",
    scope: "lookup_by_reg_no",
    handler: partner.lookUpByRegNo,
    operation: {
      id: "lookUpByRegNo",
      tag: "verification",
      summary: "Look a teacher up by registration number",
      description:
        "Judged by the purpose `GENERAL_PUBLIC_VERIFICATION`. A number without four segments is 400. Scope " +
        "`lookup_by_reg_no`.",
      parameters: ["regNo"],
      responses: { ...partnerResponses, 200: "Envelope" },
    },
  },
  {
    method: "GET",
    path: `${api}/lookup/by-tid/{tId}`,
    traffic: "partner",
    scope: "lookup_by_tid",
    handler: partner.lookUpByTId,
    operation: {
      id: "lookUpByTId",
      tag: "verification",
      summary: "Look a teacher up by teacher id",
      description:
        "Judged by the purpose `GENERAL_PUBLIC_VERIFICATION`. An id that is no number is 400. Scope `lookup_by_tid`.",
      parameters: ["tId"],
      responses: { ...partnerResponses, 200: "Envelope" },
    },
  },
  {
    method: "POST",
    path: `${api}/lookup/by-nin`,
    traffic: "partner",
    scope: "lookup_by_nin",
    handler: partner.lookUpByNin,
    operation: {
      id: "lookUpByNin",
      tag: "verification",
      summary: "Look a teacher up by national identification number",
      description:
        "Judged by the purpose `GENERAL_PUBLIC_VERIFICATION`. A POST, so that the number never stands in a URL or a " +
        "log. Scope `lookup_by_nin`.",
      body: "NinLookupRequest",
      responses: { ...partnerResponses, 200: "Envelope", 413: "TooLarge" },
    },
  },
  {
    method: "POST",
    path: `${api}/batch`,
    traffic: "partner",
    scope: "batch",
    handler: partner.checkBatch,
    operation: {
      id: "checkBatch",
      tag: "verification",
      summary: "Up to 100 eligibility checks in one call",
      description:
        "The whole batch is checked before any item runs, and a technical failure of one item is a 503 " +
        "for all: an answer always has one envelope per item. A batch is one call of the quota unless agreed otherwise. " +
        "Scope `batch`.",
      parameters: ["idempotencyKey"],
      body: "BatchCheckRequest",
      responses: { ...idempotentResponses, 200: "Batch" },
    },
  },
  {
    method: "GET",
    path: `${api}/.well-known/jwks.json`,
    traffic: "other",
    cors: true,
    page: ({ documents }) => documents.jwks,
    operation: {
      id: "getJwks",
      tag: "documents",
      summary: "The public keys",
      description:
        "Cache it, and fetch it again when an envelope names a `kid` that is not in your copy. Readable by scripts of " +
        "any site (CORS).",
      parameters: ["ifNoneMatch"],
      responses: { 200: "Jwks", 304: "NotModified" },
    },
  },
  {
    method: "GET",
    path: `${api}/.well-known/key-history`,
    traffic: "other",
    cors: true,
    page: ({ documents }) => documents.keyHistory,
    operation: {
      id: "getKeyHistory",
      tag: "documents",
      summary: "The signed history of all keys",
      description:
        "For verifying envelopes offline, years later, and for recognising those that a compromised key signed. " +
        "Readable by scripts of any site (CORS).",
      parameters: ["ifNoneMatch"],
      responses: { 200: "KeyHistory", 304: "NotModified" },
    },
  },
  ...logRoutes,
  {
    method: "GET",
    path: `${api}/health`,
    traffic: "other",
    cors: true,
    page: ({ documents }) => documents.health,
    operation: {
      id: "getHealth",
      tag: "documents",
      summary: "Does the service work?",
      description: "Asks the database and the signer. Readable by scripts of any site (CORS).",
      responses: { 200: "Healthy", 503: "Unhealthy" },
    },
  },
  {
    method: "GET",
    path: `${api}/openapi.json`,
    traffic: "other",
    page: ({ reference }) => reference.openApi,
    operation: {
      id: "getOpenApi",
      tag: "documents",
      summary: "This document",
      description: "The contract in machine-readable form; `/v1/inter-agency/docs` shows it to people.",
      parameters: ["ifNoneMatch"],
      responses: { 200: "OpenApi", 304: "NotModified" },
    },
  },
  {
    method: "GET",
    path: `${api}/verify.mjs`,
    traffic: "other",
    cors: true,
    page: ({ documents }) => documents.partnerModule,
    operation: {
      id: "getPartnerModule",
      tag: "documents",
      summary: "The verifier and the client as one file",
      description:
        "An ECMAScript module without dependencies, for Node 20 and later, Bun, Deno and browsers: `createKeySet`, " +
        "`verifyEnvelope`, `verifyWebhook`, `createClient`. Read it and keep a copy: what you verify with must not come " +
        "from whom you verify each time. Readable by scripts of any site (CORS).",
      parameters: ["ifNoneMatch"],
      responses: { 200: "PartnerModule", 304: "NotModified" },
    },
  },
  {
    method: "GET",
    path: `${api}/verify.d.mts`,
    traffic: "other",
    cors: true,
    page: ({ documents }) => documents.partnerTypes,
    operation: {
      id: "getPartnerTypes",
      tag: "documents",
      summary: "The declarations of that module",
      description: "For TypeScript: keep it beside the module. Readable by scripts of any site (CORS).",
      parameters: ["ifNoneMatch"],
      responses: { 200: "PartnerTypes", 304: "NotModified" },
    },
  },
  ...pageRoutes,
];

/** A route's path as Hono's router writes it: `{tId}` is `:tId`, and `:regNo{.+}` where slashes belong to it. */
export function routerPath({ path, slashes }: Pick<Route, "path" | "slashes">): string {
  return path.replace(/\{(\w+)\}/g, slashes ? ":$1{.+}" : ":$1");
}
