/**
 * Lists the service's Hono apps with the path under which `app.ts` mounts each, and derives all routes from them. The
 * routes decide where 405 is answered, under which names calls are counted and logged, and which answers scripts of any
 * site may read. data/openapi.yaml describes the same routes; tests compare the two.
 */
import type { Hono } from "hono";
import { evidenceLogApi } from "./api/evidence-api.ts";
import { selfServiceApi } from "./api/me.ts";
import { partnerApi } from "./api/partner-api.ts";
import { publicDocumentsApi, publicLookupApi } from "./api/public-api.ts";
import { statusListApi } from "./api/status-api.ts";
import type { HonoEnv } from "./http/context.ts";
import type { TrafficKind } from "./metrics/counters.ts";
import { fileRoutes, pageRoutes } from "./site/routes.ts";

type MountedApp = {
  readonly at: string;
  readonly app: Hono<HonoEnv>;
  /** The kind of traffic in the metrics. If undefined, the app's calls count under the route `other`, like unknown paths. */
  readonly traffic?: TrafficKind;
  /** True if scripts of any site may read the answers (CORS), because the answers are public and need no credential. */
  readonly cors?: true;
};

export type Route = Pick<MountedApp, "traffic" | "cors"> & {
  readonly method: string;
  /** The path as data/openapi.yaml, the metrics and the log write it, such as `/lookup/by-tid/{tId}`. */
  readonly path: string;
  /** The path as Hono writes it: `:tId` for `{tId}`, and `:regNo{.+}` if the part may contain slashes. */
  readonly pattern: string;
};

const api = "/v1/inter-agency";

export const mountedApps: readonly MountedApp[] = [
  { at: "", app: publicLookupApi, traffic: "public", cors: true },
  { at: api, app: partnerApi, traffic: "partner" },
  { at: api, app: selfServiceApi, traffic: "partner" },
  { at: api, app: publicDocumentsApi, traffic: "other", cors: true },
  { at: api, app: evidenceLogApi, traffic: "other", cors: true },
  { at: api, app: statusListApi, traffic: "other", cors: true },
  { at: "", app: pageRoutes, traffic: "other" },
  { at: "", app: fileRoutes },
];

export const routes: readonly Route[] = mountedApps.flatMap(({ at, app, ...facts }) =>
  app.routes.map(({ method, path }) => {
    const pattern = `${at}${path}`;
    return { ...facts, method, pattern, path: pattern.replace(/:(\w+)(?:\{\.\+\})?/g, "{$1}") };
  }),
);
