import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { routePath } from "hono/route";
import { TvsError } from "../domain/errors.ts";
import { createDemoOffer } from "./demo-offer.ts";
import type { DirectRoutes } from "./http/fast-path.ts";
import { type AppEnv, problemResponse, routed } from "./http/hono-call.ts";
import { beginTrace, endTrace, type Handler } from "./http/http-call.ts";
import { createPeerTest, createSourceAddress, type SourceOf } from "./http/source-address.ts";
import { gettingStarted } from "./pages/getting-started.ts";
import { publicPage } from "./pages/public-page.ts";
import { referencePage } from "./pages/reference-page.ts";
import { verifyEnvelopePage } from "./pages/verify-envelope.ts";
import { partnerApi } from "./partner-api.ts";
import { problemReply } from "./problem.ts";
import { publicLookup, serviceDocuments } from "./public-api.ts";
import { createPublicLimit } from "./public-limit.ts";
import type { AppOptions, Service } from "./service.ts";

const partnerPrefix = "/v1/inter-agency";

/** Hono's name for the route of a middleware that runs for every request. */
const everyPath = "/*";

/** Documents that any site's script may read: they are public, and carry no credential. */
const openToScripts = [
  `${partnerPrefix}/.well-known/jwks.json`,
  `${partnerPrefix}/.well-known/key-history`,
  `${partnerPrefix}/health`,
];

/** The whole HTTP surface, as Hono's app, and the endpoints that are also reached directly (direct.ts). */
export type App = { readonly hono: Hono<AppEnv>; readonly direct: DirectRoutes };

/** What every response has, then the routes, then the one place for failures. */
export function createApp(service: Service, options: AppOptions): App {
  const findSource = createSourceAddress({ trustedProxies: options.trustedProxies });
  const sourceOf: SourceOf = (call) =>
    findSource(call.connection.remoteAddress, call.header("x-forwarded-for"));
  const limit = createPublicLimit(service, sourceOf, options.publicPerMinute);
  const lookup = openToAll(publicLookup(service, limit));
  const partner = partnerApi(service, createPeerTest(options.clientCertFrom ?? []));

  const hono = new Hono<AppEnv>();
  hono.onError(problemResponse);
  hono.notFound((c) => problemResponse(new TvsError("PATH_UNKNOWN", "there is nothing at this address"), c));
  hono.use(async (c, next) => {
    const trace = beginTrace(c.req.method, patternOf(c));
    c.set("trace", trace);
    await next();
    c.header("X-Request-Id", trace.requestId);
    c.header("X-Content-Type-Options", "nosniff");
    endTrace(trace, c.res.status, service.onCall);
  });
  for (const path of ["/teacher/verify-license", ...openToScripts])
    hono.use(path, cors({ origin: "*", allowMethods: ["GET", "HEAD"] }));

  hono.get("/teacher/verify-license", routed(lookup));
  hono
    .basePath(partnerPrefix)
    .post("/eligibility-check", routed(partner.eligibilityCheck))
    .get("/lookup/by-reg-no/:regNo{.+}", routed(partner.lookupByRegNo))
    .get("/lookup/by-tid/:tId", routed(partner.lookupByTid))
    .post("/lookup/by-nin", routed(partner.lookupByNin))
    .post("/batch", routed(partner.batch));
  hono.route(partnerPrefix, serviceDocuments(service));
  const offer = createDemoOffer(options.demo);
  hono.route(partnerPrefix, referencePage(service, offer));
  hono.route(partnerPrefix, gettingStarted(service, offer));
  hono.route("/", publicPage(service, limit));
  hono.route("/", verifyEnvelopePage(service));
  refuseOtherMethods(hono);
  const direct = new Map([
    ["GET /teacher/verify-license", lookup],
    [`POST ${partnerPrefix}/eligibility-check`, partner.eligibilityCheck],
    [`POST ${partnerPrefix}/batch`, partner.batch],
  ]);
  return { hono, direct };
}

/**
 * The pattern of the route that a request matched, as the OpenAPI document writes it. An address without a route has
 * none, and its path may hold anything.
 */
function patternOf(c: Context<AppEnv>): string {
  const path = routePath(c, -1);
  return path === everyPath ? "other" : path.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}");
}

/** Any site's script may read the answer: it is public, and asks for no credential. */
function openToAll(endpoint: Handler): Handler {
  return async (call) => {
    const reply = await endpoint(call).catch((error) => problemReply(error, call));
    reply.headers["Access-Control-Allow-Origin"] = "*";
    return reply;
  };
}

/** Answers 405 on every path that has a route, for the methods that it does not have. */
function refuseOtherMethods(app: Hono<AppEnv>): void {
  const allowed = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method === "ALL") continue;
    const methods = allowed.get(path) ?? new Set();
    methods.add(method);
    if (method === "GET") methods.add("HEAD");
    allowed.set(path, methods);
  }
  for (const [path, methods] of allowed) {
    app.all(path, (c) => {
      c.header("Allow", [...methods].join(", "));
      return problemResponse(new TvsError("METHOD_NOT_ALLOWED", `${c.req.method} is not allowed here`), c);
    });
  }
}
