/**
 * Every address of the service, one row a route. From it follow the routes (app.ts), 405, the names under which calls are counted and logged, and the credential that a call must bring (api/partner-caller.ts). What the
 * calls are is told in data/openapi.yaml; the two are held to each other by tests.
 */
import * as log from "./api/evidence-api.ts";
import * as me from "./api/me.ts";
import * as watch from "./api/me.ts";
import * as partner from "./api/partner-api.ts";
import { type PublicHandler, partnerModule, partnerTypes, publicLookup } from "./api/public-api.ts";
import * as status from "./api/status-api.ts";
import { type PageRoute, pageRoutes, type RouteBase } from "./site/routes.ts";

/** A call for partners. */
export type PartnerRoute = RouteBase & partner.PartnerCall & { readonly traffic: "partner" };

/** A call by which a partner sees or changes what is its own. */
export type SelfRoute = RouteBase & { readonly self: me.SelfHandler; readonly traffic: "partner" };

/** A call for everybody. */
export type PublicRoute = RouteBase & { readonly handler: PublicHandler };

export type Route = PartnerRoute | SelfRoute | PublicRoute | PageRoute;

const api = "/v1/inter-agency";

function forPartners(
  method: Route["method"],
  path: string,
  call: partner.PartnerCall & Pick<Route, "slashes">,
): PartnerRoute {
  return { method, path: `${api}${path}`, traffic: "partner", ...call };
}

function ofItself(
  method: Route["method"],
  path: string,
  self: me.SelfHandler,
  options: Pick<Route, "slashes"> = {},
): SelfRoute {
  return { method, path: `${api}${path}`, traffic: "partner", self, ...options };
}

/** What any site may read, and nobody has to say who asks. */
const open = { method: "GET", traffic: "other", cors: true } as const;

export const routes: readonly Route[] = [
  { method: "GET", path: "/teacher/verify-license", traffic: "public", cors: true, handler: publicLookup },
  forPartners("POST", "/eligibility-check", { scope: "eligibility", handler: partner.checkEligibility }),
  forPartners("GET", "/lookup/by-reg-no/{regNo}", {
    slashes: true,
    scope: "lookup_by_reg_no",
    handler: partner.lookUpByRegNo,
  }),
  forPartners("GET", "/lookup/by-tid/{tId}", { scope: "lookup_by_tid", handler: partner.lookUpByTId }),
  forPartners("POST", "/lookup/by-nin", { scope: "lookup_by_nin", handler: partner.lookUpByNin }),
  forPartners("POST", "/batch", { scope: "batch", handler: partner.checkBatch }),
  forPartners("POST", "/rosters", { scope: "roster", handler: partner.stateRoster }),
  ofItself("GET", "/me", me.showSelf),
  ofItself("GET", "/watch", watch.listWatched),
  ofItself("POST", "/watch", watch.changeWatched),
  ofItself("PUT", "/watch/{regNo}", watch.watchOne, { slashes: true }),
  ofItself("DELETE", "/watch/{regNo}", watch.unwatchOne, { slashes: true }),
  ofItself("GET", "/events", me.fetchEvents),
  ofItself("GET", "/me/deliveries", me.listDeliveries),
  ofItself("GET", "/me/deliveries/{deliveryId}", me.showDelivery),
  ofItself("POST", "/me/deliveries/{deliveryId}/retry", me.retryDelivery),
  { ...open, path: `${api}/.well-known/jwks.json`, page: ({ documents }) => documents.jwks },
  { ...open, path: `${api}/.well-known/key-history`, page: ({ documents }) => documents.keyHistory },
  { ...open, path: `${api}/log/checkpoint`, handler: log.logCheckpoint },
  { ...open, path: `${api}/log/key`, handler: log.logKey },
  { ...open, path: `${api}/log/inclusion/{leafHash}`, handler: log.logInclusion },
  { ...open, path: `${api}/log/consistency`, handler: log.logConsistency },
  { ...open, path: `${api}/status`, handler: status.statusLists },
  { ...open, path: `${api}/status/{list}`, handler: status.statusList },
  { ...open, path: `${api}/offline-pack`, handler: status.offlinePack },
  { ...open, path: `${api}/health`, page: ({ documents }) => documents.health },
  {
    method: "GET",
    path: `${api}/openapi.json`,
    traffic: "other",
    page: ({ documents }) => documents.openApi,
  },
  { ...open, path: `${api}/verify.mjs`, page: () => partnerModule },
  { ...open, path: `${api}/verify.d.mts`, page: () => partnerTypes },
  ...pageRoutes,
];

/** A route's path as Hono's router writes it: `{tId}` is `:tId`, and `:regNo{.+}` where slashes belong to it. */
export function routerPath({ path, slashes }: Pick<Route, "path" | "slashes">): string {
  return path.replace(/\{(\w+)\}/g, slashes ? ":$1{.+}" : ":$1");
}
