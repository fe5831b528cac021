/** The pages of the service: what people open, and what pages load. */

import { Buffer } from "node:buffer";
import { type Context, Hono } from "hono";
import { type ApiParts, openApiPage } from "../api/public-api.ts";
import { asKeys, programFile, publicDocument, sendDocument } from "../api/public-document.ts";
import { TvsError } from "../domain/errors.ts";
import type { AppEnv, PageHandler } from "../http/context.ts";
import { createDemoOffer } from "../http/local-caller.ts";
import type { AppOptions, Service } from "../service.ts";
import { causeEventHandler, exampleFile, gettingStarted } from "./getting-started.ts";
import { helpPages } from "./help.ts";
import { publicPage } from "./public-page.ts";
import { referencePage } from "./reference.ts";
import { icon, type PageSender } from "./shell.ts";
import { envelopeFile, envelopeWorker, verifyEnvelopePage } from "./verify-envelope.ts";

type Pages = ReturnType<typeof createPages>;

declare module "hono" {
  interface ContextVariableMap {
    pages: Pages;
  }
}

export function createPages(
  { service, limit }: Pick<ApiParts, "service" | "limit">,
  { demo, causeEvent }: AppOptions,
  sender: PageSender,
) {
  const offer = createDemoOffer(demo);
  return {
    openApi: openApiPage(service),
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

/** Has one of the pages answer. */
const shown = (page: (pages: Pages) => PageHandler) => (c: Context<AppEnv>) => page(c.get("pages"))(c);

/** What people open. */
export const pages = new Hono<AppEnv>()
  .get(
    `${api}/openapi.json`,
    shown(({ openApi }) => openApi),
  )
  .get(
    `${api}/docs`,
    shown(({ reference }) => reference),
  )
  .get(
    `${api}/getting-started`,
    shown((all) => all.gettingStarted),
  )
  .post(
    `${api}/getting-started/events`,
    shown(({ causeEvent }) => causeEvent),
  )
  .get(
    `${api}/help`,
    shown(({ help }) => help.toFolder),
  )
  .get(
    `${api}/help/`,
    shown(({ help }) => help.contents),
  )
  .get(
    `${api}/help/:topic`,
    shown(({ help }) => help.topic),
  )
  .get(
    "/docs",
    shown(({ site }) => site.leadTo("v1/inter-agency/docs")),
  )
  .get(
    api,
    shown(({ site }) => site.leadTo("inter-agency/docs")),
  )
  .get(
    "/",
    shown(({ lookup }) => lookup.show),
  )
  .post(
    "/",
    shown(({ lookup }) => lookup.answer),
  )
  .get(
    "/verify-envelope",
    shown(({ envelope }) => envelope),
  );

type LoadText = () => Promise<{ readonly default: string }>;
const script = (load: LoadText) => programFile("text/javascript", load);
const styleSheet = (load: LoadText) => programFile("text/css", load);

/** What pages and programs load besides. */
export const files = new Hono<AppEnv>()
  .get(
    `${api}/docs/scalar.js`,
    script(() => import("./scalar.bundle.js", { with: { type: "text" } })),
  )
  .get(
    `${api}/getting-started/page.js`,
    script(() => import("./getting-started.client.js", { with: { type: "text" } })),
  )
  .get(
    `${api}/getting-started/page.css`,
    styleSheet(() => import("./getting-started.css", { with: { type: "text" } })),
  )
  .get(
    `${api}/getting-started/copy-button.js`,
    script(() => import("./copy-button.client.js", { with: { type: "text" } })),
  )
  .get(`${api}/examples/:language/:file`, exampleFile)
  .get(
    "/robots.txt",
    shown(({ site }) => site.robots),
  )
  .get(
    "/logo",
    shown(({ site }) => site.logo),
  )
  .get(
    "/site.css",
    shown(({ site }) => site.style),
  )
  .get(
    "/icon.svg",
    shown(({ site }) => site.icon),
  )
  .get("/verify-envelope-worker.js", envelopeWorker)
  .get("/verify-envelope/:file", envelopeFile);

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
