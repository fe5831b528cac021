import { type Context, Hono } from "hono";
import { createIpRateLimiter, type RateLimitDecision } from "../domain/address-limit.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import { isPersonalTerm } from "../domain/teachers/search-term.ts";
import { type HonoEnv, type PageHandler, type RequestSource, setRateLimitHeaders } from "../http/context.ts";
import { createClientAddressFinder, deriveRateLimitKeys } from "../http/peer.ts";
import { createProblemResponse, setFailureCode } from "../http/problem.ts";
import { validateBySchema } from "../http/request-body.ts";
import { log } from "../logger.ts";
import type { AppOptions, Service } from "../service.ts";
import type { EvidenceLogDocuments } from "./evidence-api.ts";
import {
  compressDocument,
  type createDocumentCache,
  loadOnce,
  makeCompressedDocument,
  makeDocument,
  sendDocument,
  serveFile,
} from "./public-document.ts";
import { searchTermSchema } from "./requests.ts";
import type { StatusListDocuments } from "./status-api.ts";

export type ApiDependencies = {
  readonly service: Service;
  readonly options: AppOptions;
  readonly limit: ReturnType<typeof createPublicRateLimit>;
  /** The cache of the pages and of the OpenAPI document. */
  readonly documents: ReturnType<typeof createDocumentCache>;
  readonly evidence: EvidenceLogDocuments;
  readonly statusLists: StatusListDocuments;
  /** Returns true if the IP address belongs to a proxy from which the header `Client-Cert` is accepted. */
  readonly forwardsCertificates: (remoteAddress: string) => boolean;
};

declare module "hono" {
  interface ContextVariableMap {
    parts: ApiDependencies;
  }
}

export type HonoContext = Context<HonoEnv>;
export type ApiHandler = (c: HonoContext) => Promise<Response>;

/** Answers a public lookup (contract C2). The rate limit is checked first, so that a refused call costs little. */
const publicLookup: ApiHandler = async (c) => {
  const { service, limit } = c.get("parts");
  const caller = limit(c);
  const decision = caller.lookup();
  if (!decision.allowed) return refuseByLimit(c, decision, "lookups");
  const term = validateBySchema(searchTermSchema, c.req.query("searchTerm"), "searchTerm");
  const personal = caller.term(term);
  if (personal?.allowed === false) return refuseByLimit(c, personal, "lookups by NIN, e-mail or phone");
  const answer = await service.publicLookup(term);
  return c.json(answer, 200, { "Cache-Control": answer.found ? "private, max-age=86400" : "no-store" });
};

export const publicLookupApi = new Hono<HonoEnv>().get("/teacher/verify-license", publicLookup);

/** Puts a public route, such as those of the evidence log, under the limit of lookups per IP address. */
export function limitPerIpAddress(handler: ApiHandler): ApiHandler {
  return async (c) => {
    const decision = c.get("parts").limit(c).lookup();
    return decision.allowed ? handler(c) : refuseByLimit(c, decision, "lookups");
  };
}

function refuseByLimit(c: HonoContext, decision: RateLimitDecision, what: string): Response {
  const { retryAfterSeconds } = decision;
  const message = `too many ${what} from this IP address; try again later`;
  const error = new TvsError("ADDRESS_QUOTA", message, { retryAfterSeconds });
  const response = createProblemResponse(error, c);
  setRateLimitHeaders(response.headers, decision);
  return response;
}

/** Makes the limit of lookups per IP address. The public API and the lookup page share one limit. */
export function createPublicRateLimit({ clock }: Service, { publicPerMinute, trustedProxies }: AppOptions) {
  const limit = createIpRateLimiter(() => publicPerMinute, clock);
  const findSource = createClientAddressFinder({ trustedProxies });
  return ({ env, req }: RequestSource) => {
    const forwardedFor = trustedProxies.length === 0 ? null : req.header("X-Forwarded-For");
    const keys = deriveRateLimitKeys(findSource(env.remoteAddress, forwardedFor));
    return {
      /** Counts a lookup against the full limit, whatever its search term is. */
      lookup: () => limit.lookup(keys),
      /** Counts a lookup against the lower limit of NINs, e-mails and phones. @returns null if the term has another form */
      term: (term: string) => (isPersonalTerm(term) ? limit.personalLookup(keys) : null),
    };
  };
}

/** The ECMAScript module that partners import; the partners' npm package contains the same file (decision D14.1). */
const loadModule = () => import("./verify.bundle.js", { with: { type: "text" } });
const moduleCode = serveFile("text/javascript", loadModule);

const partnerModule: PageHandler = async (c) => {
  const reply = await moduleCode(c);
  // Deno and editors find the TypeScript declarations by this header.
  if (reply.ok) reply.headers.set("X-TypeScript-Types", "./verify.d.mts");
  return reply;
};

const loadTypes = () => import("./verify.types.txt", { with: { type: "text" } });
const partnerTypes = serveFile("application/typescript", loadTypes);

const partnerPackage = loadOnce(async () => {
  const { default: base64 } = await import("./package.bundle.txt", { with: { type: "text" } });
  return makeCompressedDocument(new Uint8Array(Buffer.from(base64, "base64")), "application/gzip");
});

const health: ApiHandler = async (c) => {
  const { service } = c.get("parts");
  const status = await service.probe().then(
    () => "ok",
    (error) => {
      if (isTvsError(error, "REGISTER_EMPTY")) return "empty";
      log.error("health probe failed", { detail: String(error) });
      return "unavailable";
    },
  );
  // The probe has just refreshed the configuration, so `current` needs no refresh.
  const { settings, keys } = service.configuration.current();
  c.header("Cache-Control", "no-store");
  const document = { status, service: "tvs", issuer: settings.issuer, activeKid: keys.active.kid };
  if (status === "ok") return c.json(document);
  setFailureCode("SERVICE_UNAVAILABLE", c);
  c.header("Retry-After", "1");
  return c.json(document, 503);
};

const recentSnapshot = (c: HonoContext) => c.get("parts").service.configuration.recent();

/** Public routes: the key set, the key history, the health probe, the partners' module and package. */
export const publicDocumentsApi = new Hono<HonoEnv>()
  .get("/.well-known/jwks.json", async (c) =>
    sendDocument(c, makeDocument((await recentSnapshot(c)).jwks, "application/json")),
  )
  .get("/.well-known/key-history", async (c) =>
    sendDocument(c, makeDocument((await recentSnapshot(c)).keyHistory, "application/jose")),
  )
  .get("/health", health)
  .get("/verify.mjs", partnerModule)
  .get("/verify.d.mts", partnerTypes)
  .get("/tvs-partner.tgz", async (c) => sendDocument(c, await partnerPackage()));

export const sendOpenApiDocument: PageHandler = async (c) => {
  const document = await c.get("parts").documents("openapi.json", async ({ issuer, site }) => {
    const { buildOpenApiDocument } = await import("./openapi.ts");
    return compressDocument(JSON.stringify(buildOpenApiDocument(issuer, site)), "application/json");
  });
  return sendDocument(c, document);
};
