/** The pages of the service, and their rows of the table of routes: what people open, and what pages load. */

import { Buffer } from "node:buffer";
import { type PublicParts, serviceDocuments } from "../api/public-api.ts";
import { TvsError } from "../domain/errors.ts";
import type { PageHandler } from "../http/hono-call.ts";
import { createDemoOffer } from "../http/local-caller.ts";
import { asKeys, programFile, publicDocument, sendDocument } from "../http/public-document.ts";
import type { Traffic } from "../metrics/counters.ts";
import type { AppOptions, Service } from "../service.ts";
import { causeEventHandler, exampleFile, gettingStarted } from "./getting-started.ts";
import { helpPages } from "./help.ts";
import { publicPage } from "./public-page.ts";
import { referencePage } from "./reference.ts";
import { icon, type PageSender } from "./shell.ts";
import { envelopeFile, envelopeWorker, verifyEnvelopePage } from "./verify-envelope.ts";

/** What every row of the table says. */
export type RouteBase = {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** As the OpenAPI document, the metrics and the log write it. */
  readonly path: string;
  /** The last part of the path may hold slashes. */
  readonly slashes?: true;
  /** Any site's script may read the answer: it is public, and asks for no credential. */
  readonly cors?: true;
  /** What counts it; without one it is counted as `other`, as unknown addresses are. */
  readonly traffic?: Traffic;
};

/** A page or a document, which Hono answers. */
export type PageRoute = RouteBase & { readonly page: (pages: Pages) => PageHandler };

type Pages = ReturnType<typeof createPages>;

export function createPages(
  { service, limit }: PublicParts,
  { demo, causeEvent }: AppOptions,
  sender: PageSender,
) {
  const offer = createDemoOffer(demo);
  return {
    documents: serviceDocuments(service),
    reference: referencePage(service, offer),
    gettingStarted: gettingStarted(sender, offer),
    causeEvent: causeEventHandler(offer, causeEvent),
    help: helpPages(sender),
    lookup: publicPage(service, limit, sender),
    envelope: verifyEnvelopePage(sender),
    site: createSiteRoutes(service),
  };
}

const api = "/v1/inter-agency";

/** A page that people open, by its address in the metrics. */
function opened(path: string, page: PageRoute["page"]): PageRoute {
  return { method: "GET", path, traffic: "other", page };
}

/** What a page or a program loads besides. */
function loaded(path: string, page: PageRoute["page"]): PageRoute {
  return { method: "GET", path, page };
}

type LoadText = () => Promise<{ readonly default: string }>;

function script(path: string, load: LoadText): PageRoute {
  const file = programFile("text/javascript", load);
  return loaded(path, () => file);
}

function styleSheet(path: string, load: LoadText): PageRoute {
  const file = programFile("text/css", load);
  return loaded(path, () => file);
}

export const pageRoutes: readonly PageRoute[] = [
  opened(`${api}/docs`, ({ reference }) => reference),
  script(`${api}/docs/scalar.js`, () => import("./scalar.bundle.js", { with: { type: "text" } })),
  opened(`${api}/getting-started`, ({ gettingStarted: page }) => page),
  {
    method: "POST",
    path: `${api}/getting-started/events`,
    traffic: "other",
    page: (pages) => pages.causeEvent,
  },
  script(
    `${api}/getting-started/page.js`,
    () => import("./getting-started.client.js", { with: { type: "text" } }),
  ),
  styleSheet(
    `${api}/getting-started/page.css`,
    () => import("./getting-started.css", { with: { type: "text" } }),
  ),
  script(
    `${api}/getting-started/copy-button.js`,
    () => import("./copy-button.client.js", { with: { type: "text" } }),
  ),
  loaded(`${api}/examples/{language}/{file}`, () => exampleFile),
  opened(`${api}/help`, ({ help }) => help.toFolder),
  opened(`${api}/help/`, ({ help }) => help.contents),
  opened(`${api}/help/{topic}`, ({ help }) => help.topic),
  loaded("/robots.txt", ({ site }) => site.robots),
  loaded("/logo", ({ site }) => site.logo),
  loaded("/site.css", ({ site }) => site.style),
  opened("/docs", ({ site }) => site.leadTo("v1/inter-agency/docs")),
  opened(api, ({ site }) => site.leadTo("inter-agency/docs")),
  loaded("/icon.svg", ({ site }) => site.icon),
  opened("/", ({ lookup }) => lookup.show),
  { method: "POST", path: "/", traffic: "other", page: ({ lookup }) => lookup.answer },
  opened("/verify-envelope", ({ envelope }) => envelope),
  loaded("/verify-envelope-worker.js", () => envelopeWorker),
  loaded("/verify-envelope/{file}", () => envelopeFile),
];

// The small files that belong to the site as a whole, and the short ways to its pages.

/**
 * Crawlers need not ask the API; a link to an answer they may follow, because only then do they see that it must not
 * be shown (the page says `noindex`). Of a sandbox nothing is for them.
 */
const robots = {
  live: "User-agent: *\nDisallow: /teacher/\nDisallow: /v1/inter-agency/log/\n",
  test: "User-agent: *\nDisallow: /\n",
};

function createSiteRoutes({ configuration, keyKind }: Pick<Service, "configuration" | "keyKind">) {
  const iconFile = publicDocument(icon, "image/svg+xml");
  const robotsFile = publicDocument(robots[keyKind], "text/plain; charset=utf-8");
  const logo: PageHandler = (c) => {
    const { site } = configuration.current().settings;
    if (site.logo === null) throw new TvsError("PATH_UNKNOWN", "this site has no logo");
    // Opened by itself it is a document, and as such may do nothing at all.
    c.header("Content-Security-Policy", "default-src 'none'; sandbox");
    c.header("Cache-Control", asKeys);
    c.header("Content-Type", site.logo.type);
    return c.body(new Uint8Array(Buffer.from(site.logo.data, "base64")));
  };
  const style: PageHandler = (c) => {
    const { accent } = configuration.current().settings.site;
    const css = accent === null ? "" : `@media screen{:root{--brand:${accent};--on-brand:#fff}}`;
    return sendDocument(c, publicDocument(css, "text/css; charset=utf-8"));
  };
  return {
    icon: ((c) => sendDocument(c, iconFile)) satisfies PageHandler,
    robots: ((c) => sendDocument(c, robotsFile)) satisfies PageHandler,
    logo,
    style,
    /** Leads on, relative to the address that was asked for, which may have a proxy's path before it. */
    leadTo:
      (way: string): PageHandler =>
      (c) =>
        c.redirect(way, 302),
  };
}
