import { type AddressDecision, createAddressLimit } from "../domain/address-limit.ts";
import type { Clock } from "../domain/clock.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import { isPersonalTerm } from "../domain/teachers/search-term.ts";
import type { PageHandler } from "../http/hono-call.ts";
import { type HttpCall, jsonReply, type Reply, setRateLimitHeaders } from "../http/http-call.ts";
import { rateLimitKeys, type SourceOf } from "../http/peer.ts";
import { problemReply } from "../http/problem.ts";
import {
  compressedDocument,
  keptDocuments,
  programFile,
  publicDocument,
  sendDocument,
} from "../http/public-document.ts";
import { check } from "../http/request-body.ts";
import { log } from "../logger.ts";
import type { Service } from "../service.ts";
import type { EvidenceDocuments } from "./evidence-api.ts";
import { searchTermSchema } from "./requests.ts";
import type { StatusDocuments } from "./status-api.ts";

/** What calls for everybody are answered from. */
export type PublicParts = {
  readonly service: Service;
  readonly limit: PublicLimit;
  readonly evidence: EvidenceDocuments;
  readonly statusLists: StatusDocuments;
};

/** A call for everybody, within the limit of the address that it comes from. */
export type PublicHandler = (call: HttpCall, on: PublicParts) => Promise<Reply>;

/** The public lookup (contract C2). */
export const publicLookup: PublicHandler = async (call, { service, limit }) => {
  const caller = limit(call);
  const decision = caller.lookup();
  if (!decision.allowed) return tooMany(call, decision, "lookups");
  const term = check(searchTermSchema, call.query("searchTerm"), "searchTerm");
  const personal = caller.term(term);
  if (personal?.allowed === false) return tooMany(call, personal, "lookups by NIN, e-mail or phone");
  const answer = await service.publicLookup(term);
  const headers = { "Cache-Control": answer.found ? "private, max-age=86400" : "no-store" };
  return jsonReply(200, answer, headers);
};

/** A call that names nobody, and counts as a lookup. */
export function withinLimit(handler: PublicHandler): PublicHandler {
  return async (call, on) => {
    const decision = on.limit(call).lookup();
    return decision.allowed ? handler(call, on) : tooMany(call, decision, "lookups");
  };
}

function tooMany(call: HttpCall, decision: AddressDecision, what: string): Reply {
  const { retryAfterSeconds } = decision;
  const message = `too many ${what} from this IP address; try again later`;
  const reply = problemReply(
    new TvsError("ADDRESS_QUOTA", message, { members: { retryAfterSeconds } }),
    call,
  );
  setRateLimitHeaders(reply.headers, decision);
  return reply;
}

export type PublicLimit = ReturnType<typeof createPublicLimit>;

/** The limit for every way of looking a teacher up: who has spent it at the address has spent it on the page. */
export function createPublicLimit({
  clock,
  sourceOf,
  perMinute,
}: {
  clock: Clock;
  sourceOf: SourceOf;
  perMinute: () => number;
}) {
  const limit = createAddressLimit(perMinute, clock);
  /** What a caller's address has left, found once for all of a call. */
  return (call: Parameters<SourceOf>[0]) => {
    const blocks = rateLimitKeys(sourceOf(call));
    return {
      /** Counts any lookup, before its term is read. */
      lookup: () => limit.lookup(blocks),
      /** Counts the same lookup by its trimmed term. @returns null for a term that has no further limit */
      term: (term: string) => (isPersonalTerm(term) ? limit.personalLookup(blocks) : null),
    };
  };
}

/** What the health document says, by a probe. */
function healthOf({ probe }: Service): Promise<"ok" | "empty" | "unavailable"> {
  return probe().then(
    () => "ok",
    (error) => {
      if (isTvsError(error, "REGISTER_EMPTY")) return "empty";
      log.error("health probe failed", { detail: String(error) });
      return "unavailable";
    },
  );
}

/** The module that partners import, the same file as in their package (decision D14.1). */
const moduleCode = programFile(
  "text/javascript",
  () => import("./verify.bundle.js", { with: { type: "text" } }),
);

export const partnerModule: PageHandler = async (c) => {
  const reply = await moduleCode(c);
  // Deno and editors find the declarations by this header, of the module itself.
  if (reply.ok) reply.headers.set("X-TypeScript-Types", "./verify.d.mts");
  return reply;
};

export const partnerTypes = programFile(
  "application/typescript",
  () => import("./verify.types.txt", { with: { type: "text" } }),
);

/** The key set, the key history, the OpenAPI document and the health probe: public, and the same for everybody. */
export function serviceDocuments(service: Service) {
  const { configuration } = service;
  const kept = keptDocuments(configuration);
  const jwks: PageHandler = async (c) =>
    sendDocument(c, publicDocument((await configuration.recent()).jwks, "application/json"));
  const keyHistory: PageHandler = async (c) =>
    sendDocument(c, publicDocument((await configuration.recent()).keyHistory, "application/jose"));
  const health: PageHandler = async (c) => {
    const status = await healthOf(service);
    // The probe has read again what commands have changed.
    const { settings, keys } = service.configuration.current();
    c.header("Cache-Control", "no-store");
    if (status !== "ok") c.header("Retry-After", "1");
    return c.json(
      { status, service: "tvs", issuer: settings.issuer, activeKid: keys.active.kid },
      status === "ok" ? 200 : 503,
    );
  };
  const openApi: PageHandler = async (c) => {
    const document = await kept("openapi.json", async ({ issuer, site }) => {
      // Loaded here, because most services are hardly ever asked for it.
      const { openApiDocument } = await import("./openapi.ts");
      return compressedDocument(JSON.stringify(openApiDocument(issuer, site)), "application/json");
    });
    return sendDocument(c, document);
  };
  return { jwks, keyHistory, health, openApi };
}
