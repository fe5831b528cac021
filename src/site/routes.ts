/** The pages and documents of the service, and their rows of the table of routes: what people open, and what pages load. */

import { type PublicParts, serviceDocuments } from "../api/public-api.ts";
import type { PageHandler } from "../http/hono-call.ts";
import { createDemoOffer } from "../http/local-caller.ts";
import type { Traffic } from "../metrics/requests.ts";
import type { AppOptions } from "../service.ts";
import { gettingStarted } from "./getting-started.ts";
import { helpPages } from "./help.ts";
import { publicPage } from "./public-page.ts";
import { referencePage } from "./reference.ts";
import { createSiteRoutes } from "./site-routes.ts";
import { verifyEnvelopePage } from "./verify-envelope.ts";

/** What every row of the table says. */
export type RouteBase = {
  readonly method: "GET" | "POST";
  /** As the OpenAPI document, the metrics and the log write it. */
  readonly path: string;
  /** The last part of the path may hold slashes. */
  readonly slashes?: true;
  /** Any site's script may read the answer: it is public, and asks for no credential. */
  readonly cors?: true;
  /** What counts it; without one it is counted as `other`, as unknown addresses are. */
  readonly traffic?: Traffic;
};

/** A page or a document: Hono answers it, and the fast path never takes it. */
export type PageRoute = RouteBase & { readonly page: (pages: Pages) => PageHandler };

type Pages = ReturnType<typeof createPages>;

export function createPages({ service, limit }: PublicParts, { demo, readGoingLive }: AppOptions) {
  const offer = createDemoOffer(demo);
  return {
    documents: serviceDocuments(service),
    reference: referencePage(service, offer),
    gettingStarted: gettingStarted(service, { offer, readGoingLive }),
    help: helpPages(service),
    lookup: publicPage(service, limit),
    envelope: verifyEnvelopePage(service),
    site: createSiteRoutes(service),
  };
}

const api = "/v1/inter-agency";

export const pageRoutes: readonly PageRoute[] = [
  { method: "GET", path: `${api}/docs`, traffic: "other", page: ({ reference }) => reference.page },
  { method: "GET", path: `${api}/docs/reference.js`, page: ({ reference }) => reference.script },
  { method: "GET", path: `${api}/docs/reference.css`, page: ({ reference }) => reference.style },
  {
    method: "GET",
    path: `${api}/getting-started`,
    traffic: "other",
    page: ({ gettingStarted }) => gettingStarted.page,
  },
  {
    method: "GET",
    path: `${api}/getting-started/page.js`,
    page: ({ gettingStarted }) => gettingStarted.script,
  },
  {
    method: "GET",
    path: `${api}/getting-started/page.css`,
    page: ({ gettingStarted }) => gettingStarted.style,
  },
  {
    method: "GET",
    path: `${api}/getting-started/copy-button.js`,
    page: ({ gettingStarted }) => gettingStarted.copyButton,
  },
  {
    method: "GET",
    path: `${api}/examples/{language}/{file}`,
    page: ({ gettingStarted }) => gettingStarted.example,
  },
  { method: "GET", path: `${api}/help`, traffic: "other", page: ({ help }) => help.toFolder },
  { method: "GET", path: `${api}/help/`, traffic: "other", page: ({ help }) => help.contents },
  { method: "GET", path: `${api}/help/{topic}`, traffic: "other", page: ({ help }) => help.topic },
  { method: "GET", path: "/robots.txt", page: ({ site }) => site.robots },
  { method: "GET", path: "/logo", page: ({ site }) => site.logo },
  { method: "GET", path: "/site.css", page: ({ site }) => site.style },
  { method: "GET", path: "/docs", traffic: "other", page: ({ site }) => site.leadTo("v1/inter-agency/docs") },
  { method: "GET", path: api, traffic: "other", page: ({ site }) => site.leadTo("inter-agency/docs") },
  { method: "GET", path: "/icon.svg", page: ({ site }) => site.icon },
  { method: "GET", path: "/", traffic: "other", page: ({ lookup }) => lookup.show },
  { method: "POST", path: "/", traffic: "other", page: ({ lookup }) => lookup.answer },
  { method: "GET", path: "/verify-envelope", traffic: "other", page: ({ envelope }) => envelope.page },
  { method: "GET", path: "/verify-envelope/pdf.js", page: ({ envelope }) => envelope.pdf },
  { method: "GET", path: "/verify-envelope/{file}", page: ({ envelope }) => envelope.file },
];
