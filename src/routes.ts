/**
 * Every address of the service: the resources, each a Hono app, with the address under which `app.ts` mounts it. From
 * them follow 405, the names under which calls are counted and logged, and which answers any site's script may read.
 * data/openapi.yaml describes the calls; tests hold the two to each other.
 */
import type { Hono } from "hono";
import { evidenceLogApi } from "./api/evidence-api.ts";
import { selfServiceApi } from "./api/me.ts";
import { partnerApi } from "./api/partner-api.ts";
import { documentsApi, publicLookupApi } from "./api/public-api.ts";
import { statusListApi } from "./api/status-api.ts";
import type { AppEnv } from "./http/context.ts";
import type { Traffic } from "./metrics/counters.ts";
import { fileRoutes, pageRoutes } from "./site/routes.ts";

type Resource = {
  readonly at: string;
  readonly app: Hono<AppEnv>;
  /** The kind of traffic of its calls; without one they are counted as `other`, as unknown addresses are. */
  readonly traffic?: Traffic;
  /** Any site's script may read the answers: they are public, and ask for no credential. */
  readonly cors?: true;
};

export type Route = Pick<Resource, "traffic" | "cors"> & {
  readonly method: string;
  /** As the OpenAPI document, the metrics and the log write it. */
  readonly path: string;
  /** As Hono writes it: `:tId` for `{tId}`, and `:regNo{.+}` if slashes belong to it. */
  readonly pattern: string;
};

const api = "/v1/inter-agency";

export const resources: readonly Resource[] = [
  { at: "", app: publicLookupApi, traffic: "public", cors: true },
  { at: api, app: partnerApi, traffic: "partner" },
  { at: api, app: selfServiceApi, traffic: "partner" },
  { at: api, app: documentsApi, traffic: "other", cors: true },
  { at: api, app: evidenceLogApi, traffic: "other", cors: true },
  { at: api, app: statusListApi, traffic: "other", cors: true },
  { at: "", app: pageRoutes, traffic: "other" },
  { at: "", app: fileRoutes },
];

export const routes: readonly Route[] = resources.flatMap(({ at, app, ...facts }) =>
  app.routes.map(({ method, path }) => {
    const pattern = `${at}${path}`;
    return { ...facts, method, pattern, path: pattern.replace(/:(\w+)(?:\{\.\+\})?/g, "{$1}") };
  }),
);
