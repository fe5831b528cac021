/** The routes of the site: the pages that people open, and the files that pages and crawlers load. */

import { Buffer } from "node:buffer";
import { type Context, Hono } from "hono";
import { type ApiDependencies, createOpenApiHandler } from "../api/public-api.ts";
import { keyCacheControl, publicDocument, sendDocument, serveFile } from "../api/public-document.ts";
import type { Settings } from "../domain/settings.ts";
import type { AppEnv, PageHandler } from "../http/context.ts";
import { createLocalDemo } from "../http/local-caller.ts";
import type { AppOptions, Service } from "../service.ts";
import { createEventHandler, createGettingStartedPage, sendExampleFile } from "./getting-started.ts";
import { createHelpHandlers } from "./help.ts";
import { createLookupHandlers } from "./public-page.ts";
import { createReferencePage } from "./reference.ts";
import { iconSvg, type PageSender, telephoneLink } from "./shell.ts";
import { createEnvelopePage, sendEnvelopeFile, sendEnvelopeWorker } from "./verify-envelope.ts";

type Pages = ReturnType<typeof createPages>;

declare module "hono" {
  interface ContextVariableMap {
    pages: Pages;
  }
}

export function createPages(
  { service, limit }: Pick<ApiDependencies, "service" | "limit">,
  { demo, causeEvent }: AppOptions,
  sender: PageSender,
) {
  const offer = createLocalDemo(demo);
  return {
    openApi: createOpenApiHandler(service),
    reference: createReferencePage(service, offer),
    gettingStarted: createGettingStartedPage(sender, offer),
    causeEvent: createEventHandler(offer, causeEvent),
    help: createHelpHandlers(sender),
    lookup: createLookupHandlers(service, limit, sender),
    envelope: createEnvelopePage(sender),
    site: createSiteFiles(service),
  };
}

type Row = readonly [method: "GET" | "POST", path: string, handler: (pages: Pages) => PageHandler];

/** Makes an app of routes. Handlers come from the request's context, so the list of paths exists without a service. */
function mount(rows: readonly Row[]): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  for (const [method, path, handler] of rows)
    app.on(method, path, (c: Context<AppEnv>) => handler(c.get("pages"))(c));
  return app;
}

const api = "/v1/inter-agency";

/** Redirects to a URL relative to the requested one, because a proxy may serve the site under a path of its own. */
const leadTo = (target: string) => (): PageHandler => (c) => c.redirect(target, 302);

/** The routes that people open in a browser. */
export const pageRoutes = mount([
  ["GET", "/", ({ lookup }) => lookup.show],
  ["POST", "/", ({ lookup }) => lookup.answer],
  ["GET", "/verify-envelope", ({ envelope }) => envelope],
  ["GET", "/docs", leadTo("v1/inter-agency/docs")],
  ["GET", api, leadTo("inter-agency/docs")],
  ["GET", `${api}/`, leadTo("docs")],
  ["GET", `${api}/docs`, ({ reference }) => reference],
  ["GET", `${api}/openapi.json`, ({ openApi }) => openApi],
  ["GET", `${api}/getting-started`, (all) => all.gettingStarted],
  ["POST", `${api}/getting-started/events`, ({ causeEvent }) => causeEvent],
  ["GET", `${api}/help`, ({ help }) => help.toFolder],
  ["GET", `${api}/help/`, ({ help }) => help.contents],
  ["GET", `${api}/help/:topic`, ({ help }) => help.topic],
]);

type LoadText = () => Promise<{ readonly default: string }>;

function script(load: LoadText): () => PageHandler {
  const file = serveFile("text/javascript", load);
  return () => file;
}

const guideStyle = serveFile("text/css", () => import("./getting-started.css", { with: { type: "text" } }));

/** The routes of files that pages, crawlers and programs load. */
export const fileRoutes = mount([
  ["GET", `${api}/docs/scalar.js`, script(() => import("./scalar.bundle.js", { with: { type: "text" } }))],
  [
    "GET",
    `${api}/getting-started/page.js`,
    script(() => import("./getting-started.client.js", { with: { type: "text" } })),
  ],
  ["GET", `${api}/getting-started/page.css`, () => guideStyle],
  [
    "GET",
    `${api}/getting-started/copy-button.js`,
    script(() => import("./copy-button.client.js", { with: { type: "text" } })),
  ],
  ["GET", `${api}/examples/:language/:file`, () => sendExampleFile],
  ["GET", "/robots.txt", ({ site }) => site.robots],
  ["GET", "/.well-known/security.txt", ({ site }) => site.security],
  ["GET", "/logo", ({ site }) => site.logo],
  ["GET", "/site.css", ({ site }) => site.style],
  ["GET", "/icon.svg", ({ site }) => site.icon],
  ["GET", "/verify-envelope-worker.js", () => sendEnvelopeWorker],
  ["GET", "/verify-envelope/:file", () => sendEnvelopeFile],
]);

/**
 * The texts of robots.txt by kind of key. A live service keeps crawlers from the API only: crawlers may load an answer's page,
 * because only there do they read `noindex`. A sandbox refuses crawlers everything.
 */
const robots = {
  live: "User-agent: *\nDisallow: /teacher/\nDisallow: /v1/inter-agency/log/\n",
  test: "User-agent: *\nDisallow: /\n",
};

const plainText = "text/plain; charset=utf-8";

/** The time from now to `Expires` of security.txt. RFC 9116 recommends less than a year. */
const securityTextLifeMs = 180 * 86_400_000;

/** Makes the text of security.txt (RFC 9116). @returns null if the site has no e-mail address, HTTPS URL or phone number */
function securityText({ issuer, site }: Settings, now: number): string | null {
  const { email, url, phone } = site.contact;
  const contacts = [
    ...(email === undefined ? [] : [`mailto:${email}`]),
    ...(url?.startsWith("https:") ? [url] : []),
    ...(phone === undefined ? [] : [telephoneLink(phone)]),
  ];
  if (contacts.length === 0) return null;
  // Midnight, so that the text and its entity tag are the same all day.
  const expires = `${new Date(now + securityTextLifeMs).toISOString().slice(0, 10)}T00:00:00Z`;
  const lines = [...contacts.map((contact) => `Contact: ${contact}`), `Expires: ${expires}`];
  return [...lines, "Preferred-Languages: en", `Canonical: ${issuer}/.well-known/security.txt`, ""].join(
    "\n",
  );
}

/** Makes the handlers of small files: icon, robots.txt, security.txt, and the logo and accent colour of the settings. */
function createSiteFiles({
  configuration,
  keyKind,
  clock,
}: Pick<Service, "configuration" | "keyKind" | "clock">) {
  const iconFile = publicDocument(iconSvg, "image/svg+xml");
  const robotsFile = publicDocument(robots[keyKind], plainText);
  const settings = () => configuration.current().settings;
  return {
    icon: ((c) => sendDocument(c, iconFile)) satisfies PageHandler,
    robots: ((c) => sendDocument(c, robotsFile)) satisfies PageHandler,
    security: ((c) => {
      const text = securityText(settings(), clock.now());
      return text === null ? c.notFound() : sendDocument(c, publicDocument(text, plainText));
    }) satisfies PageHandler,
    logo: ((c) => {
      const { logo } = settings().site;
      if (logo === null) return c.notFound();
      // A browser that opens the URL shows the picture as a document. This policy keeps a script in an SVG from running.
      c.header("Content-Security-Policy", "default-src 'none'; sandbox");
      c.header("Cache-Control", keyCacheControl);
      c.header("Content-Type", logo.type);
      return c.body(new Uint8Array(Buffer.from(logo.data, "base64")));
    }) satisfies PageHandler,
    style: ((c) => {
      const { accent } = settings().site;
      const css = accent === null ? "" : `@media screen{:root{--brand:${accent};--on-brand:#fff}}`;
      return sendDocument(c, publicDocument(css, "text/css; charset=utf-8"));
    }) satisfies PageHandler,
  };
}
