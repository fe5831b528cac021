import { type Context, Hono } from "hono";
import { createAddressLimit } from "../domain/address-limit.ts";
import { log } from "../log.ts";
import { check } from "./body.ts";
import type { AppEnv } from "./context.ts";
import { publicDocument, sendDocument } from "./document.ts";
import { setRateLimitHeaders } from "./middleware/partner-call.ts";
import { searchTermSchema } from "./schemas.ts";
import type { Service } from "./service.ts";
import { rateLimitKey } from "./source-address.ts";

type SourceOf = (c: Context<AppEnv>) => { address: string };

/** The public look-up (contract, A). */
export function publicLookupRoute(service: Service, sourceOf: SourceOf, perMinute: number): Hono<AppEnv> {
  const limit = createAddressLimit(perMinute, service.clock);

  return new Hono<AppEnv>().get("/teacher/verify-license", async (c) => {
    const decision = limit(rateLimitKey(sourceOf(c).address));
    if (!decision.allowed) return tooMany(c, decision);
    const term = check(searchTermSchema, c.req.query("searchTerm"), "searchTerm");
    const answer = await service.publicLookup(term);
    c.header("Cache-Control", answer.found ? "private, max-age=86400" : "no-store");
    return c.json(answer);
  });
}

function tooMany(c: Context, decision: ReturnType<ReturnType<typeof createAddressLimit>>): Response {
  setRateLimitHeaders(c, decision);
  c.header("Retry-After", String(decision.retryAfterSeconds));
  c.header("Cache-Control", "no-store");
  const message = "too many look-ups from this address; try again later";
  return c.json({ statusCode: 429, message, retryAfterSeconds: decision.retryAfterSeconds }, 429);
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
