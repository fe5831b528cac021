/** The routes of the site: the pages that people open, and the files that pages and crawlers load. */

import { Buffer } from "node:buffer";
import { Hono } from "hono";
import { sendOpenApiDocument } from "../api/public-api.ts";
import { makeDocument, publicKeyCacheControl, sendDocument, serveFile } from "../api/public-document.ts";
import type { Settings } from "../domain/settings.ts";
import type { HonoEnv, PageHandler } from "../http/context.ts";
import { causeSandboxEvent, sendExampleFile, sendGettingStarted } from "./getting-started.ts";
import { sendManualContents, sendManualTopic } from "./help.ts";
import { answerLookupForm, sendLookupPage } from "./public-page.ts";
import { sendApiReference } from "./reference.ts";
import { formatTelephoneLink, iconSvg } from "./shell.ts";
import { sendVerifyPage, sendVerifyPageFile, sendVerifyPageWorker } from "./verify-envelope.ts";

const api = "/v1/inter-agency";

/** Makes a handler that redirects to a relative URL, because a proxy may add a path before the paths of the site. */
const redirectTo =
  (target: string, status: 302 | 308 = 302): PageHandler =>
  (c) =>
    c.redirect(target, status);

export const pageRoutes = new Hono<HonoEnv>()
  .get("/", sendLookupPage)
  .post("/", answerLookupForm)
  .get("/verify-envelope", sendVerifyPage)
  .get("/docs", redirectTo("v1/inter-agency/docs"))
  .get(api, redirectTo("inter-agency/docs"))
  .get(`${api}/`, redirectTo("docs"))
  .get(`${api}/docs`, sendApiReference)
  .get(`${api}/openapi.json`, sendOpenApiDocument)
  .get(`${api}/getting-started`, sendGettingStarted)
  .post(`${api}/getting-started/events`, causeSandboxEvent)
  .get(`${api}/help`, redirectTo("help/", 308))
  .get(`${api}/help/`, sendManualContents)
  .get(`${api}/help/:topic`, sendManualTopic);

const script = (load: Parameters<typeof serveFile>[1]) => serveFile("text/javascript", load);

/**
 * The text of robots.txt. A sandbox (`test`) excludes crawlers from every URL. A live service excludes crawlers from the public
 * lookup's JSON and the evidence log, but not from pages: a crawler must load a page to find `noindex` in it.
 */
const robots = {
  live: "User-agent: *\nDisallow: /teacher/\nDisallow: /v1/inter-agency/log/\n",
  test: "User-agent: *\nDisallow: /\n",
};

const plainText = "text/plain; charset=utf-8";

/** How long security.txt is valid, in milliseconds. RFC 9116 recommends less than a year. */
const securityTextLifeMs = 180 * 86_400_000;

/** Makes the text of security.txt (RFC 9116). @returns null if the site has no e-mail address, HTTPS URL or phone number */
function securityText({ issuer, site }: Settings, now: number): string | null {
  const { email, url, phone } = site.contact;
  const contacts = [
    ...(email === undefined ? [] : [`mailto:${email}`]),
    ...(url?.startsWith("https:") ? [url] : []),
    ...(phone === undefined ? [] : [formatTelephoneLink(phone)]),
  ];
  if (contacts.length === 0) return null;
  // The time is midnight, so that the text and its entity tag are the same all day.
  const expires = `${new Date(now + securityTextLifeMs).toISOString().slice(0, 10)}T00:00:00Z`;
  const lines = [...contacts.map((contact) => `Contact: ${contact}`), `Expires: ${expires}`];
  return [...lines, "Preferred-Languages: en", `Canonical: ${issuer}/.well-known/security.txt`, ""].join(
    "\n",
  );
}

const settingsOf = (c: Parameters<PageHandler>[0]) => c.get("parts").service.configuration.current().settings;

const sendRobots: PageHandler = (c) =>
  sendDocument(c, makeDocument(robots[c.get("parts").service.keyKind], plainText));

const sendSecurityText: PageHandler = (c) => {
  const text = securityText(settingsOf(c), c.get("parts").service.clock.now());
  return text === null ? c.notFound() : sendDocument(c, makeDocument(text, plainText));
};

const sendLogo: PageHandler = (c) => {
  const { logo } = settingsOf(c).site;
  if (logo === null) return c.notFound();
  // A browser that opens the URL shows the picture as a document. This policy keeps a script in an SVG from running.
  c.header("Content-Security-Policy", "default-src 'none'; sandbox");
  c.header("Cache-Control", publicKeyCacheControl);
  c.header("Content-Type", logo.type);
  return c.body(new Uint8Array(Buffer.from(logo.data, "base64")));
};

const sendSiteStyle: PageHandler = (c) => {
  const { accent } = settingsOf(c).site;
  const css = accent === null ? "" : `@media screen{:root{--brand:${accent};--on-brand:#fff}}`;
  return sendDocument(c, makeDocument(css, "text/css; charset=utf-8"));
};

const guide = `${api}/getting-started`;

export const fileRoutes = new Hono<HonoEnv>()
  .get(
    `${api}/docs/scalar.js`,
    script(() => import("./scalar.bundle.js", { with: { type: "text" } })),
  )
  .get(
    `${guide}/page.js`,
    script(() => import("./getting-started.client.js", { with: { type: "text" } })),
  )
  .get(
    `${guide}/page.css`,
    serveFile("text/css", () => import("./getting-started.css", { with: { type: "text" } })),
  )
  .get(
    `${guide}/copy-button.js`,
    script(() => import("./copy-button.client.js", { with: { type: "text" } })),
  )
  .get(`${api}/examples/:language/:file`, sendExampleFile)
  .get("/robots.txt", sendRobots)
  .get("/.well-known/security.txt", sendSecurityText)
  .get("/logo", sendLogo)
  .get("/site.css", sendSiteStyle)
  .get("/icon.svg", (c) => sendDocument(c, makeDocument(iconSvg, "image/svg+xml")))
  .get("/verify-envelope-worker.js", sendVerifyPageWorker)
  .get("/verify-envelope/:file", sendVerifyPageFile);
