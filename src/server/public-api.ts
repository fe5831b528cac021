import { Hono } from "hono";
import type { AddressDecision } from "../domain/address-limit.ts";
import { log } from "../log.ts";
import { check } from "./body.ts";
import { publicDocument, sendDocument } from "./document.ts";
import type { AppEnv } from "./http/hono-call.ts";
import { type Handler, jsonReply, type Reply, setRateLimitHeaders } from "./http/http-call.ts";
import type { PublicLimit } from "./public-limit.ts";
import { searchTermSchema } from "./schemas.ts";
import type { Service } from "./service.ts";

/** The public look-up (contract, A). */
export function publicLookup(service: Service, limit: PublicLimit): Handler {
  return async (call) => {
    const caller = limit(call);
    const decision = caller.lookup();
    if (!decision.allowed) return tooMany(decision, "look-ups");
    const term = check(searchTermSchema, call.query("searchTerm"), "searchTerm");
    const personal = caller.term(term);
    if (personal?.allowed === false) return tooMany(personal, "look-ups by NIN, e-mail or phone");
    const answer = await service.publicLookup(term);
    const headers = { "Cache-Control": answer.found ? "private, max-age=86400" : "no-store" };
    return jsonReply(200, answer, headers);
  };
}

function tooMany(decision: AddressDecision, what: string): Reply {
  const { retryAfterSeconds } = decision;
  const headers: Record<string, string> = {
    "Cache-Control": "no-store",
    "Retry-After": String(retryAfterSeconds),
  };
  setRateLimitHeaders(headers, decision);
  const message = `too many ${what} from this address; try again later`;
  return jsonReply(429, { statusCode: 429, message, retryAfterSeconds }, headers);
}

/** The key set, the key history and the health probe: public, and the same for everybody. */
export function serviceDocuments(service: Service): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .get("/.well-known/jwks.json", (c) =>
      sendDocument(c, publicDocument(service.live.current().jwks, "application/json")),
    )
    .get("/.well-known/key-history", (c) =>
      sendDocument(c, publicDocument(service.live.current().keyHistory, "application/jose")),
    )
    .get("/health", async (c) => {
      const { settings, keys } = service.live.current();
      const available = await service.probe().then(
        () => true,
        (error) => {
          log.error("health probe failed", { detail: String(error) });
          return false;
        },
      );
      c.header("Cache-Control", "no-store");
      if (!available) c.header("Retry-After", "1");
      const status = available ? "ok" : "unavailable";
      return c.json(
        { status, service: "tvs", issuer: settings.issuer, activeKid: keys.active.kid },
        available ? 200 : 503,
      );
    });
}
