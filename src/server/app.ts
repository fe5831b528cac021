import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { v7 as uuidv7 } from "uuid";
import { TvsError } from "../domain/errors.ts";
import type { AppEnv } from "./context.ts";
import { partnerApi } from "./partner-api.ts";
import { problem } from "./problem.ts";
import { publicLookupRoute, serviceDocuments } from "./public-api.ts";
import { referencePage } from "./reference-page.ts";
import type { AppOptions, Service } from "./service.ts";
import { createSourceAddress } from "./source-address.ts";

const partnerPrefix = "/v1/inter-agency";

/** Documents that any site's script may read: they are public, and carry no credential. */
const openToScripts = [
  "/teacher/verify-license",
  `${partnerPrefix}/.well-known/jwks.json`,
  `${partnerPrefix}/.well-known/key-history`,
  `${partnerPrefix}/health`,
];

/** The whole HTTP surface: what every response has, then the routes, then the one place for failures. */
export function createApp(service: Service, options: AppOptions): Hono<AppEnv> {
  const findSource = createSourceAddress({ trustedProxies: options.trustedProxies });
  const sourceOf = (c: Context<AppEnv>) => findSource(c.env.remoteAddress, c.req.header("X-Forwarded-For"));

  const app = new Hono<AppEnv>();
  app.onError(problem);
  app.notFound((c) => problem(new TvsError("PATH_UNKNOWN", "there is nothing at this address"), c));
  app.use(async (c, next) => {
    c.set("requestId", uuidv7());
    await next();
    c.header("X-Request-Id", c.get("requestId"));
    c.header("X-Content-Type-Options", "nosniff");
  });
  for (const path of openToScripts) app.use(path, cors({ origin: "*", allowMethods: ["GET", "HEAD"] }));

  app.route("/", publicLookupRoute(service, sourceOf, options.publicPerMinute));
  app.route(partnerPrefix, serviceDocuments(service));
  app.route(partnerPrefix, partnerApi(service, sourceOf));
  app.route(partnerPrefix, referencePage(service.live));
  refuseOtherMethods(app);
  return app;
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
      return problem(new TvsError("METHOD_NOT_ALLOWED", `${c.req.method} is not allowed here`), c);
    });
  }
}
