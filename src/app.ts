import { Hono } from "hono";
import { cors } from "hono/cors";
import { routePath } from "hono/route";
import { createEvidenceDocuments } from "./api/evidence-api.ts";
import { forSelf } from "./api/me.ts";
import { forPartners } from "./api/partner-api.ts";
import { createPublicLimit, type PublicParts } from "./api/public-api.ts";
import { createStatusDocuments } from "./api/status-api.ts";
import { TvsError } from "./domain/errors.ts";
import { createApi } from "./http/api-router.ts";
import { type AppEnv, setHeaders } from "./http/hono-call.ts";
import { beginTrace, endTrace, type Handler } from "./http/http-call.ts";
import { createPeerTest, createSourceAddress, type PeerTest, type SourceOf } from "./http/peer.ts";
import { failureHeaders, problemReply } from "./http/problem.ts";
import { type PartnerRoute, type PublicRoute, routerPath, routes, type SelfRoute } from "./routes.ts";
import type { AppOptions, Service } from "./service.ts";
import { failureResponses } from "./site/error-page.ts";
import { createPages } from "./site/routes.ts";
import { createPageSender } from "./site/shell.ts";

type Dependencies = PublicParts & { readonly forwardsCertificates: PeerTest };

/**
 * The whole HTTP surface over a service. The table's calls of the API have a way of their own (http/api-router.ts); Hono
 * has the pages, and what is neither: other methods, unknown paths, and a browser's question before it calls (CORS).
 */
export function createApp(service: Service, options: AppOptions) {
  const dependencies = createDependencies(service, options);
  const sender = createPageSender(service);
  const pages = createPages(dependencies, options, sender);
  const hono = new Hono<AppEnv>();
  const issuer = () => service.configuration.current().settings.issuer;
  const failed = failureResponses(sender);
  hono.onError(failed);
  hono.notFound((c) => failed(new TvsError("PATH_UNKNOWN", "there is no such path"), c));
  hono.use(async (c, next) => {
    // An address without a route has no pattern, and its path may hold anything.
    const trace = beginTrace(c.req.method, patterns.get(routePath(c, -1)) ?? "other");
    c.set("trace", trace);
    c.set("issuer", issuer);
    await next();
    c.header("X-Request-Id", trace.requestId);
    c.header("X-Content-Type-Options", "nosniff");
    endTrace(trace, c.res.status, service.onCall);
    // What a page says in its own words has its code since.
    if (trace.error !== null) setHeaders(c, failureHeaders(trace.error, issuer()));
  });
  const calls = [];
  for (const route of routes) {
    const { method, path } = route;
    const at = routerPath(route);
    if (route.cors) hono.use(at, cors({ origin: "*", allowMethods: ["GET", "HEAD"], exposeHeaders }));
    if ("page" in route) {
      hono.on(method, at, route.page(pages));
    } else {
      calls.push({ method, path, routerPath: at, handler: handlerOf(route, dependencies) });
    }
  }
  refuseOtherMethods(hono, failed);
  return { api: createApi(calls, { issuer, observe: service.onCall }), pages: hono };
}

function createDependencies(service: Service, options: AppOptions): Dependencies {
  const evidence = createEvidenceDocuments(service);
  const findSource = createSourceAddress({ trustedProxies: options.trustedProxies });
  const sourceOf: SourceOf = (call) =>
    findSource(call.connection.remoteAddress, call.header("x-forwarded-for"));
  return {
    service,
    limit: createPublicLimit({
      clock: service.clock,
      sourceOf,
      perMinute: () => options.publicPerMinute,
    }),
    evidence,
    statusLists: createStatusDocuments(service, evidence),
    forwardsCertificates: createPeerTest(options.clientCertFrom ?? []),
  };
}

function handlerOf(route: PartnerRoute | SelfRoute | PublicRoute, dependencies: Dependencies): Handler {
  if ("scope" in route) return forPartners(route, dependencies);
  if ("self" in route) return forSelf(route.self, dependencies);
  const handler: Handler = (call) => route.handler(call, dependencies);
  return route.cors ? openToAll(handler) : handler;
}

/** What a site's script may read of a refusal besides its body. */
const exposeHeaders = [
  "X-Error-Code",
  "Link",
  "Retry-After",
  "X-Request-Id",
  "RateLimit",
  "RateLimit-Policy",
];
const exposedHeaders = exposeHeaders.join(", ");

/** A handler whose answers, refusals too, any site's script may read. */
function openToAll(handler: Handler): Handler {
  return async (call) => {
    const reply = await handler(call).catch((error) => problemReply(error, call));
    reply.headers["Access-Control-Allow-Origin"] = "*";
    if (reply.status >= 400) reply.headers["Access-Control-Expose-Headers"] = exposedHeaders;
    return reply;
  };
}

const patterns = new Map(routes.map((route) => [routerPath(route), route.path]));

/** Answers 405 on every path that has a route, for the methods that it does not have. */
function refuseOtherMethods(hono: Hono<AppEnv>, failed: ReturnType<typeof failureResponses>): void {
  for (const [path, known] of Map.groupBy(routes, routerPath)) {
    const methods = known.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    hono.all(path, (c) => {
      c.header("Allow", methods.join(", "));
      return failed(new TvsError("METHOD_NOT_ALLOWED", `${c.req.method} is not allowed here`), c);
    });
  }
}
