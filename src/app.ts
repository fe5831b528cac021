import { Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { routePath } from "hono/route";
import { createEvidenceLogDocuments } from "./api/evidence-api.ts";
import { type ApiDependencies, createPublicRateLimit } from "./api/public-api.ts";
import { createDocumentCache } from "./api/public-document.ts";
import { createStatusListDocuments } from "./api/status-api.ts";
import { TvsError } from "./domain/errors.ts";
import { beginCallTrace, endCallTrace, type HonoEnv } from "./http/context.ts";
import { createNetworkMatcher } from "./http/peer.ts";
import { mountedApps, routes } from "./routes.ts";
import type { AppOptions, Service } from "./service.ts";
import { sendFailureResponse } from "./site/error-page.ts";

export function createApp(service: Service, options: AppOptions): Hono<HonoEnv> {
  const app = new Hono<HonoEnv>();
  app.onError(sendFailureResponse);
  app.notFound((c) => sendFailureResponse(new TvsError("PATH_UNKNOWN", "there is no such path"), c));
  app.use(createCallMiddleware(createApiDependencies(service, options)));
  for (const { cors, pattern } of routes) if (cors) app.options(pattern, answerPreflight);
  for (const { at, app: resource } of mountedApps) app.route(at, resource);
  refuseOtherMethods(app);
  return app;
}

const routesByPattern = new Map(routes.map((route) => [route.pattern, route]));

/** Makes the middleware that gives each call its trace and the service's parts, and each answer the common headers. */
function createCallMiddleware(parts: ApiDependencies): MiddlewareHandler<HonoEnv> {
  const { service } = parts;
  return async (c, next) => {
    // The log has the route's pattern, not the path: a path may contain a person's number.
    const route = routesByPattern.get(routePath(c, -1));
    const trace = beginCallTrace(c.req.method, route?.path ?? "other");
    c.set("trace", trace);
    c.set("issuer", service.configuration.current().settings.issuer);
    c.set("parts", parts);
    await next();
    const { headers, status } = c.res;
    headers.set("X-Request-Id", trace.requestId);
    headers.set("X-Content-Type-Options", "nosniff");
    if (c.env.tls) headers.set("Strict-Transport-Security", strictTransport);
    if (route?.cors) headers.set("Access-Control-Allow-Origin", "*");
    if (route?.cors && status >= 400) headers.set("Access-Control-Expose-Headers", exposedHeaders);
    endCallTrace(trace, status, service.onCall);
  };
}

/** `Strict-Transport-Security`: one year (RFC 6797), as some partners call once a year. A proxy that ends TLS must add it. */
const strictTransport = "max-age=31536000";

function createApiDependencies(service: Service, options: AppOptions): ApiDependencies {
  const evidence = createEvidenceLogDocuments(service);
  return {
    service,
    options,
    limit: createPublicRateLimit(service, options),
    documents: createDocumentCache(service.configuration),
    evidence,
    statusLists: createStatusListDocuments(service, evidence),
    forwardsCertificates: createNetworkMatcher(options.clientCertFrom ?? []),
  };
}

/** The headers of a refusal that a script of another site may read (CORS). */
const exposedHeaders = "X-Error-Code, Link, Retry-After, X-Request-Id, RateLimit, RateLimit-Policy";
const answerPreflight = cors({ origin: "*", allowMethods: ["GET", "HEAD"] });

/** Answers 405 if a path has routes, but no route for the request's method. */
function refuseOtherMethods(app: Hono<HonoEnv>): void {
  for (const [pattern, known] of Map.groupBy(routes, (route) => route.pattern)) {
    const methods = known.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    app.all(pattern, (c) => {
      c.header("Allow", methods.join(", "));
      const error = new TvsError("METHOD_NOT_ALLOWED", `${c.req.method} is not allowed here`);
      return sendFailureResponse(error, c);
    });
  }
}
